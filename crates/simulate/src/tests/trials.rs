//! Simulated trials are consistent, like those of a real machine.

use super::services::{MS, deterministic, exponential, lock, saw_tooth, stalls};
use super::spec::{plan, spec};
use crate::{Curve, Disturbance, Effect, Machine, Service, truth_errors};
use plimsoll_model::{Arrivals, Invalid, Rate, Setting, Share, Trial, TrialSpec};
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(5);

fn share(x: f64) -> Share {
    Share::new(x).unwrap()
}

fn rate(n: f64) -> Rate {
    Rate::per_second(n).unwrap()
}

fn machine() -> Machine {
    Machine {
        cpus: 2,
        ..Machine::new(exponential(2 * MS, 2), 1)
    }
}

fn run(machine: &Machine, rps: f64, seed: u64) -> Trial {
    machine.run(&spec(rate(rps), WINDOW, seed), &plan())
}

#[test]
fn intended_requests_are_conserved() {
    let kinds = [
        machine().service,
        deterministic(MS, 1),
        Service::Cliff {
            below: MS,
            at: rate(1000.0),
        },
        stalls(machine().service, 1000 * MS, 200 * MS),
        saw_tooth(50, MS, 5),
        lock(MS, 2),
    ];
    for service in kinds {
        for rps in [10.0, 900.0, 3000.0] {
            let machine = Machine {
                refuses_above: Some(rate(2500.0)),
                ..Machine::new(service.clone(), 1)
            };
            let trial = run(&machine, rps, 1);
            let work = &trial.work;
            assert_eq!(work.intended, work.sent);
            assert_eq!(work.intended, work.slip.count());
            let answered = work.latency.count() + work.errors.status;
            assert_eq!(work.intended, answered, "{service:?}");
            let overloaded = rps > 2000.0;
            assert_eq!(work.unfinished > 0, overloaded, "{service:?} {rps}");
            assert_eq!(work.errors.status > 0, rps > 2500.0);
            let seconds = trial.seconds.iter().filter(|s| s.measured);
            let completed: u64 = seconds.map(|s| s.completed).sum();
            assert_eq!(completed, work.completed);
            let bound = service.saturation().get() * 1.1 * 5.0 + 10.0;
            assert!((work.completed as f64) < bound, "{service:?} {rps}");
            assert!(trial.took >= trial.warm_up + WINDOW);
            assert!(trial.took <= trial.warm_up + WINDOW + Duration::from_secs(1));
        }
    }
}

#[test]
fn outcome_is_determined_by_the_seed() {
    let machine = machine();
    assert_eq!(run(&machine, 700.0, 1), run(&machine, 700.0, 1));
    assert_ne!(run(&machine, 700.0, 1).work, run(&machine, 700.0, 2).work);
    let other = Machine {
        seed: 2,
        ..machine.clone()
    };
    let (a, b) = (run(&machine, 700.0, 1), run(&other, 700.0, 1));
    assert_eq!(a.work.intended, b.work.intended, "arrivals are the spec's");
    assert_ne!(a.work.latency, b.work.latency);
    let again = TrialSpec {
        attempt: 1,
        ..a.spec.clone()
    };
    assert_ne!(machine.run(&again, &plan()).work.latency, a.work.latency);
}

#[test]
fn cpu_use_follows_the_curve_up_to_ticks() {
    let curve = Curve::bent(0.8, 0.5).unwrap();
    let machine = Machine {
        curve: curve.clone(),
        ..machine()
    };
    for load in [0.1, 0.4, 0.8, 0.9] {
        let spec = spec(rate(1000.0 * load), Duration::from_secs(200), 1);
        let trial = machine.run(&spec, &plan());
        let cpu = trial.machine.service_cpu.unwrap();
        let found = cpu.busy_share().unwrap().get();
        // 20,000 to 180,000 requests.
        let expected = curve.cpu(load).get();
        assert!((found / expected - 1.0).abs() < 0.03, "{load} {found}");
        let exact = trial.service.unwrap().cpu.0.as_secs_f64() / 400.0;
        assert!((found - exact).abs() < 1e-3, "{found} {exact}");
        assert_eq!(cpu.total().0, Duration::from_secs(400));
    }
    let busy = run(&machine, 3000.0, 1).machine.service_cpu.unwrap();
    assert!(busy.busy_share().unwrap().get() > 0.95);
    let capacity = machine.truth_cpu(share(0.5)).unwrap();
    assert!((capacity.get() - 800.0).abs() < 1e-9);
}

