use super::*;
use crate::testing::{plan, trial_at, values};
use plimsoll_model::{CpuTime, CpusOf, Invalid, ServiceUse, Share, Verdict};
use std::time::Duration;

/// A trial at each of these CPU times per request, in milliseconds, at 950 to 1,050/s.
fn trials(cpu_ms: &[f64]) -> Vec<Trial> {
    let of = |(at, ms): (usize, &f64)| {
        let mut trial = trial_at(90.0, 950 + 10 * (at as u64 % 11), 0.5, 1000.0);
        let seconds = ms * trial.work.completed as f64 / 1e3;
        trial.service = Some(ServiceUse {
            cpu: CpuTime(Duration::from_secs_f64(seconds)),
            run_delay: None,
            context_switches: None,
        });
        trial
    };
    cpu_ms.iter().enumerate().map(of).collect()
}

fn found(trials: &[Trial]) -> Vec<Doubt> {
    doubts(&plan(), trials, 1000.0, 2.0)
}

/// CPU times with independent noise of 1 % and a drift of this deviation, in percent.
fn drifting(deviation: f64, seed: u64) -> Vec<f64> {
    let slow = values(40, 0.9, seed);
    let noise = values(40, 0.0, 1000 + seed);
    let both = slow.iter().zip(&noise);
    both.map(|(slow, noise)| (deviation / 100.0 * slow + 0.01 * noise).exp())
        .collect()
}

#[test]
fn a_service_that_is_slower_for_minutes_is_found_and_noise_seldom() {
    let called = |deviation: f64| {
        let is_called = |seed: &u64| !found(&trials(&drifting(deviation, *seed))).is_empty();
        (0..100u64).filter(is_called).count()
    };
    assert!(called(0.0) <= 3, "{}", called(0.0));
    assert!(called(3.0) >= 80, "{}", called(3.0));
    // Less than the precision that was asked for.
    let little = drifting(3.0, 1)
        .iter()
        .map(|ms| ms.powf(0.1))
        .collect::<Vec<f64>>();
    assert_eq!(found(&trials(&little)), []);
}

#[test]
fn trials_that_cost_much_more_are_counted() {
    let mut cpu_ms = drifting(0.0, 7);
    cpu_ms[9] *= 1.3;
    cpu_ms[30] *= 1.3;
    let mut trials = trials(&cpu_ms);
    match found(&trials)[..] {
        [
            Doubt::CostlyTrials {
                trials: 2,
                of: 40,
                ratio,
                ..
            },
        ] => {
            assert!((ratio - 1.3).abs() < 0.05, "{ratio}");
        }
        ref other => panic!("{other:?}"),
    }
    // Steal explains it, so these trials are invalid.
    for at in [9, 30] {
        trials[at].verdict = Verdict::Invalid(vec![Invalid::Steal {
            on: CpusOf::Machine,
            stolen: Share::ONE,
            bound: Share::ZERO,
        }]);
    }
    assert_eq!(found(&trials), []);
}

#[test]
fn other_loads_overload_and_a_few_trials_say_nothing() {
    let costly = |change: &dyn Fn(&mut Trial)| {
        let mut cpu_ms = vec![1.0; 20];
        cpu_ms[5] = 2.0;
        let mut trials = trials(&cpu_ms);
        change(&mut trials[5]);
        found(&trials).len()
    };
    assert_eq!(costly(&|_| ()), 1);
    let offered = |trial: &mut Trial, rps: u64| {
        let rate = plimsoll_model::Rate::per_second(rps as f64).unwrap();
        trial.spec.setting = plimsoll_model::Setting::offer(rate);
        trial.work.intended = 10 * rps;
    };
    assert_eq!(costly(&|trial| offered(trial, 500)), 0, "far below");
    assert_eq!(costly(&|trial| offered(trial, 1200)), 0, "overload");
    assert_eq!(costly(&|trial| offered(trial, 1090)), 1, "a little beyond");
    assert_eq!(found(&trials(&[1.0, 1.0, 1.0, 2.0])), [], "too few");
    let mut unknown = trials(&[vec![1.0; 19], vec![2.0]].concat());
    for trial in &mut unknown {
        trial.service = None;
    }
    // From the CPUs, which say that all trials cost the same.
    assert_eq!(found(&unknown), []);
}

#[test]
fn an_interval_allows_for_a_variation_that_was_seen() {
    let rate = Estimate::within(1000.0, 990.0, 1010.0);
    let of = |deviation: f64| widened(&plan(), &trials(&drifting(deviation, 3)), rate);
    assert_eq!(of(0.0), rate);
    let wider = of(3.0).relative_half_width().unwrap();
    // Four standard deviations of 3 %, of which a run shows a part.
    assert!((0.04..0.14).contains(&wider), "{wider}");
    let alone = Estimate::alone(1000.0);
    assert_eq!(widened(&plan(), &trials(&drifting(3.0, 3)), alone), alone);
}
