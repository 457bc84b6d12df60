//! How workers find out that there is work, and how they sleep when there is none.
//!
//! # States
//!
//! A worker is *busy*, *searching* or *sleeping*. One word counts the searching and the
//! sleeping ones. A list behind a mutex names the sleeping ones; one of them at most is the
//! *timekeeper*, which sleeps until the first entry of the timed queue.
//!
//! ```text
//!              finds work                 nothing found, announces
//!   busy  <----------------  searching  ----------------------------> sleeping
//!     |                       ^    ^                                     |
//!     +-----------------------+    +-------------------------------------+
//!        has nothing of its own      second search, notification or time
//! ```
//!
//! # Who may do what
//!
//! | step | who | how |
//! |---|---|---|
//! | busy to searching | the worker | count |
//! | searching to busy | the worker | count; the last one wakes another if there is more work |
//! | searching to sleeping (*announce*) | the worker | list and count, under the lock |
//! | sleeping to searching | the thread that takes the worker off the list: it itself (second search, time) or one who wakes it | list and count, under the lock |
//! | timekeeper | a sleeping worker makes itself that; off the list, it is it no more | under the lock |
//!
//! How long a worker searches before it announces is up to its [waiting policy](crate::Waiting), and
//! no part of the argument below: a worker that searches for ever takes what is published, and one that
//! never searches twice is woken for it.
//!
//! A woken worker is searching from the moment in which it is taken off the list, not from when the
//! operating system runs it. So nobody wakes a second one meanwhile.
//!
//! # Protocol
//!
//! To publish work: make it visible (push it; put it into the timed queue), then a fence, then read the
//! counts. Nobody sleeps, or somebody searches: done. Else take one worker off the list and wake it.
//! A burst of pushes is published once. A graph that begins with two jobs wakes two workers, unless as
//! many search: their wake-ups overlap then.
//!
//! To sleep: announce, then a fence, then look whether any work is visible (the *second search*). If so,
//! back to searching. Else become timekeeper if the first entry of the timed queue is earlier than
//! what the timekeeper sleeps for, and park. A notification before parking makes parking return at once.
//!
//! To leave the search with work, as the last searcher while others sleep: a fence, then look as in the
//! second search, and wake one if work is visible, or if the timed queue has an entry that no timekeeper
//! waits for. This is how a burst wakes one worker after the other.
//!
//! # Why no wake-up is lost
//!
//! Claim: work that is visible while a worker sleeps is seen by a searching worker, or one is woken for it.
//!
//! Take a publisher P: `visible; fence; read counts`, and a worker S that stops searching:
//! `change counts; fence; look`. Both change and look on opposite sides of sequentially consistent
//! fences, so at least one sees the other's change.
//!
//! 1. P reads a count from before S stopped searching, and so wakes nobody. Then S's look sees P's
//!    work. If S was going to sleep, it searches again. If S left with other work as the last searcher, it
//!    wakes another. If it was not the last, then the last one that stops after P's read is the S of this argument.
//! 2. P reads a count from after S announced. If nobody searches, P wakes one (S or another). If
//!    another searches, case 1 holds for that one.
//! 3. Between P's read and P's lock, somebody else wakes a worker. P reads the count again under the lock,
//!    and case 1 holds for the woken worker. If the list is empty by then, no worker sleeps.
//! 4. A worker parks after it was notified: the notification stays until the worker resets it,
//!    under the lock, after it has seen that it is off the list.
//!
//! Time is work that becomes visible by itself. Claim: while a worker sleeps and nobody searches, the timekeeper's time is
//! not later than the first entry. An earlier entry is published like work (cases 1 to 3), where "wakes one" means the
//! timekeeper. A timekeeper that leaves with work has been a searcher, and hands over as above.
//!
//! Both claims, and that the steps are as written, are checked by loom on this code: `model_tests.rs`.

use super::account::Activity;
use super::sync::{AtomicBool, AtomicU64, Mutex, Ordering, Parker, fence, lock, take};
use crate::wait::Clock;
use crate::waiting::Step;
use crossbeam_utils::CachePadded;

/// Where a worker looks for work. Its own queue is empty then.
pub(crate) trait Search {
    type Found;

    /// Takes work of any kind.
    fn search(&mut self) -> Option<Self::Found>;

    /// Whether there is work that [`Search::search`] could take.
    fn is_visible(&self) -> bool;

    /// The time of the first entry of the timed queue.
    fn next_timer_ns(&self) -> Option<u64>;

    /// What the worker does after a search in vain, the `round`th from 0 since it had work or was
    /// woken.
    fn step(&mut self, round: u32) -> Step;

    /// What the worker does from now on.
    fn enter(&mut self, activity: Activity);
}

/// The counts in one word, so that they change together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    searching: u32,
    sleeping: u32,
}

const SEARCHING: u64 = 1;
const SLEEPING: u64 = 1 << 32;

