//! What one worker does: take an item, run jobs, release their successors.

mod ready;

use super::account::Activity;
use super::dependencies::Fate;
use super::item::{Item, Task};
use super::run::Run;
use super::shared::Shared;
use super::sleep::Search;
use crate::waiting::{Step, Waiter, Waiting};
use crossbeam_deque::{Steal, Worker as Deque};
use plimsoll_graph::Release;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// How many entries of the timed queue a worker takes at once, if its jobs are short.
const MOST_TIMED: usize = 32;

/// A worker that comes back to the timed queue within this time has short jobs. Longer ones are taken one
/// by one, so that they start in the order of their times.
const SHORT_NS: u64 = 20_000;

pub(crate) struct Worker {
    index: usize,
    shared: Arc<Shared>,
    deque: Deque<Item>,
    waiter: Waiter,
    /// The run that it worked for last.
    held: Option<Held>,
    /// Items of the timed queue on top of the deque, which go before that queue.
    taken: usize,
    /// How many of them it takes next, and when it took some last.
    takes: usize,
    took_ns: u64,
    /// Kept for its memory.
    scratch: Vec<Item>,
    timed: Vec<(u64, Item)>,
}

/// A run, and the jobs of it that have ended here and are not counted there yet.
struct Held {
    run: Arc<Run>,
    ended: u32,
}

/// A job that runs next, without a way through the queues.
#[derive(Clone, Copy)]
struct Next {
    job: u32,
    fate: Fate,
    /// Its start in nanoseconds of the scheduler's clock, if it has one.
    start_ns: Option<u64>,
}

impl Worker {
    pub(crate) fn new(
        index: usize,
        shared: Arc<Shared>,
        deque: Deque<Item>,
        waiting: Waiting,
    ) -> Worker {
        Worker {
            index,
            shared,
            deque,
            waiter: Waiter::new(waiting),
            held: None,
            taken: 0,
            takes: 1,
            took_ns: 0,
            scratch: Vec::new(),
            timed: Vec::new(),
        }
    }

    /// Works until the scheduler stops.
    pub(crate) fn work(mut self) {
        let shared = Arc::clone(&self.shared);
        self.enter(Activity::Dispatch);
        while !shared.sleep.is_stopped() {
            let item = self.take().or_else(|| {
                self.count_ended();
                shared.note_idle(self.index);
                let found = shared.sleep.find_work(self.index, &mut self);
                if self.waiter.waits() {
                    let now_ns = self.time_to_wait();
                    self.waiter.found(now_ns);
                }
                self.enter(Activity::Dispatch);
                found
            });
            if let Some(item) = item {
                self.process(item);
            }
        }
        self.count_ended();
    }

    /// The next of its own, or a timed one that is due.
    fn take(&mut self) -> Option<Item> {
        if self.taken > 0 {
            self.taken -= 1;
        } else if let Some(item) = self.take_due() {
            return Some(item);
        }
        self.deque.pop()
    }

    fn take_due(&mut self) -> Option<Item> {
        let first_ns = self.shared.timed.first_ns()?;
        let now_ns = self.shared.clock.now_ns();
        if first_ns > now_ns {
            return None;
        }
        self.takes = match now_ns - self.took_ns < SHORT_NS {
            true => (2 * self.takes).min(MOST_TIMED),
            false => 1,
        };
        self.took_ns = now_ns;
        let timed = &self.shared.timed;
        timed.take_due(now_ns, self.takes, &mut self.scratch);
        let mut rest = self.scratch.drain(..);
        let first = rest.next();
        self.taken = rest.len();
        rest.rev().for_each(|item| self.deque.push(item));
        if self.taken > 0 {
            self.shared.sleep.published(1);
        }
        first
    }

    fn process(&mut self, item: Item) {
        let Some(mut held) = self.hold(item.run) else {
            return;
        };
        let worked = catch_unwind(AssertUnwindSafe(|| self.follow(&mut held, item.task)));
        if let Err(cause) = worked {
            // Not from a job: the graph contradicts itself, and its jobs cannot all end.
            held.run.cancel();
            held.run.note_panic(None, cause.as_ref());
            self.shared.close(&held.run);
        }
        self.held = Some(held);
    }

