//! Truths against closed forms, and against simulations that share no code with
//! them.

use super::us;
use crate::selftest::services::SERVICES;
use crate::selftest::truth::capacity;
use plimsoll_load::known::Discipline;
use plimsoll_model::{Arrivals, Goal, LatencyLimit};
use plimsoll_simulate as simulate;
use std::time::Duration;

fn fixed(each: Duration, servers: u32) -> Discipline {
    Discipline::Servers { each, servers }
}

#[test]
fn truths_are_those_of_the_closed_forms() {
    let goal = "p99<15ms".parse().unwrap();
    let quantile = plimsoll_model::Quantile::P99;
    let limit = us(15_000);
    for servers in [1, 4] {
        let time = us(400) * servers;
        for (ours, theirs) in [
            (
                fixed(time, servers),
                simulate::Service::Deterministic {
                    service: time,
                    servers,
                },
            ),
            (
                Discipline::Exponential {
                    mean: time,
                    servers,
                    seed: 3,
                },
                simulate::Service::Exponential {
                    mean: time,
                    servers,
                },
            ),
        ] {
            let found = capacity(&ours, Arrivals::Poisson, &goal, 4_000_000).unwrap();
            let exact = simulate::truth(&theirs, Arrivals::Poisson, quantile, limit).unwrap();
            let error = found.get() / exact.get() - 1.0;
            assert!(error.abs() < 0.005, "{ours:?}: {error}");
        }
    }
}

#[test]
fn a_lock_of_fixed_length_is_one_server_with_a_delay() {
    // While the rest of the work never waits for a server.
    let lock = Discipline::Lock {
        serial: us(400),
        parallel: us(800),
        servers: 4,
    };
    let one = fixed(us(400), 1);
    let found = |discipline, goal: &str| {
        let goal = goal.parse().unwrap();
        capacity(discipline, Arrivals::Poisson, &goal, 200_000).unwrap()
    };
    let (lock, one) = (found(&lock, "p95<10ms"), found(&one, "p95<9.2ms"));
    assert!((lock.get() / one.get() - 1.0).abs() < 0.005, "{lock} {one}");
}

#[test]
fn a_limiter_refuses_what_is_above_its_rate() {
    let limiter = Discipline::TokenBucket {
        per_second: 1000,
        burst: 20,
    };
    let goal = "errors<1%".parse().unwrap();
    let found = capacity(&limiter, Arrivals::Constant, &goal, 500_000).unwrap();
    assert!((found.get() * 0.99 / 1000.0 - 1.0).abs() < 2e-3, "{found}");
}

#[test]
fn a_service_without_a_capacity_has_no_truth() {
    let (goal, poisson) = ("p99<15ms".parse().unwrap(), Arrivals::Poisson);
    let never = fixed(us(20_000), 1);
    assert_eq!(capacity(&never, poisson, &goal, 10_000), None);
    let stall = Discipline::Stall {
        every: us(5_000_000),
        lasting: us(200_000),
    };
    assert_eq!(capacity(&stall, poisson, &goal, 10_000), None);
    let cpu = "cpu<70%".parse().unwrap();
    let served = fixed(us(400), 1);
    assert_eq!(capacity(&served, poisson, &cpu, 10_000), None);
}

#[test]
fn growing_pauses_have_the_truth_of_another_simulation() {
    for service in &SERVICES {
        let Discipline::SawTooth {
            each,
            every,
            first,
            growth,
            steps,
            ..
        } = (service.discipline)(3)
        else {
            continue;
        };
        let theirs = simulate::Service::SawTooth {
            service: each,
            every,
            first,
            growth,
            steps,
        };
        let goal: Goal = "p90<5ms".parse().unwrap();
        let Goal::Latency {
            quantile,
            limit: LatencyLimit::Absolute(limit),
        } = goal
        else {
            panic!("{goal}")
        };
        let poisson = Arrivals::Poisson;
        let ours = capacity(&(service.discipline)(3), poisson, &goal, 4_000_000);
        let theirs = simulate::truth_by_simulation(&theirs, poisson, quantile, limit);
        let error = ours.unwrap().get() / theirs.unwrap().get() - 1.0;
        assert!(error.abs() < 0.003, "{error}");
        return;
    }
    panic!("no service pauses");
}

#[test]
fn a_knee_is_the_capacity_under_its_multiple_of_light_load() {
    // With fixed times a p90 at light load is the service time.
    let servers = fixed(us(1600), 4);
    let of = |goal: &str| {
        let goal = goal.parse().unwrap();
        capacity(&servers, Arrivals::Poisson, &goal, 1_000_000).unwrap()
    };
    let (knee, limited) = (of("p90<3x"), of("p90<4800us"));
    let error = knee.get() / limited.get() - 1.0;
    assert!(error.abs() < 2e-3, "{knee} {limited}");
}
