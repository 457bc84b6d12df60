//! What the workers of a scheduler share with each other and with its callers.

use super::account::{Account, Accounting, Stretch, WorkerTime};
use super::item::{Item, Task};
use super::run::Run;
use super::sleep::Sleep;
use super::timed::TimedQueue;
use crate::wait::Clock;
use crossbeam_deque::Stealer;
use crossbeam_utils::CachePadded;
use plimsoll_graph::Jobs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// No job: no run has this number.
const IDLE: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) sleep: Sleep,
    pub(crate) timed: TimedQueue,
    pub(crate) stealers: Vec<Stealer<Item>>,
    /// One a worker, if there is accounting.
    pub(crate) accounts: Option<Vec<Account>>,
    /// Run and job that each worker is at.
    running: Vec<CachePadded<AtomicU64>>,
    runs: Mutex<Runs>,
}

#[derive(Debug, Default)]
struct Runs {
    /// Those that have not ended.
    open: Vec<Arc<Run>>,
    next_id: u32,
}

impl Shared {
    pub(crate) fn new(
        clock: Clock,
        stealers: Vec<Stealer<Item>>,
        accounting: Accounting,
    ) -> Shared {
        let workers = stealers.len();
        let keeps_stretches = accounting == Accounting::Stretches;
        let idle = |_| CachePadded::new(AtomicU64::new(IDLE));
        Shared {
            clock,
            sleep: Sleep::new(workers, clock),
            timed: TimedQueue::new(),
            stealers,
            accounts: (accounting != Accounting::Off).then(|| {
                (0..workers)
                    .map(|_| Account::new(keeps_stretches))
                    .collect()
            }),
            running: (0..workers).map(idle).collect(),
            runs: Mutex::new(Runs::default()),
        }
    }

    pub(crate) fn workers(&self) -> usize {
        self.stealers.len()
    }

    /// Opens a run, and has the workers begin it.
    pub(crate) fn submit(&self, jobs: Arc<dyn Jobs>) -> Arc<Run> {
        let count = jobs.count();
        let epoch_ns = self.clock.now_ns();
        let run = {
            let mut runs = self.runs();
            let id = runs.next_id;
            // Fewer than 2^32 - 1, so that none is IDLE; a number is used again after
            // 2^32 runs.
            runs.next_id = (id + 1) % u32::MAX;
            let run = Arc::new(Run::new(id, jobs, epoch_ns, self.workers()));
            if count > 0 {
                runs.open.push(Arc::clone(&run));
            }
            run
        };
        if count == 0 {
            run.close();
            return run;
        }
        let may_start =
            |&job: &u32| run.jobs.predecessors(job) == 0 && run.jobs.release(job).start_ns == 0;
        // Two parts for two workers if there is work for two at once.
        let parts = (0..count.min(2)).filter(may_start).count().max(1) as u32;
        let bounds = |part: u32| (u64::from(count) * u64::from(part) / u64::from(parts)) as u32;
        let roots = (0..parts).map(|part| {
            let (first, end) = (bounds(part), bounds(part + 1));
            (epoch_ns, run.item(Task::Roots { first, end }))
        });
        self.timed.add(roots);
        self.sleep.published(parts);
        run
    }

    /// Ends the jobs of a run that have not begun.
    pub(crate) fn cancel(&self, run: &Run) {
        run.cancel();
        self.timed.make_due(run.id);
        self.sleep.published(1);
    }

    /// The open run of this number.
    pub(crate) fn run(&self, id: u32) -> Option<Arc<Run>> {
        self.runs().open.iter().find(|run| run.id == id).cloned()
    }

    /// Ends a run, all of whose jobs have ended.
    pub(crate) fn close(&self, run: &Run) {
        self.runs().open.retain(|open| open.id != run.id);
        run.close();
    }

    /// Ends all runs, once no worker is left.
    pub(crate) fn close_all(&self) {
        let open = std::mem::take(&mut self.runs().open);
        open.iter().for_each(|run| run.close());
    }

    pub(crate) fn begin_account(&self, worker: usize) {
        if let Some(accounts) = &self.accounts {
            accounts[worker].begin(self.clock.now_ns());
        }
    }

    pub(crate) fn read_accounts(&self) -> Vec<WorkerTime> {
        let accounts = self.accounts.iter().flatten();
        accounts.map(|a| a.read(self.clock.now_ns())).collect()
    }

    /// When workers had nothing to do, from `began` on.
    pub(crate) fn stretches_since(&self, began: Instant) -> Vec<Stretch> {
        let zero_ns = self.clock.ns_at(began);
        let now_ns = self.clock.now_ns();
        let accounts = self.accounts.iter().flatten().enumerate();
        let all = accounts.flat_map(|(worker, account)| {
            let idled = account.idled(now_ns).into_iter();
            idled
                .filter(|idled| idled.end_ns > zero_ns)
                .map(move |idled| Stretch {
                    worker,
                    idling: idled.idling,
                    start_ns: idled.start_ns.saturating_sub(zero_ns),
                    end_ns: idled.end_ns - zero_ns,
                })
        });
        all.collect()
    }

    pub(crate) fn note_running(&self, worker: usize, run: u32, job: u32) {
        let both = u64::from(run) << 32 | u64::from(job);
        self.running[worker].store(both, Ordering::Relaxed);
    }

    pub(crate) fn note_idle(&self, worker: usize) {
        self.running[worker].store(IDLE, Ordering::Relaxed);
    }

    /// The jobs of a run that workers are at, and the workers.
    pub(crate) fn running(&self, run: u32) -> impl Iterator<Item = (usize, u32)> {
        let all = self.running.iter().map(|cell| cell.load(Ordering::Relaxed));
        let of_run = move |(worker, both): (usize, u64)| {
            ((both >> 32) as u32 == run).then_some((worker, both as u32))
        };
        all.enumerate().filter_map(of_run)
    }

    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
