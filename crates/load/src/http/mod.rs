//! The open-loop HTTP/1.1 load generator.
//!
//! One pinned thread per generator CPU, each with its share of the connections
//! and of the arrivals, runs one epoll loop. A connection carries one request
//! at a time, without pipelining, so the number of connections limits the
//! requests in flight: when all are busy, due requests wait, and the wait is
//! part of their latency, which is measured from the intended start. Nothing is
//! allocated per request.
//!
//! A thread sleeps until shortly before a request is due and polls from there,
//! so that wake-up latency does not delay the send.
//!
//! Design decisions:
//! - Connections are opened on demand until an answer shows that the server
//!   keeps them alive; then all are opened. See `connections`.
//! - The latency of an answer ends when its last packet arrived, by the
//!   kernel's timestamp, so it excludes the time this thread needs to wake up
//!   and read it.
//! - The time-out of a request runs from when it was sent, not from its
//!   intended start: it measures the server, and queueing for a connection
//!   shows in the latency. A request that times out closes its connection.
//! - A request that is sent just as the server closes a kept connection fails
//!   as [`Failure::Reset`](crate::tally::Failure::Reset). It is not retried,
//!   because a real client would see the failure. A close of an idle connection
//!   is no error.
//! - Each start opens new connections and each end closes them. The assignment
//!   of connections to the server's workers is random; keeping it over all
//!   trials of a run would bias them all in the same way.
//!
//! ```no_run
//! use plimsoll_load::{Load, Offer, Shape, http::HttpLoad};
//! use plimsoll_model::{Arrivals, HttpService, Rate};
//! use std::time::Duration;
//!
//! let service = HttpService::get("http://localhost:8080/", 16, Duration::from_secs(5));
//! let mut load = HttpLoad::new(&service, [1].into_iter().collect())?;
//! println!("the service answers {}", load.probe()?.status);
//! let mut running = load.start(&Offer {
//!     rate: Rate::per_second(1000.0).ok_or("no rate")?,
//!     arrivals: Arrivals::Poisson,
//!     seed: 1,
//!     drain: Duration::from_secs(1),
//!     shape: Shape::Constant,
//!     connections: None,
//! })?;
//! running.open_window(Duration::from_secs(10));
//! std::thread::sleep(Duration::from_secs(10));
//! println!("p99 {:?}", running.finish()?.latency.quantile(0.99));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod conn;
mod connections;
mod deadlines;
mod limits;
mod pacer;
mod parser;
pub(crate) mod poller;
mod probe;
mod probe_error;
mod request;
mod run;
mod target;
mod text;
mod timestamp;
mod tls;
mod transport;
mod wakeup;
mod worker;

pub use limits::possible_connections;
pub use parser::answers;
pub use probe::Probe;
pub use text::get_text;

use crate::{Load, LoadError, Offer, Running, ns};
use plimsoll_model::{CpuSet, HttpService};
use request::Request;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use target::Target;

/// Request parameters shared by all threads; immutable.
#[derive(Debug)]
struct Job {
    target: Target,
    request: Request,
    timeout_ns: u64,
    /// `None` accepts 200 to 299.
    expected_status: Option<u16>,
    requests_per_connection: Option<NonZeroU32>,
}

impl Job {
    /// Whether a status counts as success.
    fn expects(&self, status: u16) -> bool {
        match self.expected_status {
            Some(expected) => status == expected,
            None => (200..300).contains(&status),
        }
    }

    fn timeout(&self) -> Duration {
        Duration::from_nanos(self.timeout_ns)
    }
}

/// Requests to one HTTP/1.1 server, sent from dedicated CPUs.
#[derive(Debug)]
pub struct HttpLoad {
    job: Arc<Job>,
    cpus: CpuSet,
    connections: usize,
}

