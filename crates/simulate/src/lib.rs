//! Machines of known capacity, on virtual time.
//!
//! A search for capacity can only be trusted after it has found answers that
//! were known before. This room holds machines whose true capacity follows
//! from how they are built: a [`Machine`] answers a trial as a runner would,
//! within milliseconds and without a clock, and [`truth()`] says what the right
//! answer would have been. A [`SharedMachine`] is what control laws are tried on.
//! Only tests and benches use it.
//!
//! It must not sleep, read a clock, do I/O, or draw chance without a seed: the
//! same machine and the same trial give the same outcome on every host.
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

mod brief;
mod chance;
mod cpu;
mod curve;
mod line;
mod machine;
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
