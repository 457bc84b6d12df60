//! The load of a self-test: a new server for each trial, and the HTTP generator.

use super::KnownService;
use plimsoll_engine::order::derive;
use plimsoll_load::http::HttpLoad;
use plimsoll_load::known::{Behaviour, KnownServer};
use plimsoll_load::tally::Session;
use plimsoll_load::{Load, LoadError, Offer, Running, Threads, Tick};
use plimsoll_model::{CpuId, CpuSet, HttpService, Work};
use std::time::Duration;

/// More than the length of any queue within the limits.
const CONNECTIONS: u32 = 128;
/// Longer than any answer time.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The HTTP service at `url`.
pub(super) fn asked_at(url: String) -> HttpService {
    HttpService::get(url, CONNECTIONS, TIMEOUT)
}

/// Starts a server for each trial, so that no trial inherits a queue, and stops it
/// afterwards.
#[derive(Debug)]
pub(super) struct KnownLoad {
    pub(super) service: &'static KnownService,
    pub(super) serves_on: CpuId,
    pub(super) generator: CpuSet,
}

impl Load for KnownLoad {
    fn start(&mut self, offer: &Offer) -> Result<Box<dyn Running>, LoadError> {
        // A different seed than for the arrivals.
        let discipline = (self.service.discipline)(derive(offer.seed, 0));
        let behaviour = Behaviour::Queue(discipline);
        let server = KnownServer::start_pinned(behaviour, self.serves_on).map_err(|source| {
            LoadError::System {
                what: "a server of known behaviour cannot be started on 127.0.0.1".to_owned(),
                source,
                way_out: "see that this process may open sockets and threads".to_owned(),
            }
        })?;
        let url = format!("http://{}/", server.addr());
        let mut load = HttpLoad::new(&asked_at(url), self.generator.clone())?;
        let asked = load.start(offer)?;
        Ok(Box::new(Both { asked, server }))
    }
}

/// The generator and its server. The generator stops first.
struct Both {
    asked: Box<dyn Running>,
    server: KnownServer,
}

impl Running for Both {
    fn threads(&self) -> Threads {
        Threads {
            service: vec![self.server.thread_id()],
            ..self.asked.threads()
        }
    }

    fn tick(&mut self) -> Tick {
        self.asked.tick()
    }

    fn session(&self) -> &Session {
        self.asked.session()
    }

    fn finish(self: Box<Self>) -> Result<Work, LoadError> {
        self.asked.finish()
    }
}