impl HttpLoad {
    /// Prepares the request, resolves the host, and checks the open-file limit.
    /// It does not contact the server.
    ///
    /// # Errors
    /// [`LoadError::Mistake`] for what cannot work with any server.
    pub fn new(service: &HttpService, generator_cpus: CpuSet) -> Result<HttpLoad, LoadError> {
        if generator_cpus.is_empty() {
            return LoadError::mistake(
                "no CPU is left for the load generator; give it at least one",
            );
        }
        if service.connections == 0 {
            return LoadError::mistake("a load needs at least one connection; set --connections");
        }
        if service.timeout.is_zero() {
            return LoadError::mistake(
                "with a time-out of zero no request can succeed; use a longer one",
            );
        }
        let location = target::parse_url(&service.url)?;
        let request = request::prepare(service, &location)?;
        let most = service.max_connections.unwrap_or_default();
        let most = most.max(service.connections);
        limits::check_open_files(most, generator_cpus.len())?;
        let job = Job {
            target: Target::new(service, &location)?,
            request,
            timeout_ns: ns(service.timeout),
            expected_status: service.expected_status,
            requests_per_connection: service.requests_per_connection,
        };
        Ok(HttpLoad {
            job: Arc::new(job),
            cpus: generator_cpus,
            connections: service.connections as usize,
        })
    }

    /// Where the server may be, as its name was resolved.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.job.target.addresses
    }

    /// Sends one request on its own connection. If the host has several
    /// addresses, the first that accepts a connection is used from then on.
    ///
    /// # Errors
    /// [`LoadError::Service`] or [`LoadError::Mistake`] if the server did not
    /// answer as expected.
    pub fn probe(&self) -> Result<Probe, LoadError> {
        probe::probe(&self.job, self.job.timeout())
    }
}

/// A service that has not worked off its backlog within this time is measured with it.
const IDLE_WITHIN: Duration = Duration::from_secs(10);
/// How long single requests took, one after another.
#[derive(Debug, Default)]
struct Answers {
    last: Option<Duration>,
    least: Option<Duration>,
}

impl Answers {
    /// Whether a further one is no longer much shorter than the last, and as short as any.
    fn are_level_at(&mut self, took: Duration) -> bool {
        let least = self.least.map_or(took, |least| least.min(took));
        let is_level = self.last.is_some_and(|last| took >= last / 2);
        (self.last, self.least) = (Some(took), Some(least));
        is_level && took <= least * 2
    }
}

/// Between two requests that are refused.
const AGAIN: Duration = Duration::from_millis(100);

impl Load for HttpLoad {
    fn start(&mut self, offer: &Offer) -> Result<Box<dyn Running>, LoadError> {
        let connections = offer.connections.map_or(self.connections, |n| n as usize);
        let run = run::HttpRun::start(&self.job, &self.cpus, connections, offer)?;
        Ok(Box::new(run))
    }

    fn wait_until_idle(&self, stop: &AtomicBool) {
        let began = Instant::now();
        let mut answers = Answers::default();
        while began.elapsed() < IDLE_WITHIN && !stop.load(Ordering::Relaxed) {
            let left = IDLE_WITHIN.saturating_sub(began.elapsed());
            let Ok(probe) = probe::probe(&self.job, left.min(self.job.timeout())) else {
                // What it refuses may be for its load; the trial shows whether it is gone.
                std::thread::sleep(AGAIN);
                continue;
            };
            if answers.are_level_at(probe.took) {
                return;
            }
        }
    }

    fn check(&self) -> Result<(), LoadError> {
        self.probe().map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_is_gone_when_answers_get_no_shorter() {
        let settled = |ms: &[u64]| {
            let mut answers = Answers::default();
            let mut each = ms.iter().map(|ms| Duration::from_millis(*ms));
            each.position(|took| answers.are_level_at(took))
        };
        assert_eq!(settled(&[310, 3, 3]), Some(2));
        assert_eq!(settled(&[310, 100, 30, 3, 4]), Some(4));
        assert_eq!(settled(&[3000, 3000]), Some(1), "a slow service");
        // A queue that grows is none.
        assert_eq!(settled(&[3, 10, 30, 90]), None);
        assert_eq!(settled(&[310]), None);
    }
}
