//! The planner on a simulated machine: time is arithmetic.

use super::SweepPlanner;
use crate::simulated::{self, By, conducted, disturbed};
use plimsoll_engine::{
    Observer, ObserverCost, Outcome, Planner, Progress, Quiet, RunError, conduct,
};
use plimsoll_model::{CpuTime, Invalid, Phase, Plan, Trial, TrialSpec, Verdict};
use plimsoll_study::rated::rated;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A service that carries up to a rate, behind a generator that offers up to
/// a rate, on a machine that is disturbed in some trials.
struct Simulated {
    service_rps: f64,
    generator_rps: f64,
    disturbed: fn(usize) -> bool,
    trials: usize,
}

impl Simulated {
    fn of(service_rps: f64) -> Simulated {
        Simulated {
            service_rps,
            generator_rps: f64::INFINITY,
            disturbed: |_| false,
            trials: 0,
        }
    }

    /// 1,900/s, disturbed in these trials.
    fn disturbed(disturbed: fn(usize) -> bool) -> Simulated {
        Simulated {
            disturbed,
            ..Simulated::of(1900.0)
        }
    }

    fn trial(&mut self, spec: &TrialSpec) -> Trial {
        let mut trial = Trial::begun(spec.clone(), 0);
        trial.took = spec.warm_up.min + spec.window + Duration::from_millis(100);
        let asked = trial.asked().get();
        let seconds = spec.window.as_secs_f64();
        let carried = asked.min(self.service_rps).min(self.generator_rps);
        trial.work.intended = (asked * seconds).round() as u64;
        trial.work.completed = (carried * seconds).round() as u64;
        if asked > self.generator_rps {
            trial.verdict = Verdict::Invalid(vec![Invalid::Slip {
                p99: Duration::from_millis(100),
                bound: Duration::from_micros(100),
            }]);
        }
        if (self.disturbed)(self.trials) {
            trial.work.completed /= 2;
            trial.verdict = disturbed();
        }
        self.trials += 1;
        trial
    }
}

fn plan() -> Plan {
    simulated::plan("--quick --seed 11")
}

fn run(plan: &Plan, machine: &mut Simulated, trials: &mut Vec<Trial>) -> Result<Outcome, RunError> {
    conducted(&SweepPlanner(plan), trials, |spec| machine.trial(spec))
}

fn progress(plan: &Plan, trials: &[Trial]) -> Progress {
    SweepPlanner(plan).progress(trials)
}

fn sweep(plan: &Plan, machine: &mut Simulated) -> Vec<Trial> {
    let mut trials = vec![];
    run(plan, machine, &mut trials).unwrap();
    trials
}

fn at_levels(trials: &[Trial]) -> impl Iterator<Item = &Trial> {
    trials.iter().filter(|t| t.spec.phase.is_level())
}

#[test]
fn the_rated_rate_is_found_from_any_start() {
    for service_rps in [7.0, 150.0, 1000.0, 1999.0, 2001.0, 300_000.0] {
        let trials = sweep(&plan(), &mut Simulated::of(service_rps));
        let found = rated(&plan(), &trials).unwrap();
        let error = found.rate_rps / service_rps - 1.0;
        // Windows of a second see whole requests only.
        let grain = 1.0 / service_rps;
        assert!(error.abs() < 0.02 + grain, "{service_rps}: {found:?}");
        assert!(found.limited_by_service, "{service_rps}");
    }
}

#[test]
fn a_sweep_visits_each_level_once_a_pass_and_fits_its_time() {
    let plan = plan();
    let trials = sweep(&plan, &mut Simulated::of(1900.0));
    assert_eq!(at_levels(&trials).count(), 11 * 2);
    let took: Duration = trials.iter().map(|t| t.took).sum();
    assert!(took < Duration::from_secs(85), "{took:?}");
    let (there, back): (Vec<_>, Vec<_>) = at_levels(&trials).partition(|t| t.spec.pass == 0);
    let settings = |ts: &[&Trial]| ts.iter().map(|t| t.spec.setting).collect::<Vec<_>>();
    assert!(settings(&there).iter().rev().eq(settings(&back).iter()));
}

#[test]
fn a_disturbed_sweep_fits_its_time() {
    let third: fn(usize) -> bool = |n| n % 3 == 0;
    for (flags, disturbed, seconds) in [("", third, 358), ("--quick", |_| true, 90)] {
        let mut machine = Simulated::disturbed(disturbed);
        let plan = simulated::plan(&format!("{flags} --seed 11"));
        let took: Duration = sweep(&plan, &mut machine).iter().map(|t| t.took).sum();
        assert!(took < Duration::from_secs(seconds), "{flags}: {took:?}");
    }
}

#[test]
fn a_killed_run_is_resumed_with_the_same_trials() {
    let plan = plan();
    let whole = sweep(&plan, &mut Simulated::of(1900.0));
    for killed_after in 0..whole.len() {
        let mut trials = whole[..killed_after].to_vec();
        run(&plan, &mut Simulated::of(1900.0), &mut trials).unwrap();
        assert_eq!(trials, whole, "killed after {killed_after} trials");
    }
}

#[test]
fn an_invalid_trial_is_repeated_up_to_three_times() {
    let mut plan = plan();
    plan.run.budget = Duration::from_secs(10_000);
    let trials = sweep(&plan, &mut Simulated::disturbed(|n| n >= 8));
    let attempts: Vec<u32> = at_levels(&trials).map(|t| t.spec.attempt).collect();
    assert_eq!(attempts.iter().max(), Some(&3));
    let calibrated = trials.iter().take_while(|t| !t.spec.phase.is_level());
    let undisturbed = 8usize.saturating_sub(calibrated.count());
    assert_eq!(attempts.len(), 22 * 4 - 3 * undisturbed);
}

