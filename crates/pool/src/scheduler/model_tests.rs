//! Every interleaving of the protocols, on the code that runs:
//!
//! ```sh
//! RUSTFLAGS='--cfg model_check' CARGO_TARGET_DIR=target/model \
//!     cargo test -p plimsoll-pool --release --lib model
//! ```
//!
//! A worker takes one item and ends, as if its job never returned. So what is left must be
//! taken by the other workers: a lost wake-up is a worker that sleeps for ever, which loom reports as
//! a deadlock. The queue has weaker orderings than crossbeam's deque, whose `is_empty` has a fence of its own.

use super::account::Activity;
use super::dependencies::{Dependencies, Fate};
use super::item::{Item, Task};
use super::sleep::{Search, Sleep};
use super::sync::HORIZON_NS;
use super::timed::TimedQueue;
use crate::wait::Clock;
use crate::waiting::Step;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread::JoinHandle;
use std::cell::Cell;
use std::time::Instant;

/// Far enough for two workers and a publisher to pass each other anywhere; without a bound
/// models of three threads take hours.
const PREEMPTIONS: usize = 3;

/// A queue with one owner, who alone pushes.
#[derive(Default)]
struct Queue {
    pushed: AtomicU64,
    taken: AtomicU64,
}

impl Queue {
    fn push(&self) {
        let pushed = self.pushed.load(Ordering::Relaxed);
        self.pushed.store(pushed + 1, Ordering::Release);
    }

    fn is_empty(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.pushed.load(Ordering::Acquire)
    }

    fn take(&self) -> Option<u64> {
        let mut taken = self.taken.load(Ordering::Relaxed);
        while taken < self.pushed.load(Ordering::Acquire) {
            let next = taken + 1;
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            match self.taken.compare_exchange(taken, next, order.0, order.1) {
                Ok(_) => return Some(taken),
                Err(now) => taken = now,
            }
        }
        None
    }
}

/// What the threads of a model share.
struct World {
    sleep: Sleep,
    queue: Queue,
    timed: TimedQueue,
}

impl World {
    fn new(workers: usize) -> Arc<World> {
        Arc::new(World {
            sleep: Sleep::new(workers, Clock::new(Instant::now())),
            queue: Queue::default(),
            timed: TimedQueue::new(),
        })
    }

    fn push(&self) {
        self.queue.push();
    }

    fn push_timer(&self, at_ns: u64) {
        let item = Item {
            run: 0,
            task: Task::Job(0),
        };
        self.timed.add(std::iter::once((at_ns, item)));
    }
}

/// A worker that takes one item and ends.
fn worker(world: &Arc<World>, index: usize) -> JoinHandle<bool> {
    waiting_worker(world, index, true)
}

/// The same that parks after each search in vain, or never.
fn waiting_worker(world: &Arc<World>, index: usize, parks: bool) -> JoinHandle<bool> {
    let world = Arc::clone(world);
    loom::thread::spawn(move || {
        let mut search = Searcher {
            world: &world,
            parks,
            now_ns: 0,
            waits_until_ns: Cell::new(0),
        };
        world.sleep.find_work(index, &mut search).is_some()
    })
}

struct Searcher<'a> {
    world: &'a World,
    parks: bool,
    /// Time passes for a worker while it sleeps until a time.
    now_ns: u64,
    waits_until_ns: Cell<u64>,
}

impl Search for Searcher<'_> {
    type Found = ();

    fn search(&mut self) -> Option<()> {
        let until_ns = self.waits_until_ns.get();
        if until_ns <= HORIZON_NS {
            self.now_ns = self.now_ns.max(until_ns);
        }
        let mut due = Vec::new();
        if self
            .world
            .timed
            .first_ns()
            .is_some_and(|at| at <= self.now_ns)
        {
            self.world.timed.take_due(self.now_ns, 1, &mut due);
        }
        match due.is_empty() {
            true => self.world.queue.take().map(|_| ()),
            false => Some(()),
        }
    }

    fn is_visible(&self) -> bool {
        let first_ns = self.world.timed.first_ns();
        !self.world.queue.is_empty() || first_ns.is_some_and(|at| at <= self.now_ns)
    }

    fn next_timer_ns(&self) -> Option<u64> {
        let first_ns = self.world.timed.first_ns();
        self.waits_until_ns.set(first_ns.unwrap_or(0));
        first_ns
    }

    fn step(&mut self, _: u32) -> Step {
        match self.parks {
            true => Step::Park,
            false => Step::Yield,
        }
    }

    fn enter(&mut self, _: Activity) {}
}

fn check(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(model);
}

/// Joins workers, each of which must have found an item.
fn all_found(workers: impl IntoIterator<Item = JoinHandle<bool>>) {
    for worker in workers {
        assert!(worker.join().unwrap());
    }
}

#[test]
fn model_a_push_is_seen_or_wakes() {
    check(None, || {
        let world = World::new(1);
        let only = worker(&world, 0);
        world.push();
        world.sleep.published(1);
        all_found([only]);
    });
}

