use super::*;
use crate::seeded::Rng;
use crate::testing::trial_at;
use plimsoll_model::{ServiceUse, Verdict};

/// Trials at 100/s to 1000/s, of which `per_request` gives CPU time, run delay
/// (both in us) and context switches at a load of 0..=1; 3 % noise on each.
fn trials(per_request: impl Fn(f64) -> [f64; 3]) -> Vec<Trial> {
    let mut rng = Rng::seeded(5);
    let mut trial = |step: u64| {
        let rate = 100 * step;
        let mut trial = trial_at(rate as f64 / 10.0, rate, 0.5, 1000.0);
        let requests = trial.work.completed as f64;
        let mut all = |value: f64| value * requests * (0.97 + 0.06 * rng.unit());
        let [cpu, delay, switches] = per_request(rate as f64 / 1000.0).map(&mut all);
        trial.service = Some(ServiceUse {
            cpu: CpuTime(Duration::from_secs_f64(cpu / 1e6)),
            run_delay: Some(Duration::from_secs_f64(delay / 1e6)),
            context_switches: Some(switches as u64),
        });
        trial
    };
    (1..=10).chain(1..=10).map(&mut trial).collect()
}

fn found(trials: &[Trial]) -> Vec<Growth> {
    grown(&trials.iter().collect::<Vec<_>>(), 1, |_| true)
}

fn counter(found: &[Growth], counter: Counter) -> Growth {
    found.iter().find(|g| g.counter == counter).unwrap().clone()
}

#[test]
fn what_grows_faster_than_the_load_is_named_and_the_fastest_comes_first() {
    let trials = trials(|load| [500.0 * load.powf(0.2), 200.0 * load.powf(1.5), 2.0]);
    let found = found(&trials);
    let hints: Vec<Counter> = found
        .iter()
        .filter(|g| g.is_hint())
        .map(|g| g.counter)
        .collect();
    assert_eq!(hints, [Counter::RunDelay, Counter::Cpu]);
    let delay = counter(&found, Counter::RunDelay);
    assert!((delay.found.slope.value - 1.5).abs() < 0.05, "{delay:?}");
    assert!(
        (delay.found.at_highest / 200.0 - 1.0).abs() < 0.05,
        "{delay:?}"
    );
    assert!((delay.share_of_cpu_pct.unwrap() - 40.0).abs() < 3.0);
    assert!(!counter(&found, Counter::ContextSwitches).is_hint());
}

#[test]
fn a_small_cost_that_grows_is_no_hint() {
    let found = found(&trials(|load| [500.0, 3.0 * load * load, 5.0 * load]));
    let delay = counter(&found, Counter::RunDelay);
    assert!(
        delay.found.slope.low.unwrap() > 1.5 && !delay.is_hint(),
        "{delay:?}"
    );
    let switches = counter(&found, Counter::ContextSwitches);
    assert!(
        !switches.is_hint(),
        "5 switches of 2 us in 500 us: {switches:?}"
    );
}

#[test]
fn constant_costs_give_no_hint() {
    let found = found(&trials(|_| [500.0, 100.0, 40.0]));
    assert!(found.iter().all(|g| !g.is_hint()), "{found:?}");
}

#[test]
fn a_counter_that_a_trial_lacks_is_left_out_and_an_invalid_trial_is_not_asked() {
    let mut trials = trials(|load| [500.0, 200.0 * load, 1.0]);
    trials[3].service.as_mut().unwrap().run_delay = None;
    let found_with = |trials: &[Trial]| {
        let found = found(trials);
        found.iter().any(|g| g.counter == Counter::RunDelay)
    };
    assert!(!found_with(&trials));
    trials[3].verdict = Verdict::Invalid(vec![]);
    assert!(found_with(&trials));
}

#[test]
fn zero_steal_gives_no_hint() {
    let found = found(&trials(|_| [500.0, 100.0, 1.0]));
    let steal = counter(&found, Counter::Steal);
    assert!(
        steal.found.slope.value < 0.0 && !steal.is_hint(),
        "{steal:?}"
    );
}

#[test]
fn a_single_load_and_no_trial_give_no_growth() {
    assert!(found(&[]).is_empty());
    let same = [trial_at(10.0, 100, 0.1, 1.0), trial_at(10.0, 100, 0.1, 1.0)];
    assert!(found(&same).is_empty());
}
