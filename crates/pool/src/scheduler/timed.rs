//! Jobs that wait for their start time, and runs that wait for their first worker.

use super::item::Item;
use super::sync::{AtomicU64, Mutex, Ordering, lock};
use std::collections::{BTreeMap, VecDeque};

/// No entry.
const NEVER: u64 = u64::MAX;

/// The latest time of an entry.
const LATEST: u64 = NEVER - 1;

/// What is due at each time of the scheduler's clock, in the order of entry. A level of
/// thousands of jobs with one start is one entry of the tree.
type Entries = BTreeMap<u64, VecDeque<Item>>;

/// A queue by time that all workers share. Only timed jobs take its lock.
#[derive(Debug)]
pub(crate) struct TimedQueue {
    entries: Mutex<Entries>,
    /// The time of the first entry, so that a look takes no lock.
    first_ns: AtomicU64,
}

impl TimedQueue {
    pub(crate) fn new() -> TimedQueue {
        TimedQueue {
            entries: Mutex::new(Entries::new()),
            first_ns: AtomicU64::new(NEVER),
        }
    }

    /// The time of the first entry, in nanoseconds of the scheduler's clock.
    pub(crate) fn first_ns(&self) -> Option<u64> {
        let first_ns = self.first_ns.load(Ordering::Acquire);
        (first_ns != NEVER).then_some(first_ns)
    }

    /// Adds all of `items`. The caller publishes the earliest of their times.
    pub(crate) fn add(&self, items: impl Iterator<Item = (u64, Item)>) {
        let mut entries = lock(&self.entries);
        for (at_ns, item) in items {
            let same = entries.entry(at_ns.min(LATEST)).or_default();
            same.push_back(item);
        }
        self.note_first(&entries);
    }

    /// Moves up to `most` items that are due at `now_ns` to the end of `taken`, in the
    /// order of their times.
    pub(crate) fn take_due(&self, now_ns: u64, most: usize, taken: &mut Vec<Item>) {
        let mut entries = lock(&self.entries);
        let mut left = most;
        while left > 0
            && let Some(mut first) = entries.first_entry()
            && *first.key() <= now_ns
        {
            let items = first.get_mut();
            let part = left.min(items.len());
            taken.extend(items.drain(..part));
            left -= part;
            if items.is_empty() {
                first.remove();
            }
        }
        self.note_first(&entries);
    }

    /// Makes all items of a run due. The caller publishes that.
    pub(crate) fn make_due(&self, run: u32) {
        let mut entries = lock(&self.entries);
        let mut due = VecDeque::new();
        entries.retain(|_, items| {
            due.extend(items.iter().filter(|item| item.run == run));
            items.retain(|item| item.run != run);
            !items.is_empty()
        });
        if !due.is_empty() {
            entries.entry(0).or_default().append(&mut due);
        }
        self.note_first(&entries);
    }

    fn note_first(&self, entries: &Entries) {
        let first_ns = entries.keys().next().copied().unwrap_or(NEVER);
        self.first_ns.store(first_ns, Ordering::Release);
    }
}

#[cfg(all(test, not(model_check)))]
mod tests {
    use super::super::item::Task;
    use super::*;

    fn job(run: u32, job: u32) -> Item {
        Item {
            run,
            task: Task::Job(job),
        }
    }

    fn take(queue: &TimedQueue, now_ns: u64, most: usize) -> Vec<Item> {
        let mut taken = Vec::new();
        queue.take_due(now_ns, most, &mut taken);
        taken
    }

    #[test]
    fn entries_come_in_the_order_of_their_times() {
        let queue = TimedQueue::new();
        assert_eq!(queue.first_ns(), None);
        let times = [30, 10, 20, 10];
        queue.add(times.into_iter().zip((0..).map(|n| job(1, n))));
        assert_eq!(queue.first_ns(), Some(10));
        assert_eq!(take(&queue, 9, 8), []);
        assert_eq!(take(&queue, 20, 2), [job(1, 1), job(1, 3)]);
        assert_eq!(take(&queue, 20, 2), [job(1, 2)]);
        assert_eq!(queue.first_ns(), Some(30));
    }

    #[test]
    fn a_cancelled_run_is_due_and_others_are_not() {
        let queue = TimedQueue::new();
        queue.add([(50, job(1, 0)), (60, job(2, 1)), (u64::MAX, job(2, 2))].into_iter());
        queue.make_due(2);
        assert_eq!(take(&queue, 0, 8), [job(2, 1), job(2, 2)]);
        assert_eq!(take(&queue, 49, 8), []);
    }
}