#[test]
fn model_a_burst_that_is_published_once_reaches_all() {
    check(Some(PREEMPTIONS), || {
        let world = World::new(2);
        let workers = [worker(&world, 0), worker(&world, 1)];
        world.push();
        world.push();
        world.sleep.published(1);
        all_found(workers);
    });
}

#[test]
fn model_two_are_woken_for_two() {
    check(Some(PREEMPTIONS), || {
        let world = World::new(2);
        let workers = [worker(&world, 0), worker(&world, 1)];
        world.push();
        world.push();
        world.sleep.published(2);
        all_found(workers);
    });
}

#[test]
fn model_pushes_that_are_published_apart_reach_all() {
    check(Some(PREEMPTIONS), || {
        let world = World::new(2);
        let workers = [worker(&world, 0), worker(&world, 1)];
        world.push();
        world.sleep.published(1);
        world.push();
        world.sleep.published(1);
        all_found(workers);
    });
}

#[test]
fn model_two_publishers_reach_all() {
    check(Some(2), || {
        let world = World::new(2);
        let workers = [worker(&world, 0), worker(&world, 1)];
        let other = Arc::clone(&world);
        let publisher = loom::thread::spawn(move || {
            other.push_timer(0);
            other.sleep.published_timer(0);
        });
        world.push();
        world.sleep.published(1);
        all_found(workers);
        publisher.join().unwrap();
    });
}

#[test]
fn model_one_that_never_parks_sees_a_push() {
    check(None, || {
        let world = World::new(1);
        let only = waiting_worker(&world, 0, false);
        world.push();
        world.sleep.published(1);
        all_found([only]);
    });
}

#[test]
fn model_one_that_never_parks_wakes_another_for_the_rest() {
    check(Some(2), || {
        let world = World::new(2);
        let workers = [waiting_worker(&world, 0, false), worker(&world, 1)];
        world.push();
        world.push();
        world.sleep.published(1);
        all_found(workers);
    });
}

#[test]
fn model_stop_ends_one_that_never_parks() {
    check(None, || {
        let world = World::new(1);
        let only = waiting_worker(&world, 0, false);
        world.sleep.stop();
        assert!(!only.join().unwrap());
    });
}

#[test]
fn model_stop_ends_all() {
    check(Some(PREEMPTIONS), || {
        let world = World::new(2);
        let workers = [worker(&world, 0), worker(&world, 1)];
        world.sleep.stop();
        for stopped in workers {
            assert!(!stopped.join().unwrap());
        }
    });
}

#[test]
fn model_a_timer_is_kept() {
    check(None, || {
        let world = World::new(1);
        let only = worker(&world, 0);
        world.push_timer(10);
        world.sleep.published_timer(10);
        all_found([only]);
    });
}

#[test]
fn model_an_earlier_timer_ends_a_longer_sleep() {
    check(None, || {
        let world = World::new(1);
        let only = worker(&world, 0);
        world.push_timer(HORIZON_NS + 1);
        world.sleep.published_timer(HORIZON_NS + 1);
        world.push_timer(10);
        world.sleep.published_timer(10);
        all_found([only]);
    });
}

#[test]
fn model_two_timers_reach_two_workers() {
    check(Some(2), || {
        let world = World::new(2);
        let workers = [worker(&world, 0), worker(&world, 1)];
        world.push_timer(20);
        world.sleep.published_timer(20);
        world.push_timer(10);
        world.sleep.published_timer(10);
        all_found(workers);
    });
}

#[test]
fn model_timekeeping_is_handed_over() {
    check(Some(PREEMPTIONS), || {
        let world = World::new(2);
        world.push_timer(10);
        let workers = [worker(&world, 0), worker(&world, 1)];
        world.push();
        world.sleep.published(1);
        all_found(workers);
    });
}

#[test]
fn model_one_arrival_returns_the_job_and_sees_all() {
    check(None, || {
        let dependencies = Arc::new(Dependencies::new(1));
        let cells = Arc::new([(); 3].map(UnsafeCell::new));
        let arrive = |own: usize, fate: Fate| {
            let (dependencies, cells) = (Arc::clone(&dependencies), Arc::clone(&cells));
            move || {
                cells[own].with_mut(|_| ());
                let ready = dependencies.arrive(0, 3, fate)?;
                // loom fails if one of the writes is not ordered before these reads.
                cells.iter().for_each(|cell| cell.with(|_| ()));
                Some(ready)
            }
        };
        let first = loom::thread::spawn(arrive(0, Fate::Runs));
        let second = loom::thread::spawn(arrive(1, Fate::Skipped));
        let third = arrive(2, Fate::Runs)();
        let all = [first.join().unwrap(), second.join().unwrap(), third];
        let returned: Vec<Fate> = all.into_iter().flatten().collect();
        assert_eq!(returned, [Fate::Skipped]);
    });
}
