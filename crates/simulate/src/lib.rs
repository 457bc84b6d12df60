//! Machines of known capacity, on virtual time, to validate capacity searches.
//!
//! The true capacity of a simulated machine follows from its parameters: a
//! [`Machine`] returns the outcome of a trial as a runner would, within
//! milliseconds and without a clock, and [`truth()`] gives the correct
//! capacity. A [`SharedMachine`] simulates a sideload for control laws. Used
//! only by tests and benchmarks.
//!
//! This crate must not sleep, read a clock, do I/O, or use random numbers
//! without a seed: the same machine and trial give the same outcome on every
//! host.
//!
//! ```
//! use plimsoll_model::{Arrivals, Quantile};
//! use plimsoll_simulate::{Service, truth};
//! use std::time::Duration;
//!
//! let service = Service::Exponential { mean: Duration::from_millis(1), servers: 1 };
//! assert_eq!(service.saturation().get(), 1000.0);
//! // In M/M/1 the time in the system is exponential with rate mu - lambda.
//! let limit = Duration::from_millis(10);
//! let capacity = truth(&service, Arrivals::Poisson, Quantile::P99, limit);
//! let expected = 1000.0 - 100f64.ln() / 0.01;
//! assert!(capacity.is_some_and(|c| (c.get() / expected - 1.0).abs() < 1e-6));
//! ```

mod compact_histogram;
mod cpu;
mod curve;
mod machine;
mod queue;
mod random;
mod service;
mod shared;
mod stall;
mod tally;
#[cfg(test)]
mod tests;
mod truth;

pub use curve::Curve;
pub use machine::{Disturbance, Effect, Machine, TwoThreads};
pub use service::Service;
pub use shared::{SharedMachine, SharedPeriod, SharedSpec};
pub use truth::{tail, truth, truth_by_simulation, truth_errors, truth_quantile};
