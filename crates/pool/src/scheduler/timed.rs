//! Jobs that wait for their start time, and runs that wait for their first worker.

use super::item::Item;
use super::sync::{AtomicU64, Mutex, Ordering, lock};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No entry.
const NEVER: u64 = u64::MAX;

/// The latest time of an entry.
const LATEST: u64 = NEVER - 1;

/// What is due at a time of the scheduler's clock; the order of entry breaks ties.
#[derive(Debug)]
struct Entry {
    at_ns: u64,
    sequence: u64,
    item: Item,
}

impl Entry {
    fn key(&self) -> Reverse<(u64, u64)> {
        Reverse((self.at_ns, self.sequence))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

#[derive(Debug, Default)]
struct Heap {
    entries: BinaryHeap<Entry>,
    sequence: u64,
}

/// A queue by time that all workers share. Only timed jobs take its lock.
#[derive(Debug)]
pub(crate) struct TimedQueue {
    heap: Mutex<Heap>,
    /// The time of the first entry, so that a look takes no lock.
    first_ns: AtomicU64,
}

impl TimedQueue {
    pub(crate) fn new() -> TimedQueue {
        TimedQueue {
            heap: Mutex::new(Heap::default()),
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
        let mut heap = lock(&self.heap);
        for (at_ns, item) in items {
            let sequence = heap.sequence;
            heap.sequence += 1;
            let at_ns = at_ns.min(LATEST);
            heap.entries.push(Entry {
                at_ns,
                sequence,
                item,
            });
        }
        self.note_first(&heap);
    }

    /// Moves up to `most` entries that are due at `now_ns` to the end of `taken`, in the
    /// order of their times.
    pub(crate) fn take_due(&self, now_ns: u64, most: usize, taken: &mut Vec<Item>) {
        let mut heap = lock(&self.heap);
        for _ in 0..most {
            match heap.entries.peek() {
                Some(entry) if entry.at_ns <= now_ns => {}
                _ => break,
            }
            taken.extend(heap.entries.pop().map(|entry| entry.item));
        }
        self.note_first(&heap);
    }

    /// Makes all entries of a run due. The caller publishes time 0.
    pub(crate) fn make_due(&self, run: u32) {
        let mut heap = lock(&self.heap);
        let entries = std::mem::take(&mut heap.entries).into_vec();
        let moved = entries.into_iter().map(|entry| Entry {
            at_ns: if entry.item.run == run {
                0
            } else {
                entry.at_ns
            },
            ..entry
        });
        heap.entries = moved.collect();
        self.note_first(&heap);
    }

    fn note_first(&self, heap: &Heap) {
        let first_ns = heap.entries.peek().map_or(NEVER, |entry| entry.at_ns);
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
