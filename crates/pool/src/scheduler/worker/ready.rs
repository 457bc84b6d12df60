//! Jobs that have become ready: one goes on at once, the others to the queues.

use super::super::dependencies::Fate;
use super::super::item::Task;
use super::super::run::Run;
use super::{Next, Worker};

/// How many jobs a worker looks through for roots before others may help.
const ROOTS_AT_ONCE: u32 = 1024;

impl Worker {
    /// The first job from `first` on that has no predecessors and may start now. The rest
    /// goes to the queue, in two halves.
    pub(super) fn next_root(&mut self, run: &Run, first: u32, mut end: u32) -> Option<Next> {
        let mut published = false;
        while end - first > ROOTS_AT_ONCE {
            let middle = first + (end - first) / 2;
            self.push_roots(run, middle, end);
            published = true;
            end = middle;
        }
        let mut found = None;
        for job in first..end {
            if run.jobs.predecessors(job) > 0 {
                continue;
            }
            match run.jobs.release(job).start_ns {
                0 => {
                    let middle = job + 1 + (end - job - 1) / 2;
                    self.push_roots(run, middle, end);
                    self.push_roots(run, job + 1, middle);
                    published |= job + 1 < end;
                    found = Some(Next::at_once(job, Fate::Runs));
                    break;
                }
                start_ns => {
                    let item = run.item(Task::Job(job));
                    self.timed.push((run.at_ns(start_ns), item));
                }
            }
        }
        if published {
            self.shared.sleep.published(1);
        }
        self.queue_timed(run);
        found
    }

    fn push_roots(&self, run: &Run, first: u32, end: u32) {
        if first < end {
            self.deque.push(run.item(Task::Roots { first, end }));
        }
    }

    /// Moves what is in `timed` to the timed queue.
    fn queue_timed(&mut self, run: &Run) {
        let first_ns = self.timed.iter().map(|(at_ns, _)| *at_ns).min();
        if let Some(first_ns) = first_ns {
            self.shared.timed.add(self.timed.drain(..));
            self.shared.sleep.published_timer(first_ns);
            if run.is_cancelled() {
                // The cancellation may have been too early to find them.
                self.shared.cancel(run);
            }
        }
    }

    /// Whether a timed job is due that has an earlier start than this one, or this one has none.
    pub(super) fn goes_after_timed(&self, next: &Next) -> bool {
        let Some(first_ns) = self.shared.timed.first_ns() else {
            return false;
        };
        next.start_ns.is_none_or(|start_ns| first_ns < start_ns)
            && first_ns <= self.shared.clock.now_ns()
    }

    pub(super) fn defer(&mut self, run: &Run, next: Next) {
        let item = run.item(next.task());
        if let Some(start_ns) = next.start_ns {
            self.timed.push((start_ns, item));
            self.queue_timed(run);
        } else {
            self.deque.push(item);
            self.shared.sleep.published(1);
        }
    }

    /// Tells the successors of `job` that it has ended. Returns one that may run now; others
    /// go to the queues.
    pub(super) fn release_successors(&mut self, run: &Run, job: u32, fate: Fate) -> Option<Next> {
        let mut next = None;
        let mut pushed = false;
        let mut now_ns = None;
        for &successor in run.jobs.successors(job) {
            let predecessors = run.jobs.predecessors(successor);
            let Some(fate) = run.dependencies.arrive(successor, predecessors, fate) else {
                continue;
            };
            let mut ready = Next::at_once(successor, fate);
            if fate == Fate::Runs && !run.is_cancelled() {
                let start_ns = run.jobs.release(successor).start_ns;
                ready.start_ns = (start_ns > 0).then(|| run.at_ns(start_ns));
            }
            let is_due = ready.start_ns.is_none_or(|start_ns| {
                start_ns <= *now_ns.get_or_insert_with(|| self.shared.clock.now_ns())
            });
            let item = run.item(ready.task());
            if next.is_none() && is_due {
                next = Some(ready);
            } else if let Some(start_ns) = ready.start_ns {
                self.timed.push((start_ns, item));
            } else {
                self.deque.push(item);
                pushed = true;
            }
        }
        if pushed {
            self.shared.sleep.published(1);
        }
        self.queue_timed(run);
        next
    }
}
