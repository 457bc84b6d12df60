//! Who asks and who serves: arrivals, pacing, transports, services.
//!
//! Every load is an open loop: requests have an intended start that depends
//! on the offered rate alone, and their latency runs from it, whoever was
//! late. What the load generator itself was late by is the *slip*, kept
//! apart. All loads share one way of being driven ([`Load`], [`Running`]) and
//! one way of counting ([`tally`]); arrival law, transport and service are
//! values given to it.
//!
//! This room must not judge what it measures, read /proc, or know of plans.
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
pub mod hash;
pub mod http;
pub mod known;
pub mod tally;

pub use drive::{Load, LoadError, Offer, Running, Threads, Tick, WindowTimes};
