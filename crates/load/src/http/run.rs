//! Starts, observes and ends the generator threads.

use super::Job;
use super::connections::Connections;
use super::pacer::Pacer;
use super::poller::Waker;
use super::worker::Worker;
use crate::arrivals::Schedule;
use crate::tally::{self, Session, Tally};
use crate::{LoadError, Offer, Running, Threads, Tick, thread_id};
use plimsoll_model::{CpuId, CpuSet, Work};
use plimsoll_pool::{PoolError, pin_this_thread};
use rustix::io::Errno;
use rustix::thread::set_current_timer_slack;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

type ThreadResult = Result<(), LoadError>;

#[derive(Debug)]
pub(super) struct HttpRun {
    session: Arc<Session>,
    waker: Arc<Waker>,
    tallies: Vec<Tally>,
    threads: Vec<JoinHandle<ThreadResult>>,
    ids: Vec<u32>,
    drain: Duration,
}

impl HttpRun {
    /// Starts a thread on each CPU, at most one per connection, and waits until
    /// all run.
    pub(super) fn start(
        job: &Arc<Job>,
        cpus: &CpuSet,
        connections: usize,
        offer: &Offer,
    ) -> Result<HttpRun, LoadError> {
        let count = cpus.len().min(connections);
        let waker = Waker::new().map_err(|e| system("creating an eventfd", e))?;
        let mut run = HttpRun {
            session: Arc::new(Session::new(offer.shape.clone())),
            waker: Arc::new(waker),
            tallies: Vec::new(),
            threads: Vec::new(),
            ids: Vec::new(),
            drain: offer.drain,
        };
        let (report, reports) = channel();
        for (index, cpu) in cpus.iter().take(count).enumerate() {
            let tally = Tally::new(Arc::clone(&run.session));
            run.tallies.push(tally.clone());
            let pacer = Pacer::new(Schedule::offered(offer, index, count));
            // The remainder goes to the first threads.
            let own = connections / count + usize::from(index < connections % count);
            let (job, session) = (Arc::clone(job), Arc::clone(&run.session));
            let (waker, started) = (Arc::clone(&run.waker), report.clone());
            // Threads choose among several requests independently.
            let seed = offer.seed.wrapping_add(index as u64);
            let worker = move || {
                let clock = Arc::clone(&session);
                let connections = Connections::new(own, Arc::clone(&job), clock, seed);
                Worker::new(job, session, tally, pacer, connections)
            };
            let thread = std::thread::Builder::new()
                .name(format!("generator-{cpu}"))
                .spawn(move || generate(cpu, &waker, started, worker))
                .map_err(|error| {
                    let what = format!("cannot start a generator thread for CPU {cpu}");
                    LoadError::system(what, error, "raise the limit on processes (ulimit -u)")
                })?;
            run.threads.push(thread);
        }
        // If a thread cannot start, dropping the run ends the others.
        drop(report);
        run.ids.extend(reports);
        if run.ids.len() < count {
            run.stop(Duration::ZERO);
            run.join()?;
        }
        Ok(run)
    }

    fn stop(&self, drain: Duration) {
        self.session.stop_after(drain);
        self.waker.wake();
    }

    /// Waits for all threads; returns the first error.
    fn join(&mut self) -> Result<(), LoadError> {
        let mut first = Ok(());
        for thread in self.threads.drain(..) {
            let ending = thread.join().unwrap_or_else(|_| Err(panicked()));
            first = first.and(ending);
        }
        first
    }
}

impl Running for HttpRun {
    fn threads(&self) -> Threads {
        Threads {
            generator: self.ids.clone(),
            service: Vec::new(),
        }
    }

    fn tick(&mut self) -> Tick {
        tally::tick(&self.tallies)
    }

    fn session(&self) -> &Session {
        &self.session
    }

    fn finish(mut self: Box<Self>) -> Result<Work, LoadError> {
        self.stop(self.drain);
        self.join()?;
        Ok(tally::total(&self.tallies))
    }
}

impl Drop for HttpRun {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.stop(Duration::ZERO);
            // A drop cannot return errors.
            let _ = self.join();
        }
    }
}

/// A generator's thread; it sends its ID when it is ready.
fn generate(
    cpu: CpuId,
    waker: &Waker,
    started: Sender<u32>,
    worker: impl FnOnce() -> Result<Worker, Errno>,
) -> ThreadResult {
    pin(cpu)?;
    // Without it a sleep ends up to 50 us late; a sandbox may refuse it.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let worker = worker()
        .and_then(|worker| worker.poller().add_waker(waker).map(|()| worker))
        .map_err(|e| system("creating an epoll and a timer", e))?;
    // The only receiver waits for this message.
    let _ = started.send(thread_id());
    drop(started);
    worker.run().map_err(ended)
}

fn ended(errno: Errno) -> LoadError {
    match errno {
        Errno::ADDRNOTAVAIL => LoadError::system(
            "the load generator has no free port for another connection",
            errno,
            "a port may be in use until a minute after its connection ended: use fewer \
             connections (-c), keep them alive, or offer less",
        ),
        _ => system("waiting for answers or opening a connection", errno),
    }
}

fn pin(cpu: CpuId) -> Result<(), LoadError> {
    pin_this_thread(cpu).map_err(|error| match error {
        PoolError::Pin { cpu, source } => LoadError::system(
            format!("cannot pin the load generator to CPU {cpu}"),
            source,
            "choose generator CPUs that are online and allowed for this process",
        ),
        other => other.into(),
    })
}

fn system(what: &str, error: Errno) -> LoadError {
    LoadError::system(
        format!("the load generator failed in {what}"),
        error,
        "check the limits on open files and memory of this process",
    )
}

fn panicked() -> LoadError {
    LoadError::system(
        "a thread of the load generator panicked",
        io::ErrorKind::Other,
        "please report this, with the message above",
    )
}
