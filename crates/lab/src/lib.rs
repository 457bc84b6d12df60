//! The hash service under a load that changes while it runs.
//!
//! A [`Rating`] is what the service carries when it is saturated, measured once and kept per machine.
//! A [`Service`] offers a [`Target`] in an open loop: a rate, a share of the rating, or the highest rate
//! that keeps a latency goal. [`Service::step`] returns what happened since the step before, as an
//! [`Interval`], and each whole [`Second`]; [`metrics`] writes it as OpenMetrics text. [`Message`] is what a control socket
//! takes.
//!
//! The caller has the loop: it decides when to step. This crate must not print, know flags, or decide
//! what a law decides.
//!
//! ```
//! use plimsoll_lab::{Service, Target};
//! use plimsoll_load::hash;
//! use plimsoll_lab::Rating;
//! use plimsoll_host::Root;
//! use plimsoll_model::{Arrivals, CpuTime, Rate};
//! use std::time::Duration;
//!
//! let root = Root::machine();
//! let cpus = plimsoll_host::own_allowed_cpus(&root)?;
//! let first = cpus.iter().next().unwrap_or(0);
//! let hash = hash::calibrate(CpuTime(Duration::from_millis(1)), first)?;
//! let rate = Rate::per_second(50.0).ok_or("no rate")?;
//! let rating = Rating::assumed(hash, &cpus, rate);
//! let mut service = Service::start(&root, rating, Target::Rate(rate), Arrivals::Constant, 1)?;
//! std::thread::sleep(Duration::from_millis(100));
//! assert!(service.step()?.0.asked.get() > 49.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod http;
mod interval;
mod listen;
mod message;
pub mod metrics;
mod rating;
mod second;
mod sensors;
mod service;
mod socket;
mod target;

pub use interval::{Interval, Totals};
pub use message::{Message, MessageError};
pub use rating::{Kept, Rating};
pub use second::Second;
pub use service::{MOST_RPS, STEP, Service};
pub use socket::{Asked, ControlSocket};
pub use target::Target;

use plimsoll_model::human_minutes;

/// Why a service cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    Load(#[from] plimsoll_load::LoadError),
    #[error(transparent)]
    Host(#[from] plimsoll_host::HostError),
    /// The address of the service over HTTP cannot be listened at.
    #[error("--listen {addr}: {source}; choose another port, or an address of this machine")]
    Listen {
        addr: std::net::SocketAddr,
        source: std::io::Error,
    },
    /// A goal near which the queue changes so slowly that the law would take a rate for good that is not.
    #[error(
        "near {goal} the queue takes {} to adapt to a change of load, longer than the {} that --until remembers; use a shorter limit, or measure it: plimsoll sweep --goal '{goal}'",
        human_minutes(*takes), human_minutes(plimsoll_law::Settle::MEMORY)
    )]
    TooSlow {
        goal: plimsoll_law::LatencyGoal,
        takes: std::time::Duration,
    },
    /// The user has stopped it.
    #[error("stopped during the calibration")]
    Stopped,
    /// Nothing was answered in a calibration.
    #[error(
        "the hash service answered nothing in {0:?} under more load than it carries; see what else uses these CPUs"
    )]
    NothingAnswered(std::time::Duration),
}
