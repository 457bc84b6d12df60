//! The open-loop HTTP/1.1 load generator.
//!
//! One pinned thread per generator CPU, each with its share of the
//! connections and of the arrivals; within a thread, one epoll loop. A
//! connection carries one request at a time, without pipelining, so the number
//! of connections bounds what is in flight: when all are busy, due requests
//! wait, and the wait is part of their latency, which runs from the intended
//! start. Nothing is allocated per request and nothing grows with their number.
//!
//! A thread sleeps until shortly before a request is due and polls from there,
//! so that it is not late by the time a CPU takes to wake up. Upon an answer
//! it is late by that time; that is part of the latency, as it is for every
//! client that sleeps.
//!
//! What is a choice:
//! - Connections are opened when a request waits for one, until an answer shows
//!   that the server keeps them; then all are opened. See `connections`.
//! - The latency of an answer ends when its last packet arrived, by the kernel's
//!   stamp: what this thread needed to wake up and read it is not the service's.
//! - The time-out of a request runs from when it was sent, not from its
//!   intended start: it says what the server did, and a queue in front of busy
//!   connections is seen in the latency instead. A request that timed out
//!   costs its connection.
//! - A request that is sent just as the server closes a kept connection fails
//!   as [`Failure::Reset`](crate::tally::Failure::Reset). It is not sent again:
//!   a service that does this to its clients should be seen doing it. A close
//!   seen while the connection is idle is no error.
//! - Each start opens connections anew and each end closes them. Which of the
//!   server's workers gets which connection is luck, and it must be drawn again
//!   for every trial, or it would be a hidden bias of all trials of a run.
//!
//! ```no_run
//! use plimsoll_load::{Load, Offer, http::HttpLoad};
//! use plimsoll_model::{Arrivals, HttpService, Rate, ServiceAt};
//! use std::time::Duration;
//!
//! let service = HttpService {
//!     url: "http://localhost:8080/".into(),
//!     method: "GET".into(),
//!     headers: vec![],
//!     omitted_headers: vec![],
//!     body: vec![],
//!     connections: 16,
//!     timeout: Duration::from_secs(5),
//!     expected_status: None,
//!     insecure: false,
//!     service: ServiceAt::Find,
//! };
//! let mut load = HttpLoad::new(&service, [1].into_iter().collect())?;
//! println!("the service answers {}", load.probe()?.status);
//! let mut running = load.start(&Offer {
//!     rate: Rate::per_second(1000.0).ok_or("no rate")?,
//!     arrivals: Arrivals::Poisson,
//!     seed: 1,
//!     drain: Duration::from_secs(1),
//!     steps: None,
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
pub(crate) mod parser;
pub(crate) mod poller;
mod probe;
mod request;
mod run;
mod stamp;
mod target;
mod text;
mod tls;
mod transport;
mod trouble;
mod wakeup;
mod worker;

pub use probe::Probe;
pub use text::get_text;

use crate::{Load, LoadError, Offer, Running};
use plimsoll_model::{CpuSet, HttpService};
use request::Request;
use std::sync::Arc;
use std::time::Duration;
use target::Target;

/// What all threads need to know of the requests; it never changes.
#[derive(Debug)]
struct Job {
    target: Target,
    request: Request,
    timeout_ns: u64,
    /// `None` for any of 200 to 299.
    expected_status: Option<u16>,
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

/// Requests to one HTTP/1.1 server, from the CPUs that are set apart for it.
#[derive(Debug)]
pub struct HttpLoad {
    job: Arc<Job>,
    cpus: CpuSet,
    connections: usize,
}

impl HttpLoad {
    /// Prepares the request, resolves the host, and checks that as many
    /// connections may be opened. It does not speak to the server.
    ///
    /// # Errors
    /// [`LoadError::Mistake`] for what cannot work however the server behaves.
    pub fn new(service: &HttpService, generator_cpus: CpuSet) -> Result<HttpLoad, LoadError> {
        let mistake = |message: &str| Err(LoadError::Mistake(message.to_owned()));
        if generator_cpus.is_empty() {
            return mistake("no CPU is left for the load generator; give it one at least");
        }
        if service.connections == 0 {
            return mistake("a load needs a connection at least; ask for more with --connections");
        }
        if service.timeout.is_zero() {
            return mistake("with a time-out of zero no request can succeed; use a longer one");
        }
        let location = target::parse_url(&service.url)?;
        let request = request::prepare(service, &location)?;
        limits::check_open_files(service.connections, generator_cpus.len())?;
        let job = Job {
            target: Target::new(&service.url, &location, service.insecure)?,
            request,
            timeout_ns: u64::try_from(service.timeout.as_nanos()).unwrap_or(u64::MAX),
            expected_status: service.expected_status,
        };
        Ok(HttpLoad {
            job: Arc::new(job),
            cpus: generator_cpus,
            connections: service.connections as usize,
        })
    }

    /// Sends one request on a connection of its own and says what came back.
    /// Of several addresses of the host, the first that accepts a connection
    /// is the one that is used from then on.
    ///
    /// # Errors
    /// [`LoadError::Service`] with one sentence about what the server did that
    /// a service does not do.
    pub fn probe(&self) -> Result<Probe, LoadError> {
        probe::probe(&self.job)
    }
}

impl Load for HttpLoad {
    fn start(&mut self, offer: &Offer) -> Result<Box<dyn Running>, LoadError> {
        let run = run::HttpRun::start(&self.job, &self.cpus, self.connections, offer)?;
        Ok(Box::new(run))
    }

    fn check(&self) -> Result<(), LoadError> {
        self.probe().map(|_| ())
    }
}
