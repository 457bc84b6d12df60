//! The lab in a browser of this machine: a page, and an event stream that changes it.
//!
//! The server listens on the loopback interface alone, and answers only below a random path, so
//! that neither another user nor a page of another site can use it.

mod message;
mod site;
mod view;

use super::front::{FrontEnd, Input};
use super::state::State;
use message::event;
use plimsoll_lab::http::Server;
use plimsoll_model::CpuSet;
use site::Site;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

/// Findings are text of this width.
const COLUMNS: u16 = 80;

/// A served lab.
pub(super) struct Web {
    url: String,
    site: Arc<Site>,
    asked: Receiver<message::Message>,
    /// Held, because it ends when it is dropped.
    _server: Server,
}

impl Web {
    /// Listens on a port of the loopback interface, or a free one for 0.
    ///
    /// # Errors
    /// The port is taken, or no thread can be started.
    pub(super) fn start(port: u16, cpus: &CpuSet) -> io::Result<Web> {
        let (send, asked) = channel();
        let token = token();
        let site = Arc::new(Site::new(&token, send));
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let server = Server::start(addr, cpus, Arc::clone(&site))?;
        Ok(Web {
            url: format!("http://{}/{token}/", server.addr()),
            site,
            asked,
            _server: server,
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

/// 128 bits from the system's random numbers: each state is seeded with them.
fn token() -> String {
    let word = |n: u64| RandomState::new().hash_one(n);
    format!("{:016x}{:016x}", word(0), word(1))
}

impl FrontEnd for Web {
    fn show(&mut self, state: &State) -> io::Result<()> {
        self.site
            .show(plimsoll_report::lab::regions(&view::of(state)));
        Ok(())
    }

    fn next(&mut self, state: &State, until: Instant) -> Input {
        let left = until.saturating_duration_since(Instant::now());
        match self.asked.recv_timeout(left) {
            Ok(message) => event(&message, state).map_or(Input::Nothing, Input::Event),
            Err(RecvTimeoutError::Timeout) => Input::Nothing,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(left);
                Input::Nothing
            }
        }
    }

    fn columns(&self) -> Option<u16> {
        Some(COLUMNS)
    }
}
