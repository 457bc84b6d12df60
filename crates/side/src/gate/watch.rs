//! Notices at once that a followed task runs on a CPU that is not held, where the kernel tells.

use plimsoll_host::{MoveEvents, Root, Tid};
use plimsoll_model::CpuSet;
use rustix::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// The most looks in a sampling period, so that tasks that move all the time cost little. The first
/// move after a rest is answered at once.
const LOOKS_PER_PERIOD: u32 = 5;

#[derive(Debug)]
pub(super) struct Watch {
    /// `None` where the kernel does not permit it.
    events: Option<MoveEvents>,
    looked: Instant,
    spacing: Duration,
}

/// What was noticed.
#[derive(Debug, Default)]
pub(super) struct Noticed {
    /// Since the first move to a CPU that is not held; `None` without one.
    pub(super) moved: Option<Duration>,
    pub(super) new_threads: bool,
}

impl Watch {
    pub(super) fn start(root: &Root, now: Instant, period: Duration) -> Watch {
        Watch {
            events: MoveEvents::open(root).ok(),
            looked: now,
            spacing: period / LOOKS_PER_PERIOD,
        }
    }

    pub(super) fn follow(&mut self, tids: impl Iterator<Item = Tid>) {
        if let Some(events) = &mut self.events {
            events.follow(tids);
        }
    }

    /// When to look at the latest because tasks moved a moment ago, or else what becomes
    /// readable when they move.
    pub(super) fn ready(&self, now: Instant) -> (Option<Instant>, Option<BorrowedFd<'_>>) {
        let rested = self.looked + self.spacing;
        match &self.events {
            Some(_) if now < rested => (Some(rested), None),
            Some(events) => (None, Some(events.as_fd())),
            None => (None, None),
        }
    }

    pub(super) fn look(&mut self, held: &CpuSet, now: Instant) -> Noticed {
        let Some(events) = &mut self.events else {
            return Noticed::default();
        };
        self.looked = now;
        let moved = events.take();
        let cold = moved.moves.iter().filter(|one| !held.contains(one.cpu));
        Noticed {
            moved: cold.map(|one| one.ago).max(),
            new_threads: moved.new_threads,
        }
    }
}
