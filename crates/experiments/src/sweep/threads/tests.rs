//! Trials on one thread and on both, on machines whose speed-up is known.

use crate::simulated;
use plimsoll_model::{LoadLevel, NoSpeedup, Phase, Plan, Rate, Speedup, Trial};
use plimsoll_simulate::{Curve, Disturbance, Effect, Machine, Service, TwoThreads};
use plimsoll_study::findings;
use std::time::Duration;

const THREADS: TwoThreads = TwoThreads {
    speedup: 1.3,
    one_thread_clock: 1.2,
    two_threads_clock: 1.1,
};

/// Two cores of two threads, which carry 4,000 a second with all of them busy.
fn machine(seed: u64) -> Machine {
    let service = Service::Exponential {
        mean: Duration::from_millis(1),
        servers: 4,
    };
    Machine {
        cpus: 4,
        curve: Curve::smt(THREADS.ratio()).unwrap(),
        threads: Some(THREADS),
        ..Machine::new(service, seed)
    }
}

const FULL: &str = "";
const QUICK: &str = "--quick";

/// The plan for that machine.
fn plan(effort: &str, seed: u64) -> Plan {
    let cores = ["0,2", "1,3"].map(|core| core.parse().unwrap()).to_vec();
    let line = format!("{effort} --seed {seed}");
    simulated::plan_on(&line, "0-3".parse().unwrap(), cores)
}

/// Continues from `trials` to the end of the plan.
fn sweep(machine: &Machine, plan: &Plan, trials: Vec<Trial>) -> Vec<Trial> {
    simulated::sweep(machine, plan, trials).unwrap()
}

fn is_pinned(trial: &Trial) -> bool {
    matches!(
        trial.spec.phase,
        Phase::OneThreadPerCore | Phase::TwoThreadsPerCore
    )
}

fn pinned(trials: &[Trial]) -> Vec<Phase> {
    let pinned = trials.iter().filter(|t| is_pinned(t));
    pinned.map(|t| t.spec.phase).collect()
}

#[test]
fn one_and_two_threads_alternate_between_the_levels_and_the_search() {
    let trials = sweep(&machine(1), &plan(FULL, 1), vec![]);
    let (one, two) = (Phase::OneThreadPerCore, Phase::TwoThreadsPerCore);
    assert_eq!(pinned(&trials), [one, two, two, one, one, two, two, one]);
    let first = trials.iter().position(is_pinned).unwrap();
    let is_level = |t: &Trial| t.spec.phase.is_level();
    assert!(trials[..first].iter().filter(|t| is_level(t)).count() >= 22);
    assert!(trials[first..].iter().all(|t| !is_level(t)));
    assert_eq!(trials[first + 8].spec.phase, Phase::Search);
    let offered = trials[first].asked().get();
    assert!(
        offered > 4000.0,
        "beyond what both threads carry: {offered}"
    );
}

#[test]
fn a_machine_of_one_thread_per_core_makes_none_of_these_trials() {
    let smt = |cores: &str| {
        let cores = vec![cores.parse().unwrap()];
        simulated::plan_on(QUICK, "0".parse().unwrap(), cores).smt
    };
    assert_eq!(smt("0"), None);
    assert_eq!(smt("0-1"), None, "one thread of a core");
}

#[test]
fn an_unsaturated_service_gets_none_of_these_trials() {
    let mut plan = plan(QUICK, 1);
    plan.calibration.rated = Rate::per_second(400.0);
    let trials = sweep(&machine(1), &plan, vec![]);
    assert_eq!(pinned(&trials), []);
    let found = findings(&plan, &trials).smt.speedup;
    assert_eq!(found, Err(NoSpeedup::NotSaturated));
}

#[test]
fn pinned_trials_fit_the_promised_time_on_a_disturbed_machine() {
    for (effort, promised) in [(QUICK, 88), (FULL, 358)] {
        let plan = plan(effort, 3);
        let mut machine = machine(3);
        machine.disturbance = Some(Disturbance {
            share: plimsoll_model::Share::new(0.3).unwrap(),
            effect: Effect::Slower { factor: 1.3 },
        });
        let trials = sweep(&machine, &plan, vec![]);
        let time = |of: &dyn Fn(&&Trial) -> bool| -> Duration {
            trials.iter().filter(of).map(|t| t.took).sum()
        };
        let took = time(&|_| true);
        assert!(took < Duration::from_secs(promised), "{effort:?}: {took:?}");
        let budget = plan.smt.unwrap().budget;
        assert!(time(&|t| is_pinned(t)) <= budget + Duration::from_secs(1));
    }
}

#[test]
fn a_run_killed_among_pinned_trials_is_resumed_with_the_same_trials() {
    let (machine, plan) = (machine(5), plan(QUICK, 5));
    let whole = sweep(&machine, &plan, vec![]);
    let first = whole.iter().position(is_pinned).unwrap();
    for killed_after in first..first + 6 {
        let begun = whole[..killed_after].to_vec();
        assert_eq!(sweep(&machine, &plan, begun), whole, "{killed_after}");
    }
}

/// The speed-up that a sweep finds; the levels are there for the rated rate.
fn speedup(effort: &str, seed: u64) -> Speedup {
    let mut plan = plan(effort, seed);
    plan.levels = vec![LoadLevel::percent(50.0).unwrap()];
    plan.search = None;
    let trials = sweep(&machine(seed), &plan, vec![]);
    findings(&plan, &trials).smt.speedup.unwrap()
}

#[test]
fn a_known_speedup_is_found_within_its_interval_as_often_as_stated() {
    for effort in [QUICK, FULL] {
        let found: Vec<Speedup> = (0..60).map(|seed| speedup(effort, seed)).collect();
        let count = |holds: fn(&&Speedup) -> bool| found.iter().filter(holds).count();
        let equal = count(|s| s.at_equal_clock_ratio.unwrap().holds(THREADS.speedup));
        let as_it_comes = count(|s| s.ratio.holds(THREADS.ratio()));
        // At 95 % a fair interval holds fewer than 51 of 60 times once in
        // about 500.
        assert!(equal >= 51 && as_it_comes >= 51, "{equal} {as_it_comes}");
        for speedup in found {
            let error = speedup.at_equal_clock_ratio.unwrap().value / THREADS.speedup - 1.0;
            assert!(error.abs() < 0.08, "{speedup:?}");
            let clock = speedup.clock_ratio.unwrap().value;
            assert!((clock - 1.1 / 1.2).abs() < 1e-9);
        }
    }
}
