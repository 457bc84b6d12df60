//! The planner of copies on a simulated machine: time is arithmetic.

use super::*;
use crate::Tolerance;
use plimsoll_engine::{Next, Observer, Outcome, Planner, Quiet, RunError, Runner, conduct};
use plimsoll_model::{
    Copies, CopiesOutcome, CopiesPlan, CopiesSetting, CopiesTrial, CpuPlan, CpuSet, InterruptTime,
    Invalid, Phase, Share, Trial, TrialSpec, Verdict,
};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A run of 1 to 4 copies, each number twice.
fn of_four() -> CopiesPlan {
    plan(CopiesRequest {
        command: Copies {
            command: vec!["true".into()],
            timeout: Duration::from_secs(1),
        },
        numbers: vec![1, 2, 3, 4],
        quick: true,
        trials: Some(2),
        cpus: CpuPlan {
            service: "0-3".parse().unwrap(),
            generator: CpuSet::default(),
            cores: Vec::new(),
        },
        tolerance: Tolerance::default(),
        interrupts: InterruptTime::Unknown,
        seed: 11,
    })
}

/// A machine on which each copy takes a second, disturbed in some trials.
struct Simulated {
    disturbed: Disturbed,
}

type Disturbed = fn(&TrialSpec<CopiesSetting>) -> bool;

const NONE: Disturbed = |_| false;

impl Runner<CopiesSetting, CopiesOutcome> for Simulated {
    fn run(
        &mut self,
        spec: &TrialSpec<CopiesSetting>,
        _: &mut dyn Observer,
        _: &AtomicBool,
    ) -> Result<Option<CopiesTrial>, RunError> {
        let mut trial: CopiesTrial = Trial::begun(spec.clone(), 0);
        trial.took = Duration::from_secs(1);
        if let CopiesSetting::Copies { copies } = spec.setting {
            trial.outcome.copy_times = vec![trial.took; copies as usize];
        }
        if (self.disturbed)(spec) {
            trial.verdict = Verdict::Invalid(vec![Invalid::Steal {
                stolen: Share::ONE,
                bound: Share::ZERO,
            }]);
        }
        Ok(Some(trial))
    }
}

/// Continues from `trials` to the end of the plan.
fn run(plan: &CopiesPlan, disturbed: Disturbed, trials: &mut Vec<CopiesTrial>) {
    let ended = conduct(
        &planner(plan),
        trials,
        &mut Simulated { disturbed },
        |_| Ok::<(), RunError>(()),
        &mut Quiet,
        &AtomicBool::new(false),
    );
    assert_eq!(ended.unwrap(), Outcome::Complete);
}

fn all(plan: &CopiesPlan, disturbed: Disturbed) -> Vec<CopiesTrial> {
    let mut trials = Vec::new();
    run(plan, disturbed, &mut trials);
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
    matches!(trial.spec.phase, Phase::Level { .. })
}

#[test]
fn copies_are_visited_without_calibration() {
    let trials = all(&of_four(), NONE);
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
fn the_second_pass_mirrors_the_first() {
    let trials = all(&of_four(), NONE);
    let (first, mut second): (Vec<_>, Vec<_>) = trials
        .iter()
        .filter(|t| is_visit(t))
        .partition(|t| t.spec.pass == 0);
    second.reverse();
    assert_eq!(numbers(first), numbers(second));
}

#[test]
fn the_idle_machine_is_measured_first_and_once() {
    let plan = of_four();
    let trials = all(&plan, NONE);
    assert_eq!(trials[0].spec.setting, CopiesSetting::Idle);
    assert_eq!(trials[0].spec.window, plan.run.idle);
    let idle = trials.iter().filter(|t| t.spec.phase == Phase::Idle);
    assert_eq!(idle.count(), 1);
}

#[test]
fn a_resumed_run_makes_the_trials_that_are_missing() {
    let plan = of_four();
    let whole = all(&plan, NONE);
    for done in 0..whole.len() {
        let mut trials = whole[..done].to_vec();
        run(&plan, NONE, &mut trials);
        assert_eq!(trials, whole, "resumed after {done} trials");
    }
}

#[test]
fn invalid_trials_are_repeated_up_to_the_bound() {
    let plan = of_four();
    let trials = all(&plan, |spec| {
        spec.setting == CopiesSetting::Copies { copies: 3 } && spec.pass == 0
    });
    let tries = |copies: u32, pass: u32| -> Vec<u32> {
        let of_visit = |t: &&CopiesTrial| {
            t.spec.setting == CopiesSetting::Copies { copies } && t.spec.pass == pass
        };
        trials
            .iter()
            .filter(of_visit)
            .map(|t| t.spec.attempt)
            .collect()
    };
    let most = plan.run.bounds.retries;
    assert_eq!(tries(3, 0), (0..=most).collect::<Vec<_>>());
    assert_eq!(tries(3, 1), [0]);
    assert_eq!(tries(2, 0), [0]);
}

#[test]
fn without_budget_no_trial_is_repeated() {
    let mut plan = of_four();
    plan.run.budget = Duration::ZERO;
    let trials = all(&plan, |_| true);
    assert_eq!(trials.iter().filter(|t| is_visit(t)).count(), 4 * 2);
}

#[test]
fn the_progress_counts_visits_and_ends_with_no_time_left() {
    let plan = of_four();
    let trials = all(&plan, NONE);
    let progress = |done: usize| planner(&plan).progress(&trials[..done]);
    assert_eq!((progress(0).done, progress(0).visits), (0, 8));
    assert!(progress(0).left > progress(1).left + plan.run.idle / 2);
    let end = progress(trials.len());
    assert_eq!((end.done, end.left), (8, Duration::ZERO));
    assert_eq!(planner(&plan).next(&trials), Next::Done);
}
