//! Plimsoll's own hash service: a request hashes a block with SHA-1.
//!
//! It is work whose capacity is known beforehand (so many bytes per second and
//! core), that uses nothing but the CPU, and that needs no network: requests
//! come from a [`Schedule`] straight to the workers of a [`Pool`], one per
//! CPU, first come, first served. There is no generator thread: the worker
//! that is free claims the next request and waits for it. So the service and
//! its load share no CPU with anything else of Plimsoll, and with Poisson
//! arrivals it is the queue that the textbooks call M/G/k.
//!
//! - A request that comes while all workers are busy *queues*; the wait is part
//!   of its latency, and its slip is 0.
//! - A request whose worker was waiting for it and woke up late has *slipped*
//!   by that much; it is part of its latency too, and kept apart.
//! - Requests that nobody has begun count as in flight in [`Tick`]: the queue
//!   belongs to the service.
//!
//! Workers sleep while they wait. To spin would hide the wake-up (some 35 us)
//! but would cost CPU time at low load, and CPU time at low load is what a
//! sweep measures.

mod blocks;
pub mod burn;
mod calibrate;
mod running;

pub use calibrate::{DEVIATION_SHARE, calibrate};

use crate::arrivals::Schedule;
use crate::tally::{Session, Tally};
use crate::{Load, LoadError, Offer, Running};
use blocks::{Blocks, Data};
use plimsoll_model::{CpuSet, HashService};
use plimsoll_pool::{Pool, PoolError, Start, Waiting};
use running::HashRunning;
use std::sync::Arc;

#[cfg(doc)]
use crate::Tick;

/// The hash service on a set of CPUs.
#[derive(Debug)]
pub struct HashLoad {
    service: HashService,
    cpus: CpuSet,
    data: Data,
}

impl HashLoad {
    /// The service on `cpus`, with its data prepared. A [`LoadError::Mistake`]
    /// when `service` describes no blocks that can be hashed, or there is no
    /// CPU.
    pub fn new(service: &HashService, cpus: &CpuSet) -> Result<HashLoad, LoadError> {
        Blocks::new(service, 0)?;
        if cpus.is_empty() {
            return Err(PoolError::NoCpu.into());
        }
        Ok(HashLoad {
            service: service.clone(),
            cpus: cpus.clone(),
            data: Data::prepare(),
        })
    }

    /// The same service on other CPUs, of which there has to be one.
    #[must_use]
    pub fn on(&self, cpus: CpuSet) -> HashLoad {
        HashLoad {
            service: self.service.clone(),
            cpus,
            data: self.data.clone(),
        }
    }
}

impl Load for HashLoad {
    fn start(&mut self, offer: &Offer) -> Result<Box<dyn Running>, LoadError> {
        let blocks = Blocks::new(&self.service, offer.seed)?;
        let data = self.data.clone();
        let session = Arc::new(Session::of(offer));
        let tallies: Vec<Tally> = (0..self.cpus.len())
            .map(|_| Tally::new(Arc::clone(&session)))
            .collect();
        let schedule = Schedule::offered(offer, 0, 1);
        let arrived = schedule.clone();
        let of_workers = tallies.clone();
        let serve = move |start: &Start| {
            let tally = &of_workers[start.worker];
            tally.due(start.intended_ns, start.slip_ns());
            tally.sent(start.intended_ns);
            // What is not used is not computed.
            std::hint::black_box(data.digest(blocks.of_request(start.index)));
            tally.done(start.intended_ns, tally.session().now_ns());
        };
        let began = session.began();
        let pool = Pool::start(&self.cpus, Waiting::Sleep, began, schedule, serve)?;
        Ok(Box::new(HashRunning::new(
            session,
            tallies,
            pool,
            arrived,
            offer.drain,
        )))
    }
}

impl From<PoolError> for LoadError {
    fn from(error: PoolError) -> LoadError {
        let system = |what: String, source, way_out: &str| LoadError::System {
            what,
            source,
            way_out: way_out.to_owned(),
        };
        match error {
            PoolError::NoCpu => LoadError::Mistake(error.to_string()),
            PoolError::Pin { cpu, source } => system(
                format!("a thread could not be pinned to CPU {cpu}"),
                source,
                "choose from Cpus_allowed_list in /proc/self/status",
            ),
            PoolError::Spawn { cpu, source } => system(
                format!("no thread could be made for CPU {cpu}"),
                source,
                "see `ulimit -u` and pids.max of the cgroup",
            ),
            PoolError::Affinity(source) => system(
                "the kernel does not tell which CPUs this process may use".to_owned(),
                source,
                "name the CPUs",
            ),
        }
    }
}
