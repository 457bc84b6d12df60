//! The interface of a load: start at a rate, observe, open a window, finish.

use crate::tally::{Session, Tick, WindowTimes};
use plimsoll_model::{Arrivals, PhasedRate, Rate, SteppedRate, Work};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// Requests per second over all threads, unless the shape has rates of its own.
    pub rate: Rate,
    pub arrivals: Arrivals,
    pub seed: u64,
    /// How long to wait at the end for answers to requests of the window, while
    /// the load continues.
    pub drain: Duration,
    pub shape: Shape,
    /// Connections to offer it over; `None` for as many as the load was made with.
    pub connections: Option<u32>,
}

/// How a rate changes in the course of a load.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Shape {
    #[default]
    Constant,
    /// Steps between a lower rate and that of the offer.
    Steps(SteppedRate),
    /// Phases of rates of their own.
    Phases(Arc<PhasedRate>),
}

/// A service that can be offered requests at a rate.
pub trait Load {
    /// Starts offering requests until [`Running::finish`].
    fn start(&mut self, offer: &Offer) -> Result<Box<dyn Running>, LoadError>;

    /// Brings back from swap what the service has there, where it is in this process. Called before
    /// a trial, and before a job beside it takes memory.
    fn page_in(&self) {}

    /// Waits, after more load than the service carries, until it has worked off what is left of that.
    /// A service in this process has nothing left.
    fn wait_until_idle(&self, _stop: &AtomicBool) {}

    /// Checks, without load, that the service is available. A service in this
    /// process always is.
    fn check(&self) -> Result<(), LoadError> {
        Ok(())
    }
}

/// A running load. Dropping it stops it.
pub trait Running: Send {
    /// Kernel thread IDs, for reading their CPU time.
    fn threads(&self) -> Threads;

    /// What happened since the previous call.
    fn tick(&mut self) -> Tick;

    /// The clock and the window of its threads.
    fn session(&self) -> &Session;

    /// Opens a window of `length` shortly after now; requests intended within
    /// it count.
    fn open_window(&mut self, length: Duration) -> WindowTimes {
        self.session().open_window(length)
    }

    /// Extends the open window and returns its new end. Call it well before the
    /// window closes.
    fn extend_window(&mut self, by: Duration) -> Instant {
        self.session().extend_window(by)
    }

    /// Waits for the answers of the window (see [`Offer::drain`]), stops, and
    /// returns the counts. Without a window, all counts are zero.
    fn finish(self: Box<Self>) -> Result<Work, LoadError>;
}

/// Thread IDs of a load in this process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Threads {
    /// Threads that generate requests.
    pub generator: Vec<u32>,
    /// Threads that serve requests, if the service is in this process.
    pub service: Vec<u32>,
}

/// Why a load cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A usage error: the request cannot work on any machine.
    #[error("{0}")]
    Mistake(String),
    /// The service did not behave as expected.
    #[error("{0}")]
    Service(String),
    /// The service did not say anything in the time that it has.
    #[error("{sentence}")]
    Silent {
        url: String,
        peer: SocketAddr,
        sentence: String,
    },
    /// The operating system refused a request.
    #[error("{what}: {source}; {way_out}")]
    System {
        what: String,
        source: io::Error,
        /// What the user can do.
        way_out: String,
    },
}

impl LoadError {
    pub(crate) fn mistake<T>(message: impl Into<String>) -> Result<T, LoadError> {
        Err(LoadError::Mistake(message.into()))
    }

    pub(crate) fn system(
        what: impl Into<String>,
        source: impl Into<io::Error>,
        way_out: &str,
    ) -> LoadError {
        LoadError::System {
            what: what.into(),
            source: source.into(),
            way_out: way_out.to_owned(),
        }
    }
}
