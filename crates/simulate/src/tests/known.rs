//! Simulation results compared with theory.

use super::services::{self, MS, lock, saw_tooth, stalls};
use super::spec::{plan, spec};
use crate::{Machine, Service, truth, truth_by_simulation, truth_quantile};
use plimsoll_model::{Arrivals, Quantile, Rate};
use std::time::Duration;

fn exponential(servers: u32) -> Service {
    services::exponential(MS * servers, servers)
}

fn deterministic(servers: u32) -> Service {
    services::deterministic(MS * servers, servers)
}

fn quantile(text: &str) -> Quantile {
    text.parse().unwrap()
}

#[test]
fn quantiles_of_long_trials_are_those_of_theory() {
    let kinds = [
        exponential(1),
        exponential(4),
        deterministic(1),
        deterministic(4),
    ];
    for (service, load) in kinds.iter().flat_map(|s| [(s, 0.5), (s, 0.8)]) {
        let rate = service.saturation().times(load);
        let trial = Machine::new(service.clone(), 5)
            .run(&spec(rate, Duration::from_secs(2000), 1), &plan());
        for q in ["p50", "p90", "p99"].map(quantile) {
            let expected = truth_quantile(service, Arrivals::Poisson, q, rate).unwrap();
            let found = trial.work.latency.quantile(q.fraction()).unwrap();
            let error = found.as_secs_f64() / expected.as_secs_f64() - 1.0;
            // A million requests, correlated because neighbours share their
            // queue.
            assert!(error.abs() < 0.02, "{service:?} {load} {q}: {error}");
        }
    }
}

#[test]
fn closed_forms_and_long_simulations_agree_on_the_capacity() {
    let within = [
        (exponential(1), 20 * MS),
        (exponential(4), 40 * MS),
        (deterministic(1), 20 * MS),
    ];
    for (service, limit) in within {
        let exact = truth(&service, Arrivals::Poisson, Quantile::P99, limit).unwrap();
        let simulated =
            truth_by_simulation(&service, Arrivals::Poisson, Quantile::P99, limit).unwrap();
        let error = simulated.get() / exact.get() - 1.0;
        assert!(error.abs() < 0.002, "{service:?}: {exact} {error}");
    }
}

#[test]
fn capacity_at_a_quantile_limit_is_its_rate() {
    let services = [
        exponential(1),
        deterministic(3),
        lock(3 * MS, 4),
        stalls(exponential(1), 1000 * MS, 50 * MS),
        saw_tooth(200, 2 * MS, 10),
    ];
    for service in services {
        let rate = service.saturation().times(0.85);
        let limit = truth_quantile(&service, Arrivals::Poisson, Quantile::P99, rate).unwrap();
        let back = truth(&service, Arrivals::Poisson, Quantile::P99, limit).unwrap();
        let error = back.get() / rate.get() - 1.0;
        assert!(error.abs() < 0.002, "{service:?}: {error}");
    }
}

#[test]
fn constant_arrivals_have_higher_capacity_than_poisson() {
    let capacity = |arrivals| truth(&exponential(1), arrivals, Quantile::P99, 10 * MS).unwrap();
    let (random, equal) = (capacity(Arrivals::Poisson), capacity(Arrivals::Constant));
    // D/M/1: the time in the system is exponential with rate mu (1 - s), where
    // s = e^(-(1 - s) mu / lambda) (Kleinrock, Queueing Systems I, section
    // 6.4).
    let s = 1.0 - 100f64.ln() / 10.0;
    let expected = 1000.0 * (1.0 - s) / -f64::ln(s);
    assert!(random < equal, "{random} {equal}");
    let error = equal.get() / expected - 1.0;
    assert!(error.abs() < 0.002, "{equal} {expected}");
}

#[test]
fn unreachable_limit_has_no_capacity() {
    let stalled = stalls(exponential(1), 5000 * MS, 200 * MS);
    for (service, limit) in [
        (exponential(1), 4 * MS),
        (deterministic(1), MS / 2),
        (stalled, 10 * MS),
    ] {
        let capacity = truth(&service, Arrivals::Poisson, Quantile::P99, limit);
        assert_eq!(capacity, None, "{service:?}");
    }
}

#[test]
fn in_flight_matches_littles_law() {
    let service = exponential(4);
    let rate = service.saturation().times(0.7);
    let window = Duration::from_secs(4000);
    let trial = Machine::new(service, 3).run(&spec(rate, window, 1), &plan());
    let seen = trial.seconds.iter().filter(|s| s.measured);
    let in_flight = seen.map(|s| s.in_flight as f64).sum::<f64>() / 4000.0;
    let mean = trial.work.latency.as_hdr().mean() / 1e9;
    let expected = trial.offered().get() * mean;
    // 4000 samples of a number whose spread is about its mean.
    let error = in_flight / expected - 1.0;
    assert!(error.abs() < 0.06, "{in_flight} {expected}");
}

#[test]
fn cliff_latency_is_flat_below_and_grows_above() {
    let at = Rate::per_second(1000.0).unwrap();
    let service = Service::Cliff { below: MS, at };
    let found = truth(&service, Arrivals::Poisson, Quantile::P99, 10 * MS);
    assert_eq!(found, Some(at));
    let machine = Machine::new(service, 1);
    let p99 = |load| {
        let trial = machine.run(&spec(at.times(load), 5000 * MS, 1), &plan());
        trial.work.latency.quantile(0.99).unwrap()
    };
    assert!(p99(0.999) < 2 * MS);
    assert!(p99(1.01) > 50 * MS);
}
