//! Open-loop load generation: arrivals, pacing, transports and built-in
//! services.
//!
//! In an open loop, the intended start of a request depends on the offered rate
//! only, and its latency is measured from there, so there is no coordinated
//! omission. The load generator's own send delay is the *slip*, recorded
//! separately. All loads share one interface ([`Load`], [`Running`]) and one
//! way of counting ([`tally`]); arrival process, transport and service are
//! parameters.
//!
//! This crate must not judge its measurements, read /proc, or know about plans.
//!
//! ```
//! use plimsoll_load::arrivals::Schedule;
//! use plimsoll_model::{Arrivals, Rate};
//!
//! let rate = Rate::per_second(1000.0).ok_or("no rate")?;
//! let schedule = Schedule::new(Arrivals::Constant, rate, 7);
//! let starts: Vec<u64> = schedule.take(3).collect();
//! assert_eq!(starts, [1_000_000, 2_000_000, 3_000_000]);
//! # Ok::<(), &str>(())
//! ```

pub mod arrivals;
pub mod copies;
mod drive;
pub mod external;
pub mod hash;
pub mod http;
pub mod job;
pub mod known;
mod live;
pub mod open_files;
mod output_tail;
pub mod tally;
pub mod wakeups;

use std::time::Duration;

pub use drive::{Load, LoadError, Offer, Running, Shape, Threads};
pub use live::LiveRate;
pub use tally::{Tick, WindowTimes};

/// Nanoseconds; durations above 584 years saturate.
fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The kernel's ID of the calling thread.
fn thread_id() -> u32 {
    let tid = rustix::thread::gettid().as_raw_nonzero();
    tid.get().cast_unsigned()
}
