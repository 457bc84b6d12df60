//! Cycles that once had a confident wrong figure.

use super::outcome::{BurstTrial, CpuLine};
use super::plan::BurstPlan;
use super::study;
use super::tests::{DESIGN, Server, idle, plan, simulated};
use plimsoll_study::seeded::Rng;
use std::time::Duration;

fn cycles(plan: &BurstPlan, server: Server) -> Vec<BurstTrial> {
    let mut rng = Rng::seeded(7);
    let mut trials = vec![idle(plan, server.idle_pct)];
    trials.extend((0..plan.load.run.passes).map(|pass| simulated(plan, server, pass, &mut rng)));
    trials
}

/// It works at full speed for 2 s after its bursts, on their requests.
#[test]
fn work_done_after_a_burst_is_part_of_its_requests() {
    let plan = plan(6, 4, 6, 100.0, 1);
    let server = Server {
        idle_pct: 0.0,
        hot_pct: 100.0,
        hot_s: 2.0,
        request_us: 0.0,
        ..DESIGN
    };
    let mut trials = cycles(&plan, server);
    for trial in trials.iter_mut().filter(|t| !t.outcome.phases.is_empty()) {
        let last = plan.warm_up_phase.length + Duration::from_secs(6);
        trial.outcome.phases[1].last_answer = Some(last);
    }
    let found = study::findings(&plan, &trials).of;
    let burn = found.burn_us_per_request.unwrap();
    let truth = 6.0 * 1e6 / 400.0;
    assert!((burn.value / truth - 1.0).abs() < 0.05, "{burn:?}");
    assert!(burn.holds(truth), "{burn:?} of {truth}");
    assert_eq!(found.late_bursts, 6);
    let late = found.late_ms.unwrap();
    assert!((late - 2000.0).abs() < 1.0, "{late}");
}

#[test]
fn a_slow_service_that_keeps_up_is_not_behind() {
    let slow = Server {
        usual_us: 400_000.0,
        first_us: 400_000.0,
        ..DESIGN
    };
    let plan = plan(6, 4, 6, 100.0, 1);
    let found = study::findings(&plan, &cycles(&plan, slow)).of;
    assert_eq!((found.late_bursts, found.late_ms), (0, None));
}

fn fail_first(trials: &mut [BurstTrial], cycles: usize) {
    let of_cycle = trials.iter_mut().filter(|t| !t.outcome.phases.is_empty());
    for trial in of_cycle.take(cycles) {
        let head = trial.outcome.phases.last_mut().unwrap();
        head.first[0].latency = None;
        head.answers.failed += 1;
    }
}

#[test]
fn first_requests_that_fail_stay_in_the_median() {
    let plan = plan(6, 4, 4, 100.0, 1);
    let mut trials = cycles(&plan, DESIGN);
    fail_first(&mut trials, 2);
    let found = study::findings(&plan, &trials).of;
    let first = found.first_after_break_us.unwrap();
    assert_eq!((first.interval(), found.failed_first), (None, 2));
    fail_first(&mut trials, 4);
    let found = study::findings(&plan, &trials).of;
    assert_eq!((found.first_after_break_us, found.failed_first), (None, 4));
}

#[test]
fn one_bad_cycle_does_not_decide_the_steady_state() {
    let plan = plan(7, 4, 4, 100.0, 1);
    let mut trials = cycles(&plan, DESIGN);
    let bad = trials.last_mut().unwrap();
    for first in &mut bad.outcome.phases[1].first {
        first.latency = Some(Duration::from_millis(93));
    }
    let steady = study::findings(&plan, &trials).of.steady_us.unwrap();
    assert!((200.0..400.0).contains(&steady.value), "{steady:?}");
    let (low, _) = steady.interval().unwrap();
    assert!(low > 200.0, "{steady:?}");
}

/// Beside the service, Plimsoll uses 10 % of a CPU in bursts, and others 3 % all the time and
/// `helper_pct` in bursts.
fn with_others(plan: &BurstPlan, helper_pct: f64) -> Vec<BurstTrial> {
    let mut trials = cycles(plan, DESIGN);
    let mut rng = Rng::seeded(11);
    for trial in trials.iter_mut().filter(|t| !t.outcome.phases.is_empty()) {
        let (mut tasks, mut own) = (CpuLine::default(), CpuLine::default());
        let (mut other, mut ours, mut before) = (0.0, 0.0, 0.0);
        let service = trial.outcome.lines[0].clone().unwrap();
        for (at, cpu) in service.readings() {
            let step = at - before;
            let is_burst = (0.6..4.6).contains(&at);
            let helper = if is_burst { helper_pct } else { 0.0 };
            other += step * (3.0 + helper) / 100.0 * (0.5 + rng.unit());
            ours += if is_burst { step * 0.1 } else { 0.0 };
            before = at;
            let at = Duration::from_secs_f64(at);
            own.push(at, Duration::from_secs_f64(ours));
            // By ticks of 10 ms.
            let ticks = ((cpu + other + ours) * 100.0).floor() / 100.0;
            tasks.push(at, Duration::from_secs_f64(ticks));
        }
        trial.outcome.tasks = Some(tasks);
        trial.outcome.own = Some(own);
    }
    trials
}

#[test]
fn a_helper_outside_of_the_service_is_said() {
    let plan = plan(6, 4, 4, 100.0, 1);
    let found = study::findings(&plan, &with_others(&plan, 30.0)).of;
    assert!(found.part_outside);
    let more = found.others_more_in_bursts_pct.unwrap();
    assert!((25.0..35.0).contains(&more.value), "{more:?}");
    for nothing in [0.0, 0.3] {
        let found = study::findings(&plan, &with_others(&plan, nothing)).of;
        assert!(!found.part_outside, "{found:?}");
    }
    // Records without these counters.
    let found = study::findings(&plan, &cycles(&plan, DESIGN)).of;
    assert_eq!(
        (found.others_more_in_bursts_pct, found.part_outside),
        (None, false)
    );
}
