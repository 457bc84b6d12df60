//! Polling jobs that say when they have nothing to do, on a worker that sleeps then.
//!
//! A polling job looks at a queue, a ring or a device again and again, because nobody tells it of
//! work. It says [`Declared::idle`] when it found nothing, and [`Declared::active`] when it did.
//! Once all jobs of a worker are idle, the worker waits by its [`Waiting`] policy, whose time before
//! parking is the bound of idleness: [`Waiting::SpinThenPark`] has a fixed one, [`Waiting::Spin`]
//! never sleeps. The thread that makes work visible calls [`Notifier::notify`] afterwards.
//!
//! # Protocol
//!
//! The worker is *awake* or *asleep*, in one flag. The worker alone sets it (*announces*), when all
//! jobs have been idle for the bound: `set; fence; poll all jobs once more (second look); park` unless one
//! was active. Awake again, it clears the flag, resets the notification, takes all jobs for active and
//! polls. A notifier whose work is visible does `fence; read the flag`; if set, the thread that clears it
//! notifies the worker, which ends its parking, or lets the next one return at once.
//!
//! The race is work that becomes visible between the last poll and parking. Announcing and second look are on
//! opposite sides of a sequentially consistent fence, and so are work and reading of the flag: either the
//! second look finds the work, or the notifier sees the flag. If it was cleared by another notifier, that
//! one wakes the worker, which polls before it announces again. A notification that comes late, after the worker
//! has got up by itself, costs one parking that returns at once. The flag changes by read-modify-writes
//! only, so who clears it has seen who set it. loom checks this code (`model_tests.rs`),
//! and finds the lost wake-up of two broken variants: one that looks before it announces (as Toro
//! did with `Idle := True; hlt`), and one without the worker's fence.
//!
//! `active` always ends idleness: a job that is active now and then is never idle for the bound.

use crate::PoolError;
use crate::pinned::start_pinned;
use crate::scheduler::sync::{AtomicBool, Ordering, Parker, fence, take};
use crate::wait::Clock;
use crate::waiting::{Step, Waiter, Waiting};
use plimsoll_model::CpuId;
use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

#[cfg(all(test, model_check))]
mod model_tests;
#[cfg(all(test, not(model_check)))]
mod tests;

/// A job that polls.
pub trait PollingJob: Send {
    /// Looks for work once, does what it found, and says whether there was some. What it does not
    /// say stays as it was.
    fn poll(&mut self, declared: &mut Declared);
}

/// What a polling job says of itself. It is active at first, and after each sleep of its worker.
#[derive(Debug, Default)]
pub struct Declared {
    idle: bool,
}

impl Declared {
    /// There was nothing to do.
    pub fn idle(&mut self) {
        self.idle = true;
    }

    /// There was something to do.
    pub fn active(&mut self) {
        self.idle = false;
    }
}

/// Whether the worker sleeps: the protocol.
#[derive(Debug)]
struct PollSleep {
    asleep: AtomicBool,
    parker: Parker,
}

impl PollSleep {
    fn new(clock: Clock) -> PollSleep {
        PollSleep {
            asleep: AtomicBool::new(false),
            parker: Parker::new(clock),
        }
    }

    /// Sleeps until notified, unless the second look finds work.
    fn sleep(&self, second_look: impl FnOnce() -> bool) {
        if self.falls_asleep(second_look) {
            self.parker.park(None);
        }
        self.get_up();
    }

    fn falls_asleep(&self, second_look: impl FnOnce() -> bool) -> bool {
        self.announce();
        fence(Ordering::SeqCst);
        !second_look()
    }

    fn announce(&self) {
        self.asleep.swap(true, Ordering::AcqRel);
    }

    fn get_up(&self) {
        self.asleep.swap(false, Ordering::AcqRel);
        self.parker.reset();
    }

    fn notify(&self) {
        fence(Ordering::SeqCst);
        let is_asleep = self.asleep.load(Ordering::Relaxed);
        if is_asleep && self.clears_the_flag() {
            self.parker.notify();
            self.parker.wake();
        }
    }

    fn clears_the_flag(&self) -> bool {
        let (done, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        let cleared = self.asleep.compare_exchange(true, false, done, failed);
        cleared.is_ok()
    }
}

#[derive(Debug)]
struct Shared {
    sleep: PollSleep,
    stopped: AtomicBool,
}

/// Wakes the worker of some polling jobs. A clone wakes the same.
#[derive(Debug, Clone)]
pub struct Notifier(Arc<Shared>);

impl Notifier {
    /// There is work, which the caller has made visible to the jobs. A fence and a load while the
    /// worker is awake, a system call if it sleeps.
    pub fn notify(&self) {
        self.0.sleep.notify();
    }
}

/// A pinned worker that polls jobs in turn. Dropping it ends it after the current poll.
#[derive(Debug)]
pub struct Poller {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    thread_ids: Vec<u32>,
}

impl Poller {
    /// Starts a worker on a CPU.
    ///
    /// # Errors
    /// The worker cannot be started or pinned.
    pub fn start(
        cpu: CpuId,
        jobs: Vec<Box<dyn PollingJob>>,
        waiting: Waiting,
    ) -> Result<Poller, PoolError> {
        let clock = Clock::new(Instant::now());
        let shared = Arc::new(Shared {
            sleep: PollSleep::new(clock),
            stopped: AtomicBool::new(false),
        });
        let mut poller = Poller {
            shared: Arc::clone(&shared),
            threads: Vec::new(),
            thread_ids: Vec::new(),
        };
        let body = move || {
            let jobs = Jobs::new(jobs);
            jobs.work(&shared, clock, Waiter::new(waiting));
        };
        poller.thread_ids = start_pinned(&mut poller.threads, std::iter::once((cpu, body)))?;
        Ok(poller)
    }

    pub fn notifier(&self) -> Notifier {
        Notifier(Arc::clone(&self.shared))
    }

    /// The kernel's thread ID of the worker.
    pub fn thread_ids(&self) -> &[u32] {
        &self.thread_ids
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.sleep.notify();
        for thread in self.threads.drain(..) {
            // The panic hook has reported a panic; a drop cannot return it.
            let _ = thread.join();
        }
    }
}

/// Jobs with what they said last.
struct Jobs(Vec<(Box<dyn PollingJob>, Declared)>);

impl Jobs {
    fn new(jobs: Vec<Box<dyn PollingJob>>) -> Jobs {
        let active = |job| (job, Declared::default());
        Jobs(jobs.into_iter().map(active).collect())
    }

    /// Polls each once; whether one is active.
    fn poll(&mut self) -> bool {
        let mut any = false;
        for (job, declared) in &mut self.0 {
            job.poll(declared);
            any |= !declared.idle;
        }
        any
    }

    fn take_for_active(&mut self) {
        self.0
            .iter_mut()
            .for_each(|(_, declared)| declared.active());
    }

    fn work(mut self, shared: &Shared, clock: Clock, mut waiter: Waiter) {
        let is_stopped = || shared.stopped.load(Ordering::Acquire);
        let mut round = 0;
        while !is_stopped() {
            let now_ns = match waiter.needs_clock() {
                true => clock.now_ns(),
                false => 0,
            };
            if self.poll() {
                waiter.found(now_ns);
                round = 0;
                continue;
            }
            match waiter.step(round, now_ns) {
                Step::Park => {
                    shared.sleep.sleep(|| self.poll() || is_stopped());
                    self.take_for_active();
                    round = 0;
                }
                step => {
                    take(step);
                    round = round.saturating_add(1);
                }
            }
        }
    }
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Jobs").field(&self.0.len()).finish()
    }
}
