//! The open-loop load generator for HTTP/1.1 and HTTP/2.
//!
//! One pinned thread per generator CPU, each with its share of the connections
//! and of the arrivals, runs one epoll loop. A connection of HTTP/1.1 carries one
//! request at a time, without pipelining, one of HTTP/2 as many as it has streams.
//! So these numbers limit the requests in flight: when all are busy, due requests
//! wait, and the wait is part of their latency, which is measured from the intended
//! start. With HTTP/1.1 nothing is allocated per request.
//!
//! A thread sleeps until shortly before a request is due and polls from there,
//! so that wake-up latency does not delay the send. The timers of the next starts are set while an earlier one
//! runs, which halves what a sleep costs in a virtual machine; see `poller`.
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
//!   is no error. With HTTP/2 a server says which requests it has not begun with
//!   (GOAWAY), and clients send these again (RFC 9113, section 8.7): up to 100 times
//!   on another connection, with the same intended start.
//! - With HTTP/2 a request that times out is cancelled, and its connection goes on.
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

mod ahead;
mod conn;
mod connections;
mod deadlines;
mod flag_file;
mod http2;
mod limits;
mod local_ports;
mod mix;
mod pacer;
mod parser;
pub(crate) mod poller;
mod probe;
mod probe_error;
mod request;
mod run;
mod target;
mod text;
pub(crate) mod timestamp;
mod tls;
mod transport;
mod wakeup;
mod worker;

pub use limits::possible_connections;
pub use local_ports::was_own_port;
pub use mix::{describe_requests, percent_encoded};
pub use parser::answers;
pub use probe::Probe;
pub use text::get_text;

use crate::{Load, LoadError, Offer, Running, ns};
use mix::{Credentials, Mix, Supply};
use plimsoll_model::{CpuSet, HttpService};
use request::{Request, Writer};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use target::Target;

/// Request parameters shared by all threads; immutable.
#[derive(Debug)]
struct Job {
    target: Arc<Target>,
    /// At least one.
    requests: Vec<Request>,
    /// The sums of their weights up to each.
    sums: Vec<f64>,
    /// The one that is most often chosen.
    main: usize,
    supply: Arc<Supply>,
    timeout_ns: u64,
    requests_per_connection: Option<NonZeroU32>,
}

impl Job {
    fn timeout(&self) -> Duration {
        Duration::from_nanos(self.timeout_ns)
    }
}

/// Requests to one HTTP server, sent from dedicated CPUs.
#[derive(Debug)]
pub struct HttpLoad {
    mix: Mix,
    /// For the Host header.
    host: String,
    /// As of the last login.
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
        let mix = Mix::of(service, &location)?;
        let most = service.max_connections.unwrap_or_default();
        let most = most.max(service.connections);
        limits::check_open_files(most, generator_cpus.len())?;
        let job = Job {
            target: Arc::new(Target::new(service, &location)?),
            requests: requests(&mix, &location.authority, &Credentials::default())?,
            sums: mix.sums(),
            main: mix.main(),
            supply: Arc::clone(&mix.supply),
            timeout_ns: ns(service.timeout),
            requests_per_connection: service.requests_per_connection,
        };
        Ok(HttpLoad {
            mix,
            host: location.authority,
            job: Arc::new(job),
            cpus: generator_cpus,
            connections: service.connections as usize,
        })
    }

    /// Where the server may be, as its name was resolved.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.job.target.addresses
    }

    /// Sends each request once, after the logins, on a connection of its own, and returns the
    /// answer to the one that is most often chosen. If the host has several addresses, the first
    /// that accepts a connection is used from then on.
    ///
    /// # Errors
    /// [`LoadError::Service`] or [`LoadError::Mistake`] if the server did not
    /// answer as expected.
    pub fn probe(&self) -> Result<Probe, LoadError> {
        let job = self.logged_in()?;
        for request in (0..job.requests.len()).filter(|at| *at != job.main) {
            send_once(&job, request, job.timeout())?;
        }
        send_once(&job, job.main, job.timeout())
    }

    /// The job with what logins give.
    fn logged_in(&self) -> Result<Arc<Job>, LoadError> {
        let job = &self.job;
        if self.mix.logins.is_empty() {
            return Ok(Arc::clone(job));
        }
        let (mix, host) = (&self.mix, &self.host);
        let from_login = Credentials::of(mix, host, &job.target, job.timeout())?;
        Ok(Arc::new(Job {
            target: Arc::clone(&job.target),
            requests: requests(mix, host, &from_login)?,
            sums: job.sums.clone(),
            supply: Arc::clone(&job.supply),
            ..**job
        }))
    }

    /// A service that is busy with an earlier load may refuse a login for a while.
    fn logged_in_again(&self) -> Result<Arc<Job>, LoadError> {
        let began = Instant::now();
        loop {
            match self.logged_in() {
                Err(LoadError::Service(_)) if began.elapsed() < IDLE_WITHIN => {
                    std::thread::sleep(AGAIN);
                }
                ended => return ended,
            }
        }
    }
}

fn requests(mix: &Mix, host: &str, from_login: &Credentials) -> Result<Vec<Request>, LoadError> {
    let entries = mix.entries.iter();
    let requests = entries.map(|entry| Request::of(entry, mix, host, from_login));
    requests
        .collect::<Result<_, _>>()
        .map_err(LoadError::Service)
}

/// Sends the request at this place once.
fn send_once(job: &Job, at: usize, within: Duration) -> Result<Probe, LoadError> {
    let request = &job.requests[at];
    let mut filled = Vec::new();
    Writer::new(&job.supply, 0).write(request, &job.supply, false, &mut filled);
    let bytes = request.fixed(false).unwrap_or(&filled);
    probe::probe(&job.target, request, bytes, within)
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
        self.job = self.logged_in_again()?;
        let run = run::HttpRun::start(&self.job, &self.cpus, connections, offer)?;
        Ok(Box::new(run))
    }

    fn wait_until_idle(&self, stop: &AtomicBool) {
        let began = Instant::now();
        let mut answers = Answers::default();
        while began.elapsed() < IDLE_WITHIN && !stop.load(Ordering::Relaxed) {
            let left = IDLE_WITHIN.saturating_sub(began.elapsed());
            let within = left.min(self.job.timeout());
            let Ok(probe) = send_once(&self.job, self.job.main, within) else {
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
        let job = self.logged_in()?;
        send_once(&job, job.main, job.timeout()).map(|_| ())
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
