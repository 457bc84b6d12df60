//! A fixed number of slots, taken in the order of asking.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

/// As many threads as there are CPUs serve at a time; the others queue, first come, first served.
#[derive(Debug)]
pub(crate) struct Slots {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    waiting: VecDeque<(Thread, Arc<AtomicBool>)>,
}

/// A slot that is held; it goes to the next in the queue when it is dropped.
#[derive(Debug)]
pub(crate) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(crate) fn new(count: usize) -> Slots {
        Slots {
            state: Mutex::new(State {
                free: count.max(1),
                waiting: VecDeque::new(),
            }),
        }
    }

    /// Waits for a slot.
    pub(crate) fn take(&self) -> Slot<'_> {
        let granted = Arc::new(AtomicBool::new(false));
        {
            let mut state = self.lock();
            if state.free > 0 {
                state.free -= 1;
                return Slot(self);
            }
            state
                .waiting
                .push_back((thread::current(), Arc::clone(&granted)));
        }
        while !granted.load(Ordering::Acquire) {
            thread::park();
        }
        Slot(self)
    }

    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in a critical section panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        match state.waiting.pop_front() {
            None => state.free += 1,
            Some((next, granted)) => {
                granted.store(true, Ordering::Release);
                next.unpark();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn slots_are_taken_in_the_order_of_asking() {
        let slots = Slots::new(1);
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let first = slots.take();
            for nth in 0..5 {
                let (slots, order) = (&slots, &order);
                scope.spawn(move || {
                    let _slot = slots.take();
                    order.lock().unwrap().push(nth);
                });
                while slots.waiting() <= nth {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            drop(first);
        });
        assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3, 4]);
        assert_eq!(slots.lock().free, 1);
    }
}
