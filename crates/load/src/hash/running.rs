//! A running hash service.

use crate::tally::{self, Session, Tally};
use crate::{LoadError, Running, Threads, Tick};
use plimsoll_model::Work;
use plimsoll_pool::{Pool, Starts};
use std::sync::Arc;
use std::time::Duration;

/// Polling interval for the end of the window's last request: short compared
/// with a drain, long compared with the cost of a poll.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

pub(super) struct HashRunning<S: Starts> {
    pub(super) session: Arc<Session>,
    pub(super) tallies: Vec<Tally>,
    pub(super) pool: Pool<S>,
    pub(super) arrived: Arrived<S>,
    pub(super) begun: u64,
    pub(super) drain: Duration,
}

/// A clone of the source that follows the clock instead of the workers; its lead over them is the
/// queue length.
pub(super) struct Arrived<S: Starts> {
    source: S,
    next: Option<S::Start>,
    count: u64,
}

impl<S: Starts> Arrived<S> {
    pub(super) fn of(mut source: S) -> Arrived<S> {
        Arrived {
            next: source.following(),
            source,
            count: 0,
        }
    }

    fn count_until(&mut self, now_ns: u64) -> u64 {
        while self
            .next
            .is_some_and(|next| self.source.at_ns(next) <= now_ns)
        {
            self.next = self.source.following();
            self.count += 1;
        }
        self.count
    }
}

impl<S: Starts + Send + 'static> HashRunning<S>
where
    S::Start: Send,
{
    /// Whether a request of the window has not arrived or not ended yet.
    fn is_window_open(&self) -> bool {
        let closes = self.session.closes_ns();
        let is_announced = closes < u64::MAX;
        is_announced && self.pool.oldest_open_ns().is_some_and(|s| s < closes)
    }
}

impl<S: Starts + Send + 'static> Running for HashRunning<S>
where
    S::Start: Send,
{
    fn threads(&self) -> Threads {
        Threads {
            generator: Vec::new(),
            service: self.pool.thread_ids().to_vec(),
        }
    }

    fn tick(&mut self) -> Tick {
        let arrivals = self.arrived.count_until(self.session.now_ns());
        let mut tick = tally::tick(&self.tallies);
        self.begun += tick.sent;
        // A request may have arrived and started since arrivals were counted.
        tick.in_flight += arrivals.saturating_sub(self.begun);
        tick
    }

    fn session(&self) -> &Session {
        &self.session
    }

    /// Requests that are being hashed at the end of the drain complete.
    fn finish(self: Box<Self>) -> Result<Work, LoadError> {
        self.session.stop_after(self.drain);
        let ends = self.session.ends_ns();
        while self.is_window_open() && self.session.now_ns() < ends {
            std::thread::sleep(POLL_INTERVAL);
        }
        let ended = self.session.now_ns();
        let closes = self.session.closes_ns();
        // A trial that is cut short does not count requests that were not yet
        // due.
        let is_due = |start: &u64| *start < closes && *start <= ended;
        if let (rest, Some(tally)) = (self.pool.stop(), self.tallies.first())
            && closes < u64::MAX
        {
            let now = self.session.now_ns();
            for start in rest.take_while(is_due) {
                tally.due(start, 0);
                tally.unsent(start, now);
            }
        }
        Ok(tally::total(&self.tallies))
    }
}
