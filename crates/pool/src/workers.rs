use crate::PoolError;
use crate::pinned::start_pinned;
use crate::queue::{Claim, Queue};
use crate::starts::Starts;
use crate::wait::{Clock, Gate};
use crate::waiting::{Waiter, Waiting};
use plimsoll_model::CpuSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A job that starts now. Times are nanoseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// Worker index from 0, in the order of the CPUs.
    pub worker: usize,
    /// Position in the source, from 0.
    pub index: u64,
    pub intended_ns: u64,
    pub started_ns: u64,
    /// Whether the worker was free and waiting at the intended time. If not,
    /// all workers were busy, and the job has queued.
    pub waited: bool,
}

impl Start {
    /// Delay of the start in nanoseconds although a worker was waiting for it;
    /// 0 if the job was late because all workers were busy.
    pub fn slip_ns(&self) -> u64 {
        if self.waited {
            self.started_ns.saturating_sub(self.intended_ns)
        } else {
            0
        }
    }
}

#[derive(Debug)]
struct Shared<S: Starts> {
    gate: Gate,
    queue: Mutex<Queue<S>>,
}

impl<S: Starts> Shared<S> {
    fn queue(&self) -> MutexGuard<'_, Queue<S>> {
        // A source that panics leaves the queue as it was before the claim.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Workers that run jobs at their start times until the source ends or the pool
/// is stopped. Dropping it stops it and waits for running jobs.
#[derive(Debug)]
pub struct Pool<S: Starts> {
    shared: Arc<Shared<S>>,
    threads: Vec<JoinHandle<()>>,
    thread_ids: Vec<u32>,
}

impl<S: Starts + Send + 'static> Pool<S>
where
    S::Start: Send,
{
    /// Starts one worker per CPU. `source` yields the intended starts, with
    /// times since `began`; `job` is called once for each, on
    /// the worker's thread.
    ///
    /// # Errors
    /// If a worker cannot be started or pinned; no job has run then.
    pub fn start<J>(cpus: &CpuSet, began: Instant, source: S, job: J) -> Result<Pool<S>, PoolError>
    where
        J: Fn(&Start) + Send + Sync + 'static,
    {
        Pool::start_waiting(cpus, (began, Waiting::Park), source, job)
    }

    /// As [`Pool::start`], with workers that wait for a start as if they did not know its time.
    ///
    /// # Errors
    /// As there.
    pub fn start_waiting<J>(
        cpus: &CpuSet,
        (began, waiting): (Instant, Waiting),
        source: S,
        job: J,
    ) -> Result<Pool<S>, PoolError>
    where
        J: Fn(&Start) + Send + Sync + 'static,
    {
        if cpus.is_empty() {
            return Err(PoolError::NoCpu);
        }
        let look_again = source.notice().map(|notice| notice / 2);
        let mut pool = Pool {
            shared: Arc::new(Shared {
                gate: Gate::default(),
                queue: Mutex::new(Queue::new(source, cpus.len())),
            }),
            threads: Vec::with_capacity(cpus.len()),
            thread_ids: Vec::with_capacity(cpus.len()),
        };
        let job = Arc::new(job);
        let clock = Clock::new(began);
        let shared = Arc::clone(&pool.shared);
        let bodies = cpus.iter().enumerate().map(|(index, cpu)| {
            let mut worker = Worker {
                index,
                waiter: Waiter::new(waiting),
                look_again,
                clock,
                shared: Arc::clone(&shared),
            };
            let job = Arc::clone(&job);
            (cpu, move || worker.run(job.as_ref()))
        });
        pool.thread_ids = start_pinned(&mut pool.threads, bodies)?;
        pool.shared.gate.open();
        Ok(pool)
    }
}

impl<S: Starts> Pool<S> {
    /// The kernel's thread IDs of the workers, in the order of the CPUs.
    pub fn thread_ids(&self) -> &[u32] {
        &self.thread_ids
    }

    /// The oldest start whose job has not ended: running, waited for or still
    /// in the source. `None` once all jobs of the source have ended.
    pub fn oldest_open_ns(&self) -> Option<u64> {
        self.shared.queue().oldest_open_ns()
    }

    /// Stops the pool: waiting workers wake up at once, running jobs complete.
    /// Returns the starts that were never run, ascending. Panics if a job has
    /// panicked.
    pub fn stop(mut self) -> impl Iterator<Item = u64> + use<S> {
        for thread in self.end() {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
        self.shared.queue().take_unstarted()
    }

    fn end(&mut self) -> Vec<JoinHandle<()>> {
        self.shared.gate.stop();
        std::mem::take(&mut self.threads)
    }
}

impl<S: Starts> Drop for Pool<S> {
    fn drop(&mut self) {
        for thread in self.end() {
            // The panic hook has reported a panic; a drop cannot return it.
            let _ = thread.join();
        }
    }
}

struct Worker<S: Starts> {
    index: usize,
    clock: Clock,
    waiter: Waiter,
    /// After which time to look again at a time that may change.
    look_again: Option<Duration>,
    shared: Arc<Shared<S>>,
}

impl<S: Starts> Worker<S> {
    fn run(&mut self, job: &impl Fn(&Start)) {
        if self.shared.gate.wait_open() {
            while let Some(start) = self.next_start() {
                job(&start);
            }
        }
    }

    /// Finishes the previous claim, claims the next start and waits for it.
    /// `None` if the source has ended or the pool was stopped; a start that was
    /// waited for then stays open.
    fn next_start(&mut self) -> Option<Start> {
        let (claim, mut intended_ns) = {
            let mut queue = self.shared.queue();
            queue.finish(self.index);
            if self.shared.gate.is_stopped() {
                return None;
            }
            let claim = queue.claim(self.index)?;
            (claim, queue.at_ns(&claim))
        };
        let now = self.clock.now_ns();
        let waited = now < intended_ns;
        let started_ns = match self.look_again {
            None => self.wait_until(intended_ns)?,
            Some(after) => self.wait_for(&claim, &mut intended_ns, after)?,
        };
        Some(Start {
            worker: self.index,
            index: claim.index,
            intended_ns,
            started_ns,
            waited,
        })
    }

    /// Waits for a start whose time may change, and looks at the time again `after` so long.
    fn wait_for(
        &mut self,
        claim: &Claim<S::Start>,
        intended_ns: &mut u64,
        after: Duration,
    ) -> Option<u64> {
        let after_ns = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        let mut now = self.clock.now_ns();
        while now < *intended_ns {
            now = self.wait_until((*intended_ns).min(now.saturating_add(after_ns)))?;
            *intended_ns = self.shared.queue().at_ns(claim);
        }
        Some(now)
    }

    fn wait_until(&mut self, at_ns: u64) -> Option<u64> {
        let gate = &self.shared.gate;
        gate.wait_until(&self.clock, at_ns, &mut self.waiter)
    }
}
