//! The hash service over HTTP: any request does the work of one, but for `/metrics`.

use crate::http::{Answers, Reply, Server, empty, text};
use crate::metrics;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::http::request::Parts;
use plimsoll_model::{CpuSet, Histogram};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A listening hash service.
pub(crate) struct Listening {
    server: Server,
    site: Arc<Site>,
}

type Work = Box<dyn Fn(u64) -> io::Result<()> + Send + Sync>;

struct Site {
    work: Work,
    arrived: AtomicU64,
    served: Mutex<Served>,
    metrics: Mutex<String>,
}

/// What was served since the last look.
#[derive(Debug, Default)]
pub(crate) struct Served {
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    /// Arrived and not served, now.
    pub(crate) in_flight: u64,
    /// From the end of a request's head to the end of its hash.
    pub(crate) latency: Histogram,
    /// Completed and failed since the start.
    ended_in_all: u64,
}

impl Listening {
    pub(crate) fn start(addr: SocketAddr, cpus: &CpuSet, work: Work) -> io::Result<Listening> {
        let site = Arc::new(Site {
            work,
            arrived: AtomicU64::new(0),
            served: Mutex::default(),
            metrics: Mutex::default(),
        });
        Ok(Listening {
            server: Server::start(addr, cpus, Arc::clone(&site))?,
            site,
        })
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// What was served since the last call.
    pub(crate) fn take(&self) -> Served {
        let mut served = lock(&self.site.served);
        let arrived = self.site.arrived.load(Ordering::Acquire);
        let ended_in_all = served.ended_in_all;
        let taken = std::mem::take(&mut *served);
        served.ended_in_all = ended_in_all;
        Served {
            in_flight: arrived.saturating_sub(ended_in_all),
            ..taken
        }
    }

    /// Replaces the text of `/metrics`.
    pub(crate) fn set_metrics(&self, text: String) {
        *lock(&self.site.metrics) = text;
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counts and texts are valid after a panic.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Answers for Site {
    const KEEPS: usize = 0;

    fn answer(self: Arc<Self>, head: &Parts, _: Bytes) -> Reply {
        if head.uri.path() == "/metrics" {
            let metrics = lock(&self.metrics).clone();
            return Reply::Ready(text(StatusCode::OK, metrics::CONTENT_TYPE, metrics));
        }
        let arrived_at = Instant::now();
        let index = self.arrived.fetch_add(1, Ordering::AcqRel);
        Reply::Work(Box::new(move || {
            let done = (self.work)(index);
            let took = arrived_at.elapsed();
            let mut served = lock(&self.served);
            served.ended_in_all += 1;
            if done.is_err() {
                served.failed += 1;
                return empty(StatusCode::INTERNAL_SERVER_ERROR);
            }
            served.completed += 1;
            served.latency.record(took);
            text(StatusCode::OK, "text/plain", "hashed\n")
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    fn get(addr: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(addr).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn requests_are_work_and_metrics_are_not() {
        let worked = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&worked);
        let work = move |index: u64| {
            count.fetch_max(index + 1, Ordering::Relaxed);
            Ok(())
        };
        let cpus = plimsoll_pool::allowed_cpus().unwrap();
        let addr = ([127, 0, 0, 1], 0).into();
        let listening = Listening::start(addr, &cpus, Box::new(work)).unwrap();
        listening.set_metrics("# EOF\n".to_owned());
        for path in ["/", "/any", "/metrics?any"] {
            assert!(
                get(listening.addr(), path).starts_with("HTTP/1.1 200"),
                "{path}"
            );
        }
        let served = listening.take();
        assert_eq!(
            (
                served.completed,
                served.in_flight,
                worked.load(Ordering::Relaxed)
            ),
            (2, 0, 2)
        );
        assert_eq!(served.latency.count(), 2);
        assert_eq!(listening.take().completed, 0);
        assert!(get(listening.addr(), "/metrics").ends_with("# EOF\n"));
    }
}