#[test]
fn repeats_beyond_the_budget_are_neither_made_nor_due() {
    let mut plan = plan();
    plan.run.budget = Duration::ZERO;
    let trials = sweep(&plan, &mut Simulated::disturbed(|n| n % 2 == 0));
    assert_eq!(at_levels(&trials).count(), 22);
    plan.search = None;
    let trials = sweep(&plan, &mut Simulated::disturbed(|_| true));
    assert_eq!(progress(&plan, &trials).left, Duration::ZERO);
}

#[test]
fn the_time_left_includes_due_repeats() {
    let mut plan = plan();
    plan.search = None;
    plan.run.budget = Duration::from_secs(10_000);
    let trials = sweep(&plan, &mut Simulated::disturbed(|n| n % 4 == 3));
    let last = |again: bool| {
        let is_one = |t: &Trial| t.spec.phase.is_level() && (t.spec.attempt > 0) == again;
        trials.iter().rposition(is_one).unwrap()
    };
    assert!(last(false) < last(true), "a repeat is due");
    for begun in last(false) + 1..=last(true) {
        let now = progress(&plan, &trials[..begun]);
        assert_eq!(now.done, now.visits);
        assert!(now.left >= plan.run.window, "before trial {begun}: {now:?}");
    }
    assert_eq!(progress(&plan, &trials).left, Duration::ZERO);
}

#[test]
fn a_disturbed_calibration_does_not_look_saturated() {
    let trials = sweep(&plan(), &mut Simulated::disturbed(|n| n == 1 || n == 3));
    let found = rated(&plan(), &trials).unwrap();
    assert!((found.rate_rps / 1900.0 - 1.0).abs() < 0.02, "{found:?}");
}

#[test]
fn a_saturated_generator_does_not_look_like_a_saturated_service() {
    let mut machine = Simulated::of(100_000.0);
    machine.generator_rps = 5000.0;
    let trials = sweep(&plan(), &mut machine);
    let found = rated(&plan(), &trials).unwrap();
    assert!(!found.limited_by_service);
    assert!(found.rate_rps <= 5000.0);
}

#[test]
fn a_service_that_answers_nothing_ends_the_run_with_a_sentence() {
    let mut trials = vec![];
    let error = run(&plan(), &mut Simulated::of(0.0), &mut trials).unwrap_err();
    assert!(error.to_string().contains("no request was answered"));
    assert!(trials.len() < 12, "{}", trials.len());
}

#[test]
fn a_given_rate_is_not_calibrated() {
    let plan = simulated::plan("--quick --rated 500");
    let trials = sweep(&plan, &mut Simulated::of(1900.0));
    assert!(trials.iter().all(|t| t.spec.phase != Phase::Calibration));
    let top = at_levels(&trials)
        .map(|t| t.asked().get())
        .fold(0.0, f64::max);
    assert!((top - 500.0).abs() < 1e-9);
}

/// Pauses the run before each trial, stops it in one of the pauses, and uses
/// 2 ms of CPU time between two calls of `cpu_used`.
#[derive(Default)]
struct Pausing {
    pauses: usize,
    reads: std::cell::Cell<u64>,
    stops_in: Option<usize>,
}

impl Observer for Pausing {
    fn wait_while_paused(&mut self, stop: &AtomicBool) {
        self.pauses += 1;
        if self.stops_in == Some(self.pauses) {
            stop.store(true, Ordering::Relaxed);
        }
    }

    fn cpu_used(&self) -> Option<CpuTime> {
        self.reads.set(self.reads.get() + 1);
        Some(CpuTime(Duration::from_millis(2 * self.reads.get())))
    }
}

fn observed(observer: &mut dyn Observer, stopped: bool) -> (Outcome, Vec<Trial>) {
    let mut trials = vec![];
    let mut machine = Simulated::of(1900.0);
    let ended = conduct(
        &SweepPlanner(&plan()),
        &mut trials,
        &mut By(|spec: &TrialSpec| machine.trial(spec)),
        |_| Ok::<(), RunError>(()),
        observer,
        &AtomicBool::new(stopped),
    );
    (ended.unwrap(), trials)
}

#[test]
fn a_raised_stop_ends_the_run_before_the_next_trial() {
    assert_eq!(observed(&mut Quiet, true), (Outcome::Interrupted, vec![]));
}

#[test]
fn a_run_that_is_paused_between_trials_makes_the_same_trials() {
    let mut observer = Pausing::default();
    let (ended, trials) = observed(&mut observer, false);
    assert_eq!(ended, Outcome::Complete);
    assert_eq!(observer.pauses, trials.len(), "once before each");
    let unpaused = sweep(&plan(), &mut Simulated::of(1900.0));
    let specs = |trials: &[Trial]| trials.iter().map(|t| t.spec.clone()).collect::<Vec<_>>();
    assert_eq!(specs(&trials), specs(&unpaused));
}

#[test]
fn a_run_that_is_stopped_while_paused_makes_no_more_trials() {
    let mut observer = Pausing {
        stops_in: Some(4),
        ..Pausing::default()
    };
    let (ended, trials) = observed(&mut observer, false);
    assert_eq!((ended, trials.len()), (Outcome::Interrupted, 3));
}

#[test]
fn the_cost_of_an_observer_is_its_cpu_time_within_the_window() {
    let observer = Pausing::default();
    let cost = ObserverCost::start(&observer);
    let used = cost.end(&observer).map(|cpu| cpu.0);
    assert_eq!(used, Some(Duration::from_millis(2)));
    assert_eq!(ObserverCost::start(&Quiet).end(&Quiet), None);
}
