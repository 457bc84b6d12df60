//! The built-in hash service: each request hashes a block with SHA-1. It may also read and write
//! files and touch memory before.
//!
//! Without memory and files, its capacity can be predicted (bytes per second and
//! core), and it uses only the CPU. It needs no network. Requests come from a [`Schedule`] directly to
//! the workers of a [`Pool`], one per CPU, first come, first served. There is
//! no generator thread: a free worker claims the next request and waits for it.
//! With Poisson arrivals this is an M/G/k queue.
//!
//! - A request that arrives while all workers are busy *queues*. The wait is
//!   part of its latency; its slip is 0.
//! - A request whose worker was waiting for it but woke up late has *slipped*
//!   by that delay. The slip is part of its latency and also recorded
//!   separately.
//! - Requests that no worker has started count as in flight in [`Tick`]: the
//!   queue belongs to the service.
//!
//! Workers sleep while they wait, or wait by the policy that is named. Spinning would hide the
//! wake-up latency (about 35 us) but would use CPU time at low load, which a sweep measures.

mod blocks;
mod calibrate;
mod files;
mod footprint;
mod memory;
mod positions;
mod running;
mod work;

pub(crate) use blocks::{Blocks, Data};
pub use calibrate::{DEVIATION_SHARE, calibrate};
pub use files::check_files;
pub use footprint::Footprint;
pub(crate) use memory::Heap;
pub(crate) use positions::{PAGE, Touch};

use crate::arrivals::Schedule;
use crate::live::LiveStarts;
use crate::tally::{Failure, Session, Tally};
use crate::{LiveRate, Load, LoadError, Offer, Running};
use plimsoll_model::{CpuSet, HashService};
use plimsoll_pool::{Pool, PoolError, Start, Starts, Waiting};
use running::{Arrived, HashRunning};
use std::io;
use std::sync::Arc;
use work::{Stores, Work};

#[cfg(doc)]
use crate::Tick;

#[derive(Debug)]
pub struct HashLoad {
    service: HashService,
    waiting: Waiting,
    cpus: CpuSet,
    stores: Stores,
}

impl HashLoad {
    /// Prepares the service on `cpus`: fills its memory and makes its files, which takes as long as the disk writes them. Memory and
    /// files are freed with the last service that uses them.
    ///
    /// # Errors
    /// [`LoadError::Mistake`] if `service` describes invalid blocks, memory or files, or names no
    /// waiting policy, or there is no CPU or no room for the files; [`LoadError::System`] if memory
    /// or files cannot be had. Whether there is enough memory is not checked.
    pub fn new(service: &HashService, cpus: &CpuSet) -> Result<HashLoad, LoadError> {
        Blocks::new(service, 0)?;
        if cpus.is_empty() {
            return Err(PoolError::NoCpu.into());
        }
        let named = service.waiting.as_deref().map(str::parse::<Waiting>);
        let waiting = named.unwrap_or(Ok(Waiting::Park));
        Ok(HashLoad {
            service: service.clone(),
            waiting: waiting.map_err(|error| LoadError::Mistake(error.to_string()))?,
            cpus: cpus.clone(),
            stores: Stores::prepare(service, cpus.len())?,
        })
    }

    /// The share of memory and files that requests use, shared by the service on all CPUs.
    pub fn footprint(&self) -> Footprint {
        self.stores.footprint.clone()
    }

    /// The same service on other CPUs; `cpus` must not be empty.
    #[must_use]
    pub fn on(&self, cpus: CpuSet) -> HashLoad {
        HashLoad {
            service: self.service.clone(),
            waiting: self.waiting,
            cpus,
            stores: self.stores.clone(),
        }
    }
}

impl Load for HashLoad {
    fn page_in(&self) {
        self.stores.page_in();
    }

    /// Says which error of a file a request met first, if any did.
    fn check(&self) -> Result<(), LoadError> {
        self.stores.check()
    }

    fn start(&mut self, offer: &Offer) -> Result<Box<dyn Running>, LoadError> {
        let schedule = Schedule::offered(offer, 0, 1);
        Ok(Box::new(self.start_at(schedule, offer)?))
    }
}

impl HashLoad {
    /// Starts the service under a rate that may change while it runs; that of the offer, its shape and
    /// its connections count for nothing.
    ///
    /// # Errors
    /// As for [`Load::start`].
    pub fn start_live(
        &self,
        rate: &Arc<LiveRate>,
        offer: &Offer,
    ) -> Result<Box<dyn Running>, LoadError> {
        let starts = LiveStarts::new(rate, offer.arrivals, offer.seed);
        Ok(Box::new(self.start_at(starts, offer)?))
    }

    /// What request number `index` does, for a caller that has its own threads. It fails if its files
    /// cannot be read or written.
    ///
    /// # Errors
    /// As for [`HashLoad::new`].
    pub fn requests(
        &self,
        seed: u64,
    ) -> Result<impl Fn(u64) -> io::Result<()> + Send + Sync + 'static, LoadError> {
        let work = Work::new(&self.service, &self.stores, seed)?;
        Ok(move |index| work.request(index))
    }

    fn start_at<S>(&self, starts: S, offer: &Offer) -> Result<HashRunning<S>, LoadError>
    where
        S: Starts + Clone + Send + 'static,
        S::Start: Send,
    {
        let request = self.requests(offer.seed)?;
        let session = Arc::new(Session::new(offer.shape.clone()));
        let tallies: Vec<Tally> = (0..self.cpus.len())
            .map(|_| Tally::new(Arc::clone(&session)))
            .collect();
        let arrived = Arrived::of(starts.clone());
        let of_workers = tallies.clone();
        let serve = move |start: &Start| {
            let tally = &of_workers[start.worker];
            tally.due(start.intended_ns, start.slip_ns());
            tally.sent(start.intended_ns);
            let done = request(start.index);
            let now_ns = tally.session().now_ns();
            match done {
                Ok(()) => tally.done(start.intended_ns, now_ns, None),
                // A server would answer with a status of 500.
                Err(_) => tally.failed(start.intended_ns, Failure::Status, now_ns),
            }
        };
        let began = session.began();
        let pool = Pool::start_waiting(&self.cpus, (began, self.waiting), starts, serve)?;
        Ok(HashRunning {
            session,
            tallies,
            pool,
            arrived,
            begun: 0,
            drain: offer.drain,
        })
    }
}

impl From<PoolError> for LoadError {
    fn from(error: PoolError) -> LoadError {
        match error {
            PoolError::NoCpu => LoadError::Mistake(error.to_string()),
            PoolError::Pin { cpu, source } => LoadError::system(
                format!("cannot pin a thread to CPU {cpu}"),
                source,
                "choose a CPU from Cpus_allowed_list in /proc/self/status",
            ),
            PoolError::Spawn { cpu, source } => LoadError::system(
                format!("cannot start a thread for CPU {cpu}"),
                source,
                "raise `ulimit -u` or pids.max of the cgroup",
            ),
            PoolError::Affinity(source) => LoadError::system(
                "cannot read this process' CPU affinity",
                source,
                "give the CPUs explicitly",
            ),
        }
    }
}
