//! Where a worker's time goes.

use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What workers keep of how they spend their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accounting {
    Off,
    /// How much time went where, which reads the clock twice a job.
    Totals,
    /// Also when they had nothing to do: 24 bytes for each time.
    Stretches,
}

/// A time in which a worker had nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub worker: usize,
    pub idling: Idling,
    /// Nanoseconds since the instant that the reader gave.
    pub start_ns: u64,
    pub end_ns: u64,
}

/// How a worker has nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idling {
    /// It looked for jobs of others and for timed ones, and waited between searches.
    Searching,
    /// It fell asleep, slept and woke up.
    Parked,
}

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
pub(crate) struct Account {
    cells: CachePadded<Cells>,
    /// Ended times without a job, if they are kept.
    idled: Option<Mutex<Vec<Idled>>>,
}

/// Nanoseconds of the scheduler's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Idled {
    pub(crate) idling: Idling,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

#[derive(Debug, Default)]
struct Cells {
    /// Nanoseconds of the scheduler's clock.
    started_ns: AtomicU64,
    since_ns: AtomicU64,
    activity: AtomicUsize,
    parts_ns: [AtomicU64; 5],
}

impl Account {
    pub(crate) fn new(keeps_stretches: bool) -> Account {
        Account {
            cells: CachePadded::default(),
            idled: keeps_stretches.then(Mutex::default),
        }
    }

    /// The worker's thread runs, and is not yet at work.
    pub(crate) fn begin(&self, started_ns: u64) {
        self.cells.started_ns.store(started_ns, Ordering::Relaxed);
    }

    /// From `now_ns` on, the worker does `activity`.
    pub(crate) fn enter(&self, activity: Activity, now_ns: u64) {
        let cells = &self.cells;
        let since_ns = cells.since_ns.load(Ordering::Relaxed);
        cells.since_ns.store(now_ns, Ordering::Release);
        let before = cells.activity.load(Ordering::Relaxed);
        if since_ns > 0 {
            let part = &cells.parts_ns[before];
            let sum = part.load(Ordering::Relaxed) + now_ns.saturating_sub(since_ns);
            part.store(sum, Ordering::Relaxed);
            self.keep(before, since_ns, now_ns);
        }
        cells.activity.store(activity as usize, Ordering::Relaxed);
    }

    /// The account up to `now_ns`. What the worker does during the call may count
    /// wrongly, by the length of the call.
    pub(crate) fn read(&self, now_ns: u64) -> WorkerTime {
        let cells = &self.cells;
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

    /// The times without a job up to `now_ns`, the one that goes on included.
    pub(crate) fn idled(&self, now_ns: u64) -> Vec<Idled> {
        let Some(idled) = &self.idled else {
            return Vec::new();
        };
        let since_ns = self.cells.since_ns.load(Ordering::Acquire);
        let activity = self.cells.activity.load(Ordering::Relaxed);
        let mut all = locked(idled).clone();
        add(&mut all, activity, since_ns, now_ns);
        all
    }

    fn keep(&self, activity: usize, start_ns: u64, end_ns: u64) {
        if let Some(idled) = &self.idled {
            add(&mut locked(idled), activity, start_ns, end_ns);
        }
    }
}

/// Adds what a worker did to its times without a job; a search and the wait until the
/// next search are one.
fn add(all: &mut Vec<Idled>, activity: usize, start_ns: u64, end_ns: u64) {
    let idling = match activity {
        a if a == Activity::Steal as usize || a == Activity::Spin as usize => Idling::Searching,
        a if a == Activity::Parked as usize => Idling::Parked,
        _ => return,
    };
    match all.last_mut() {
        Some(last) if last.idling == idling && last.end_ns == start_ns => last.end_ns = end_ns,
        _ => all.push(Idled {
            idling,
            start_ns,
            end_ns,
        }),
    }
}

fn locked(idled: &Mutex<Vec<Idled>>) -> MutexGuard<'_, Vec<Idled>> {
    idled.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn searches_and_sleeps_are_kept_if_wanted() {
        let enter_all = |account: &Account| {
            for (activity, at) in [
                (Activity::Dispatch, 110),
                (Activity::Steal, 150),
                (Activity::Spin, 160),
                (Activity::Steal, 170),
                (Activity::Parked, 200),
                (Activity::Dispatch, 300),
                (Activity::Work, 310),
                (Activity::Steal, 400),
            ] {
                account.enter(activity, at);
            }
        };
        let kept = Account::new(true);
        enter_all(&kept);
        let found = kept.idled(450);
        let found: Vec<_> = found
            .iter()
            .map(|i| (i.idling, i.start_ns, i.end_ns))
            .collect();
        let searching = Idling::Searching;
        assert_eq!(
            found,
            [
                (searching, 150, 200),
                (Idling::Parked, 200, 300),
                (searching, 400, 450)
            ]
        );
        let not_kept = Account::new(false);
        enter_all(&not_kept);
        assert_eq!(not_kept.idled(450), []);
    }
}