    /// Works on a task, and on what it makes ready as long as that is one thing.
    fn follow(&mut self, held: &mut Held, task: Task) {
        let mut next = match task {
            Task::Roots { first, end } => self.next_root(&held.run, first, end),
            Task::Job(job) => Some(Next::at_once(job, Fate::Runs)),
            Task::Skip(job) => Some(Next::at_once(job, Fate::Skipped)),
        };
        while let Some(now) = next {
            if self.shared.sleep.is_stopped() {
                break;
            }
            if self.goes_after_timed(&now) {
                self.defer(&held.run, now);
                break;
            }
            let fate = self.execute(&held.run, now);
            held.ended += 1;
            next = self.release_successors(&held.run, now.job, fate);
        }
    }

    /// The run of this number, which has an item that nobody else has.
    fn hold(&mut self, id: u32) -> Option<Held> {
        if self.held.as_ref().is_some_and(|held| held.run.id != id) {
            self.count_ended();
            self.held = None;
        }
        self.held.take().or_else(|| {
            let run = self.shared.run(id)?;
            Some(Held { run, ended: 0 })
        })
    }

    /// Tells the run how many of its jobs have ended here.
    fn count_ended(&mut self) {
        if let Some(held) = &mut self.held
            && held.ended > 0
        {
            let ended = std::mem::take(&mut held.ended);
            if held.run.end(ended) {
                self.shared.close(&held.run);
                self.held = None;
            }
        }
    }

    /// Runs a job unless it is to be skipped, and tells what that means for its successors.
    fn execute(&mut self, run: &Run, next: Next) -> Fate {
        let tally = &run.tallies[self.index];
        if next.fate == Fate::Skipped {
            tally.skipped.add_one();
            return Fate::Skipped;
        }
        if run.is_cancelled() {
            return Fate::Runs;
        }
        self.shared.note_running(self.index, run.id, next.job);
        self.enter(Activity::Work);
        let ended = catch_unwind(AssertUnwindSafe(|| run.jobs.run(next.job, self.index)));
        self.enter(Activity::Dispatch);
        let fate = match ended {
            Ok(()) => {
                tally.ran.add_one();
                Fate::Runs
            }
            Err(cause) => {
                tally.panicked.add_one();
                run.note_panic(Some(next.job), cause.as_ref());
                Fate::Skipped
            }
        };
        if let Release {
            deadline_ns: Some(deadline_ns),
            ..
        } = run.jobs.release(next.job)
            && self.shared.clock.now_ns() > run.at_ns(deadline_ns)
        {
            tally.deadlines_missed.add_one();
        }
        fate
    }

    /// The time for the waiting policy; 0 for one that does not look at it.
    fn time_to_wait(&self) -> u64 {
        match self.waiter.needs_clock() {
            true => self.shared.clock.now_ns(),
            false => 0,
        }
    }

    fn steal(&mut self) -> Option<Item> {
        let workers = self.shared.workers();
        loop {
            let mut again = false;
            for distance in 1..workers {
                let victim = &self.shared.stealers[(self.index + distance) % workers];
                match victim.steal() {
                    Steal::Success(item) => return Some(item),
                    Steal::Retry => again = true,
                    Steal::Empty => {}
                }
            }
            if !again {
                return None;
            }
        }
    }
}

impl Next {
    fn at_once(job: u32, fate: Fate) -> Next {
        Next {
            job,
            fate,
            start_ns: None,
        }
    }

    fn task(&self) -> Task {
        match self.fate {
            Fate::Runs => Task::Job(self.job),
            Fate::Skipped => Task::Skip(self.job),
        }
    }
}

impl Search for Worker {
    type Found = Item;

    fn search(&mut self) -> Option<Item> {
        self.take_due().or_else(|| self.steal())
    }

    fn is_visible(&self) -> bool {
        let is_due = |first_ns| first_ns <= self.shared.clock.now_ns();
        self.shared.stealers.iter().any(|s| !s.is_empty())
            || self.shared.timed.first_ns().is_some_and(is_due)
    }

    fn next_timer_ns(&self) -> Option<u64> {
        self.shared.timed.first_ns()
    }

    fn step(&mut self, round: u32) -> Step {
        let now_ns = self.time_to_wait();
        self.waiter.step(round, now_ns)
    }

    fn enter(&mut self, activity: Activity) {
        if activity == Activity::Parked {
            // A run that has ended is not kept alive by sleeping workers.
            self.held = None;
        }
        if let Some(accounts) = &self.shared.accounts {
            accounts[self.index].enter(activity, self.shared.clock.now_ns());
        }
    }
}
