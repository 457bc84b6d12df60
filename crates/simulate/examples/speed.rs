//! Measures how many requests are simulated per second of real time.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "an example for people at a terminal"
)]

use plimsoll_model::Rate;
use plimsoll_simulate::{Machine, Service};
use std::time::{Duration, Instant};

#[path = "../src/tests/spec.rs"]
mod spec;

fn main() {
    let ms = Duration::from_millis(1);
    let kinds = [
        (
            "M/D/1",
            Service::Deterministic {
                service: ms,
                servers: 1,
            },
        ),
        (
            "M/M/1",
            Service::Exponential {
                mean: ms,
                servers: 1,
            },
        ),
        (
            "M/M/16",
            Service::Exponential {
                mean: 16 * ms,
                servers: 16,
            },
        ),
        (
            "lock",
            Service::Lock {
                parallel: 4 * ms,
                serial: ms / 2,
                servers: 8,
            },
        ),
    ];
    for (name, service) in kinds {
        for window in [5, 1000] {
            let rate = service.saturation().times(0.9);
            let machine = Machine::new(service.clone(), 1);
            let spec = spec::spec(rate, Duration::from_secs(window), 1);
            let plan = spec::plan();
            let trials = 2000 / window.min(1000);
            let began = Instant::now();
            let sum: u64 = (0..trials)
                .map(|seed| {
                    let spec = plimsoll_model::TrialSpec {
                        seed,
                        ..spec.clone()
                    };
                    machine.run(&spec, &plan).work.intended
                })
                .sum();
            let took = began.elapsed();
            println!(
                "{name}: windows of {window} s, {} requests/s, {:?} a trial",
                Rate::of(sum, took),
                took / u32::try_from(trials).expect("few trials")
            );
        }
    }
}
