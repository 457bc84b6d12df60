//! How a load is driven: started at a rate, watched, measured in a window,
//! ended.

use plimsoll_model::{Arrivals, Rate, SteppedRate, Work};
use std::time::{Duration, Instant};

/// What to offer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// Requests per second over all threads.
    pub rate: Rate,
    /// How they arrive.
    pub arrivals: Arrivals,
    /// Seeds the arrivals.
    pub seed: u64,
    /// How long to wait at the end for answers to requests of the window,
    /// while the load goes on.
    pub drain: Duration,
    /// Where the rate steps between a lower one and `rate`; `None` where it
    /// stays.
    pub steps: Option<SteppedRate>,
}

/// Something that can be offered requests at a rate.
pub trait Load {
    /// Starts offering. The load goes on until [`Running::finish`].
    fn start(&mut self, offer: &Offer) -> Result<Box<dyn Running>, LoadError>;

    /// Whether the service is there at all, while no load is offered. A
    /// service in this process always is.
    fn check(&self) -> Result<(), LoadError> {
        Ok(())
    }
}

/// A load that is being offered. Dropping it stops it.
pub trait Running: Send {
    /// The kernel's ids of its threads, for those who read their CPU time.
    fn threads(&self) -> Threads;

    /// What happened since the call before.
    fn tick(&mut self) -> Tick;

    /// From a moment shortly after now, requests count for `length`.
    fn open_window(&mut self, length: Duration) -> WindowTimes;

    /// Lets the open window close later than was said, and tells when. To be
    /// called a good while before it closes.
    fn extend_window(&mut self, by: Duration) -> Instant;

    /// Waits for the answers of the window (see [`Offer::drain`]), stops, and
    /// gives what was counted. Without a window, all is zero.
    fn finish(self: Box<Self>) -> Result<Work, LoadError>;
}

/// Thread ids of a load, in this process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Threads {
    /// Those that generate requests.
    pub generator: Vec<u32>,
    /// Those that serve them, where the service is in this process.
    pub service: Vec<u32>,
}

/// When a window opens and closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowTimes {
    /// The first intended start that counts.
    pub opens: Instant,
    /// The first intended start that no longer counts.
    pub closes: Instant,
}

/// What happened between two calls of [`Running::tick`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tick {
    /// Requests sent.
    pub sent: u64,
    /// Good answers.
    pub completed: u64,
    /// Failed requests.
    pub errors: u64,
    /// Requests sent and not answered, at the end.
    pub in_flight: u64,
    /// Median latency of the good answers.
    pub p50: Option<Duration>,
    /// 99 % latency of the good answers.
    pub p99: Option<Duration>,
}

/// Why a load cannot be offered, or cannot go on. Each sentence says what,
/// where, and the way out.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// What was asked for cannot be right, whatever the machine does.
    #[error("{0}")]
    Mistake(String),
    /// The service did not do what a service does.
    #[error("{0}")]
    Service(String),
    /// The operating system refused something.
    #[error("{what}: {source}; {way_out}")]
    System {
        /// What was tried.
        what: String,
        /// The kernel's answer.
        source: std::io::Error,
        /// What can be done.
        way_out: String,
    },
}
