//! Where a worker's time goes.

use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// What a worker does. It is always one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Between jobs: queues, dependencies, bookkeeping.
    Dispatch = 0,
    /// In a job.
    Work = 1,
    /// Looking for jobs of others and for timed ones.
    Steal = 2,
    /// Waiting between searches, awake.
    Spin = 3,
    /// Falling asleep, asleep, waking up.
    Parked = 4,
}

/// Where the time of one worker went since it was started.
///
/// The parts are measured at transitions from one to the next, the whole by the start of
/// the worker and the moment of reading. Time in which the operating system runs another
/// thread on the CPU is in the part in which it falls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerTime {
    /// From the start of the worker's thread.
    pub wall: Duration,
    /// In the jobs.
    pub work: Duration,
    /// Between jobs: queues, dependencies, bookkeeping.
    pub dispatch: Duration,
    /// Looking for jobs of others and for timed ones.
    pub steal: Duration,
    /// Waiting between searches, awake.
    pub spin: Duration,
    /// Falling asleep, asleep, waking up.
    pub parked: Duration,
}

impl WorkerTime {
    /// What of [`WorkerTime::wall`] is in no part: the start of the thread, and what
    /// changed while it was read.
    pub fn unexplained(&self) -> Duration {
        let parts = [self.work, self.dispatch, self.steal, self.spin, self.parked];
        self.wall.abs_diff(parts.iter().sum())
    }
}

/// The account of one worker, which alone writes it.
#[derive(Debug, Default)]
pub(crate) struct Account(CachePadded<Cells>);

#[derive(Debug, Default)]
struct Cells {
    /// Nanoseconds of the scheduler's clock.
    started_ns: AtomicU64,
    since_ns: AtomicU64,
    activity: AtomicUsize,
    parts_ns: [AtomicU64; 5],
}

impl Account {
    /// The worker's thread runs, and is not yet at work.
    pub(crate) fn begin(&self, started_ns: u64) {
        self.0.started_ns.store(started_ns, Ordering::Relaxed);
    }

    /// From `now_ns` on, the worker does `activity`.
    pub(crate) fn enter(&self, activity: Activity, now_ns: u64) {
        let cells = &self.0;
        let since_ns = cells.since_ns.load(Ordering::Relaxed);
        cells.since_ns.store(now_ns, Ordering::Release);
        let before = cells.activity.load(Ordering::Relaxed);
        if since_ns > 0 {
            let part = &cells.parts_ns[before];
            let sum = part.load(Ordering::Relaxed) + now_ns.saturating_sub(since_ns);
            part.store(sum, Ordering::Relaxed);
        }
        cells.activity.store(activity as usize, Ordering::Relaxed);
    }

    /// The account up to `now_ns`. What the worker does during the call may count
    /// wrongly, by the length of the call.
    pub(crate) fn read(&self, now_ns: u64) -> WorkerTime {
        let cells = &self.0;
        let since_ns = cells.since_ns.load(Ordering::Acquire);
        let mut parts = cells.parts_ns.each_ref().map(|p| p.load(Ordering::Relaxed));
        if since_ns > 0 {
            let activity = cells.activity.load(Ordering::Relaxed);
            parts[activity] += now_ns.saturating_sub(since_ns);
        }
        let [dispatch, work, steal, spin, parked] = parts.map(Duration::from_nanos);
        let started_ns = cells.started_ns.load(Ordering::Relaxed);
        WorkerTime {
            wall: Duration::from_nanos(now_ns.saturating_sub(started_ns)),
            work,
            dispatch,
            steal,
            spin,
            parked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole() {
        let account = Account::default();
        account.begin(100);
        for (activity, at) in [
            (Activity::Dispatch, 110),
            (Activity::Work, 130),
            (Activity::Dispatch, 1_130),
            (Activity::Steal, 1_160),
            (Activity::Spin, 1_200),
            (Activity::Parked, 1_250),
        ] {
            account.enter(activity, at);
        }
        let time = account.read(2_000);
        let parts = [time.dispatch, time.work, time.steal, time.spin, time.parked];
        assert_eq!(parts.map(|p| p.as_nanos()), [50, 1_000, 40, 50, 750]);
        assert_eq!(time.wall.as_nanos(), 1_900);
        assert_eq!(time.unexplained().as_nanos(), 10, "before the first entry");
    }
}
