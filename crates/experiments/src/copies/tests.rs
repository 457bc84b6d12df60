//! The planner of copies on a simulated machine: time is arithmetic.

use super::plan::planner;
use crate::simulated::conducted;
use plimsoll_engine::{Next, Outcome, Planner};
use plimsoll_model::{
    Bounds, Copies, CopiesPlan, CopiesSetting, CopiesTrial, CopiesWorkload, InterruptTime, Phase,
    RunPlan, Trial, TrialSpec,
};
use std::time::Duration;

/// A run of 1 to 4 copies, each number twice.
fn of_four() -> CopiesPlan {
    CopiesPlan {
        workload: CopiesWorkload::Copies(Copies {
            command: vec!["true".into()],
            timeout: Duration::from_secs(1),
        }),
        numbers: vec![1, 2, 3, 4],
        run: RunPlan {
            passes: 2,
            idle: Duration::from_secs(2),
            bounds: Bounds::usual(InterruptTime::Unknown),
            seed: 11,
            budget: Duration::from_secs(62),
            ..RunPlan::blank()
        },
    }
}

/// Continues from `trials` to the end of the plan, on a machine on which each copy
/// takes a second.
fn run(plan: &CopiesPlan, mut trials: Vec<CopiesTrial>) -> Vec<CopiesTrial> {
    let trial = |spec: &TrialSpec<CopiesSetting>| {
        let mut trial: CopiesTrial = Trial::begun(spec.clone(), 0);
        trial.took = Duration::from_secs(1);
        if let CopiesSetting::Copies { copies } = spec.setting {
            trial.outcome.copy_times = vec![trial.took; copies as usize];
        }
        trial
    };
    let ended = conducted(&planner(plan), &mut trials, trial);
    assert_eq!(ended.unwrap(), Outcome::Complete);
    trials
}

/// The numbers of copies of these trials, in their order.
fn numbers<'a>(trials: impl IntoIterator<Item = &'a CopiesTrial>) -> Vec<u32> {
    let copies = |trial: &CopiesTrial| match trial.spec.setting {
        CopiesSetting::Copies { copies } => Some(copies),
        CopiesSetting::Idle => None,
    };
    trials.into_iter().filter_map(copies).collect()
}

fn is_visit(trial: &CopiesTrial) -> bool {
    trial.spec.phase.is_level()
}

#[test]
fn copies_are_visited_without_calibration() {
    let trials = run(&of_four(), vec![]);
    let mut visited = numbers(trials.iter().filter(|t| is_visit(t)));
    visited.sort_unstable();
    assert_eq!(visited, [1, 1, 2, 2, 3, 3, 4, 4]);
    assert!(
        trials
            .iter()
            .all(|t| is_visit(t) || t.spec.phase == Phase::Idle)
    );
}

#[test]
fn the_idle_machine_is_measured_first_and_once() {
    let plan = of_four();
    let trials = run(&plan, vec![]);
    assert_eq!(trials[0].spec.setting, CopiesSetting::Idle);
    assert_eq!(trials[0].spec.window, plan.run.idle);
    let idle = trials.iter().filter(|t| t.spec.phase == Phase::Idle);
    assert_eq!(idle.count(), 1);
}

#[test]
fn a_resumed_run_makes_the_trials_that_are_missing() {
    let plan = of_four();
    let whole = run(&plan, vec![]);
    for done in 0..whole.len() {
        let trials = run(&plan, whole[..done].to_vec());
        assert_eq!(trials, whole, "resumed after {done} trials");
    }
}

#[test]
fn the_progress_counts_visits_and_ends_with_no_time_left() {
    let plan = of_four();
    let trials = run(&plan, vec![]);
    let progress = |done: usize| planner(&plan).progress(&trials[..done]);
    assert_eq!((progress(0).done, progress(0).visits), (0, 8));
    assert!(progress(0).left > progress(1).left + plan.run.idle / 2);
    let end = progress(trials.len());
    assert_eq!((end.done, end.left), (8, Duration::ZERO));
    assert_eq!(planner(&plan).next(&trials), Next::Done);
}