impl From<u64> for Counts {
    fn from(word: u64) -> Counts {
        Counts {
            searching: word as u32,
            sleeping: (word >> 32) as u32,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Timekeeper {
    worker: usize,
    until_ns: u64,
}

#[derive(Debug, Default)]
struct Sleepers {
    /// The worker that fell asleep last is woken first: its caches are the warmest.
    stack: Vec<usize>,
    timekeeper: Option<Timekeeper>,
}

impl Sleepers {
    /// Takes `worker` off the list; `false` if it is not on it.
    fn take(&mut self, worker: usize) -> bool {
        let Some(at) = self.stack.iter().position(|&w| w == worker) else {
            return false;
        };
        self.stack.remove(at);
        if self.timekeeper.is_some_and(|t| t.worker == worker) {
            self.timekeeper = None;
        }
        true
    }

    /// The worker to wake for work: the timekeeper last, because another would have
    /// to be woken in its place.
    fn latest(&self) -> Option<usize> {
        let keeps = self.timekeeper.map(|t| t.worker);
        let others = self.stack.iter().rev().find(|&&w| Some(w) != keeps);
        others.or(self.stack.last()).copied()
    }

    fn is_kept(&self, at_ns: u64) -> bool {
        self.timekeeper.is_some_and(|t| t.until_ns <= at_ns)
    }
}

/// Who searches and who sleeps.
#[derive(Debug)]
pub(crate) struct Sleep {
    counts: CachePadded<AtomicU64>,
    sleepers: Mutex<Sleepers>,
    parkers: Vec<CachePadded<Parker>>,
    stopped: AtomicBool,
}

impl Sleep {
    pub(crate) fn new(workers: usize, clock: Clock) -> Sleep {
        let parker = |_| CachePadded::new(Parker::new(clock));
        Sleep {
            counts: CachePadded::new(AtomicU64::new(0)),
            sleepers: Mutex::new(Sleepers::default()),
            parkers: (0..workers).map(parker).collect(),
            stopped: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Ends all searches and sleeps, these and later ones.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        while self.wake(Sleepers::latest) {}
    }

    /// Publishes what the caller has pushed since it did so last: work for at least so many
    /// workers, of which no more are woken.
    pub(crate) fn published(&self, enough_for: u32) {
        if self.fewer_look_than(enough_for) {
            while self.wake_for_work(enough_for) {}
        }
    }

    /// Publishes an entry of the timed queue.
    pub(crate) fn published_timer(&self, at_ns: u64) {
        if self.fewer_look_than(1) {
            self.wake_for_timer(at_ns);
        }
    }

    /// Searches, and sleeps between searches, until there is work; `None` once
    /// stopped. The calling worker is busy before and after.
    pub(crate) fn find_work<S: Search>(&self, worker: usize, search: &mut S) -> Option<S::Found> {
        self.counts.fetch_add(SEARCHING, Ordering::SeqCst);
        loop {
            for round in 0.. {
                if self.is_stopped() {
                    self.counts.fetch_sub(SEARCHING, Ordering::SeqCst);
                    return None;
                }
                search.enter(Activity::Steal);
                if let Some(found) = search.search() {
                    self.leave_search(search);
                    return Some(found);
                }
                let step = search.step(round);
                if step == Step::Park {
                    break;
                }
                search.enter(Activity::Spin);
                take(step);
            }
            search.enter(Activity::Parked);
            self.sleep(worker, search);
        }
    }

    /// From searching to sleeping and back.
    fn sleep<S: Search>(&self, worker: usize, search: &S) {
        {
            let mut sleepers = lock(&self.sleepers);
            sleepers.stack.push(worker);
            let change = SLEEPING.wrapping_sub(SEARCHING);
            self.counts.fetch_add(change, Ordering::SeqCst);
        }
        fence(Ordering::SeqCst);
        if !search.is_visible() && !self.is_stopped() {
            let until_ns = self.keep_time(worker, search.next_timer_ns());
            self.parkers[worker].park(until_ns);
        }
        let mut sleepers = lock(&self.sleepers);
        if sleepers.take(worker) {
            self.count_woken();
        }
        self.parkers[worker].reset();
    }

    /// How long a worker on the list sleeps: until `first_ns` if nobody else does.
    fn keep_time(&self, worker: usize, first_ns: Option<u64>) -> Option<u64> {
        let until_ns = first_ns?;
        let mut sleepers = lock(&self.sleepers);
        if sleepers.is_kept(until_ns) || !sleepers.stack.contains(&worker) {
            return None;
        }
        sleepers.timekeeper = Some(Timekeeper { worker, until_ns });
        Some(until_ns)
    }

    fn leave_search<S: Search>(&self, search: &S) {
        let before = Counts::from(self.counts.fetch_sub(SEARCHING, Ordering::SeqCst));
        if before.searching > 1 || before.sleeping == 0 {
            return;
        }
        fence(Ordering::SeqCst);
        if search.is_visible() {
            self.wake_for_work(1);
        } else if let Some(at_ns) = search.next_timer_ns() {
            self.wake_for_timer(at_ns);
        }
    }

    /// Whether somebody sleeps and fewer than so many search, after what the caller made
    /// visible.
    fn fewer_look_than(&self, enough: u32) -> bool {
        fence(Ordering::SeqCst);
        let counts = self.counts();
        counts.sleeping > 0 && counts.searching < enough
    }

    fn wake_for_work(&self, enough_for: u32) -> bool {
        self.wake(|sleepers| match self.counts().searching < enough_for {
            true => sleepers.latest(),
            false => None,
        })
    }

    fn wake_for_timer(&self, at_ns: u64) {
        self.wake(|sleepers| match self.counts().searching {
            0 if sleepers.is_kept(at_ns) => None,
            0 => match sleepers.timekeeper {
                Some(timekeeper) => Some(timekeeper.worker),
                None => sleepers.latest(),
            },
            _ => None,
        });
    }

    /// Wakes the worker that `choose` names, if any.
    fn wake(&self, choose: impl FnOnce(&Sleepers) -> Option<usize>) -> bool {
        let woken = {
            let mut sleepers = lock(&self.sleepers);
            let Some(worker) = choose(&sleepers) else {
                return false;
            };
            sleepers.take(worker);
            self.count_woken();
            self.parkers[worker].notify();
            worker
        };
        self.parkers[woken].wake();
        true
    }

    fn counts(&self) -> Counts {
        Counts::from(self.counts.load(Ordering::Relaxed))
    }

    fn count_woken(&self) {
        let change = SEARCHING.wrapping_sub(SLEEPING);
        self.counts.fetch_add(change, Ordering::SeqCst);
    }
}