#[test]
fn disturbed_trials_are_slower_but_valid() {
    let disturbed = |effect| Machine {
        disturbance: Some(Disturbance {
            share: share(0.1),
            effect,
        }),
        ..machine()
    };
    for effect in [
        Effect::Slower { factor: 3.0 },
        Effect::Later { by: 50 * MS },
    ] {
        let machine = disturbed(effect);
        let trials: Vec<Trial> = (0..400).map(|seed| run(&machine, 100.0, seed)).collect();
        assert!(trials.iter().all(|t| t.verdict.is_valid()));
        let is_slow = |t: &&Trial| t.work.latency.quantile(0.5).unwrap() > 3 * MS;
        let slow = trials.iter().filter(is_slow).count();
        // 40 on average, with a standard deviation of 6.
        assert!((16..=64).contains(&slow), "{effect:?}: {slow}");
    }
}

#[test]
fn disturbance_does_not_change_other_trials() {
    let disturbed = Machine {
        disturbance: Some(Disturbance {
            share: share(0.2),
            effect: Effect::Slower { factor: 2.0 },
        }),
        ..machine()
    };
    let is_same = |seed: &u64| run(&disturbed, 300.0, *seed) == run(&machine(), 300.0, *seed);
    let same = (0..100).filter(is_same).count();
    assert!((60..=98).contains(&same), "{same}");
}

#[test]
fn saturated_generator_makes_the_trial_invalid() {
    let limited = Machine {
        generator_limit: Some(rate(500.0)),
        ..machine()
    };
    assert_eq!(run(&limited, 499.0, 1), run(&machine(), 499.0, 1));
    let trial = run(&limited, 700.0, 1);
    let reasons = trial.verdict.reasons();
    assert!(matches!(reasons, [Invalid::Slip { .. }]), "{reasons:?}");
    assert!((trial.achieved().get() / 500.0 - 1.0).abs() < 0.05);
    assert!(trial.work.sent < trial.work.intended);
}

#[test]
fn only_the_excess_is_refused() {
    let limit = share(0.01);
    let capacity = truth_errors(rate(400.0), limit).unwrap();
    let machine = Machine {
        refuses_above: Some(rate(400.0)),
        ..machine()
    };
    let trial = machine.run(&spec(capacity, Duration::from_secs(2000), 1), &plan());
    let refused = trial.work.errors.total() as f64 / trial.work.intended as f64;
    // 8,000 of 800,000.
    assert!((refused / 0.01 - 1.0).abs() < 0.05, "{refused}");
    assert_eq!(run(&machine, 400.0, 1).work.errors.total(), 0);
}

#[test]
fn no_load_is_an_idle_machine() {
    let mut spec = spec(Rate::ZERO, WINDOW, 1);
    let nothing = machine().run(&spec, &plan());
    spec.setting = Setting::Idle;
    let idle = machine().run(&spec, &plan());
    for trial in [nothing, idle] {
        assert_eq!(trial.work.intended, 0);
        let cpu = trial.machine.service_cpu.unwrap();
        assert_eq!(cpu.busy_share(), Some(Share::ZERO));
    }
}

#[test]
fn constant_arrivals_have_a_fixed_count() {
    let mut plan = plan();
    plan.arrivals = Arrivals::Constant;
    let trial = machine().run(&spec(rate(200.0), WINDOW, 1), &plan);
    assert!(trial.work.intended.abs_diff(1000) <= 1);
}
