//! Counting, shared by all loads: which requests belong to the window, how they
//! ended, and how long they took.
//!
//! A request belongs to the window if its *intended* start lies in it. A good
//! answer adds to the throughput if it *arrives* within the window. A window is
//! announced shortly before it opens, so that every thread knows it before its
//! first request.

use crate::{Shape, ns};
use plimsoll_model::{
    Answers, BodySizes, ConnectionUse, Errors, FirstRequest, Histogram, PhaseWork, PhasedRate,
    Slot, SteppedRate, Work,
};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long before its opening a window is announced: longer than threads need
/// to see it.
const ANNOUNCEMENT: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowTimes {
    /// The first intended start that counts.
    pub opens: Instant,
    /// The first intended start that no longer counts.
    pub closes: Instant,
}

/// Events between two calls of [`tick`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tick {
    pub sent: u64,
    /// Good answers.
    pub completed: u64,
    pub errors: u64,
    pub in_flight: u64,
    /// Latency of the good answers.
    pub latency: Histogram,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Connect,
    Tls,
    /// No complete answer within the time-out.
    Timeout,
    Status,
    Protocol,
    /// Closed or reset before the answer ended.
    Reset,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With a good answer.
    Answered,
    Failed(Failure),
    /// It had no answer when the trial ended.
    Unfinished,
}

/// The clock and the window shared by all threads of a load. Times are
/// nanoseconds since its beginning.
#[derive(Debug)]
pub struct Session {
    began: Instant,
    opens_ns: AtomicU64,
    closes_ns: AtomicU64,
    /// When to stop waiting for requests of the window; `u64::MAX` until the load is
    /// to end.
    ends_ns: AtomicU64,
    /// Connections to be opened in advance, of all threads.
    to_open: AtomicUsize,
    shape: Shape,
}

impl Session {
    /// Begins now; `shape` as in [`Offer::shape`](crate::Offer::shape).
    pub fn new(shape: Shape) -> Session {
        Session {
            began: Instant::now(),
            opens_ns: AtomicU64::new(u64::MAX),
            closes_ns: AtomicU64::new(u64::MAX),
            ends_ns: AtomicU64::new(u64::MAX),
            to_open: AtomicUsize::new(0),
            shape,
        }
    }

    pub fn now_ns(&self) -> u64 {
        ns(self.began.elapsed())
    }

    /// Whether no request is offered now, and none before the next phase.
    pub fn rests(&self) -> bool {
        let Shape::Phases(phases) = &self.shape else {
            return false;
        };
        let at = phases.phase_at(self.began.elapsed());
        let phase = at.and_then(|(index, _)| phases.0.get(index));
        phase.is_none_or(|phase| phase.rate.get() <= 0.0)
    }

    pub fn began(&self) -> Instant {
        self.began
    }

    /// How many connections are not open yet that no request waits for.
    pub fn to_open(&self) -> usize {
        self.to_open.load(Ordering::Relaxed)
    }

    /// A thread has so many of them, and had as many `before`.
    pub(crate) fn set_to_open(&self, before: usize, now: usize) {
        self.to_open.fetch_add(now, Ordering::Relaxed);
        self.to_open.fetch_sub(before, Ordering::Relaxed);
    }

    /// Announces a window; see [`crate::Running::open_window`].
    pub fn open_window(&self, length: Duration) -> WindowTimes {
        let opens = self.began.elapsed() + ANNOUNCEMENT;
        let closes = opens + length;
        // Close before open: a thread that sees the opening must see the
        // closing too.
        self.closes_ns.store(ns(closes), Ordering::Release);
        self.opens_ns.store(ns(opens), Ordering::Release);
        WindowTimes {
            opens: self.began + opens,
            closes: self.began + closes,
        }
    }

    /// Extends the window and returns its new end. Call it well before the
    /// window closes: a request sent after that would not count as sent.
    pub fn extend_window(&self, by: Duration) -> Instant {
        let closed = self.closes_ns.fetch_add(ns(by), Ordering::AcqRel);
        self.began + Duration::from_nanos(closed) + by
    }

    /// Lets threads end as soon as no request of the window is open, or after
    /// `drain`.
    pub fn stop_after(&self, drain: Duration) {
        let ends_ns = self.now_ns() + ns(drain);
        self.ends_ns.store(ends_ns, Ordering::Release);
    }

    pub fn is_stopping(&self) -> bool {
        self.ends_ns() < u64::MAX
    }

    /// The end of the drain; `u64::MAX` before [`Session::stop_after`].
    pub fn ends_ns(&self) -> u64 {
        self.ends_ns.load(Ordering::Acquire)
    }

    /// When the window closes; `u64::MAX` if there is none.
    pub fn closes_ns(&self) -> u64 {
        self.closes_ns.load(Ordering::Acquire)
    }

    /// Whether `at_ns` lies within the window.
    pub fn counts(&self, at_ns: u64) -> bool {
        // Open before close, for the reason in `open_window`.
        at_ns >= self.opens_ns.load(Ordering::Acquire)
            && at_ns < self.closes_ns.load(Ordering::Acquire)
    }
}

/// Counts of one thread. The thread locks them once per request, others a few
/// times a second.
#[derive(Debug, Default)]
struct Counts {
    /// Its `steps` are empty until the first latency after a step.
    work: Work,
    /// Requests of the window that were sent and have not ended.
    open_in_window: u64,
    /// Since the last tick, besides `in_flight`.
    tick: Tick,
}

impl Counts {
    /// A good answer to a request of a phase ended at `now_ns`.
    fn answered(&mut self, intended_ns: u64, shape: &Shape, now_ns: u64) {
        let Shape::Phases(phases) = shape else {
            return;
        };
        let at = phases.phase_at(Duration::from_nanos(intended_ns));
        let phase = at.and_then(|(index, _)| self.work.phases.get_mut(index));
        if let Some(phase) = phase {
            phase.last_answer = phase.last_answer.max(Some(Duration::from_nanos(now_ns)));
        }
    }
}

/// Handle to the counts of one thread.
///
/// Each request goes through [`Tally::due`] once, then [`Tally::sent`] once,
/// then one of [`Tally::done`], [`Tally::failed`] and [`Tally::unfinished`]. A
/// request that could not be sent goes through `due`, then [`Tally::unsent`].
#[derive(Debug, Clone)]
pub struct Tally {
    session: Arc<Session>,
    counts: Arc<Mutex<Counts>>,
}

impl Tally {
    /// An empty tally for one thread of `session`.
    pub fn new(session: Arc<Session>) -> Tally {
        Tally {
            session,
            counts: Arc::default(),
        }
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // Counts are plain numbers: they stay valid after a panic.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The generator noticed, `slip_ns` after the intended start, that a
    /// request is due.
    pub fn due(&self, intended_ns: u64, slip_ns: u64) {
        let mut counts = self.lock();
        if self.session.counts(intended_ns) {
            counts.work.intended += 1;
            counts.work.slip.record_ns(slip_ns);
        }
        if let Shape::Phases(phases) = &self.session.shape
            && let Some((phase, _)) = phase_of(&mut counts, phases, intended_ns)
        {
            phase.answers.slip.record_ns(slip_ns);
        }
    }

    /// The request was sent, or its service started.
    pub fn sent(&self, intended_ns: u64) {
        let in_window = self.session.counts(intended_ns);
        let mut counts = self.lock();
        counts.tick.sent += 1;
        counts.tick.in_flight += 1;
        if in_window {
            counts.work.sent += 1;
            counts.open_in_window += 1;
        }
    }

    /// A good answer ended at `now_ns`; `body` is the length of its body, where it has one.
    pub fn done(&self, intended_ns: u64, now_ns: u64, body: Option<u64>) {
        let latency_ns = now_ns.saturating_sub(intended_ns);
        let arrived_in_window = self.session.counts(now_ns);
        let (mut counts, in_window) = self.end(intended_ns);
        counts.tick.completed += 1;
        counts.tick.latency.record_ns(latency_ns);
        counts.work.completed += u64::from(arrived_in_window);
        if let Some(bytes) = body.filter(|_| arrived_in_window) {
            let one = BodySizes::one(bytes);
            counts.work.bodies = Some(counts.work.bodies.map_or(one, |all| all + one));
        }
        self.record(&mut counts, in_window, intended_ns, latency_ns, |_| ());
        counts.answered(intended_ns, &self.session.shape, now_ns);
    }

    /// A sent request failed at `now_ns`. Only a time-out has a latency.
    pub fn failed(&self, intended_ns: u64, failure: Failure, now_ns: u64) {
        let waited_ns = now_ns.saturating_sub(intended_ns);
        let (mut counts, in_window) = self.end(intended_ns);
        counts.tick.errors += 1;
        if in_window {
            count_failure(&mut counts.work.errors, failure);
        }
        if failure == Failure::Timeout {
            self.record(&mut counts, in_window, intended_ns, waited_ns, |phase| {
                phase.answers.timed_out += 1;
            });
        } else {
            self.in_phase(&mut counts, intended_ns, None, |phase| {
                phase.answers.failed += 1
            });
        }
    }

    /// A sent request had no answer when the trial ended at `now_ns`.
    pub fn unfinished(&self, intended_ns: u64, now_ns: u64) {
        let waited_ns = now_ns.saturating_sub(intended_ns);
        let (mut counts, in_window) = self.end(intended_ns);
        counts.work.unfinished += u64::from(in_window);
        self.record(&mut counts, in_window, intended_ns, waited_ns, |phase| {
            phase.answers.unfinished += 1;
        });
    }

    /// A due request was not sent before the trial ended at `now_ns`: no
    /// connection was free, or the generator was too slow.
    pub fn unsent(&self, intended_ns: u64, now_ns: u64) {
        let waited_ns = now_ns.saturating_sub(intended_ns);
        let in_window = self.session.counts(intended_ns);
        let mut counts = self.lock();
        counts.work.unfinished += u64::from(in_window);
        self.record(&mut counts, in_window, intended_ns, waited_ns, |phase| {
            phase.answers.unfinished += 1;
        });
    }

    /// A sent request of the `kind`th of several ended at `now_ns`: besides the call for any request.
    pub fn of_kind(&self, kind: usize, intended_ns: u64, ending: Ending, now_ns: u64) {
        if !self.session.counts(intended_ns) {
            return;
        }
        let mut counts = self.lock();
        let kinds = &mut counts.work.kinds;
        if kinds.len() <= kind {
            kinds.resize_with(kind + 1, Answers::default);
        }
        let answers = &mut kinds[kind];
        match ending {
            Ending::Answered => {}
            Ending::Failed(Failure::Timeout) => answers.timed_out += 1,
            Ending::Failed(_) => {
                answers.failed += 1;
                return;
            }
            Ending::Unfinished => answers.unfinished += 1,
        }
        answers
            .latency
            .record_ns(now_ns.saturating_sub(intended_ns));
    }

    /// A request that waited so long for a connection ended at `now_ns`, or was given up: besides the call
    /// for any request. One that was never sent has waited since its intended start.
    pub fn waited(&self, intended_ns: u64, waited_ns: u64, now_ns: u64) {
        if self.session.counts(intended_ns) {
            let latency_ns = now_ns.saturating_sub(intended_ns);
            let waited = &mut self.lock().work.waited;
            waited.latency.record_ns(latency_ns);
            let in_connection = latency_ns.saturating_sub(waited_ns);
            waited.in_connection.record_ns(in_connection);
        }
    }

    /// How the connections of this thread served the window, if there was one.
    pub fn connections(&self, used: ConnectionUse) {
        if self.session.closes_ns() < u64::MAX {
            self.lock().work.connections = Some(used);
        }
    }

    /// Locks the counts and removes a sent request; returns also whether it
    /// belongs to the window.
    fn end(&self, intended_ns: u64) -> (MutexGuard<'_, Counts>, bool) {
        let in_window = self.session.counts(intended_ns);
        let mut counts = self.lock();
        counts.tick.in_flight = counts.tick.in_flight.saturating_sub(1);
        if in_window {
            counts.open_in_window = counts.open_in_window.saturating_sub(1);
        }
        (counts, in_window)
    }

    /// Records a latency in the window, and after a rate step. The window opens
    /// and closes in the low phases, so the two are independent. `count` is what its phase counts
    /// besides.
    fn record(
        &self,
        counts: &mut Counts,
        in_window: bool,
        intended_ns: u64,
        latency_ns: u64,
        count: impl FnOnce(&mut PhaseWork),
    ) {
        if in_window {
            counts.work.latency.record_ns(latency_ns);
        }
        match &self.session.shape {
            Shape::Constant => {}
            Shape::Steps(stepped) => {
                record_slot(&mut counts.work, stepped, intended_ns, latency_ns)
            }
            Shape::Phases(_) => {
                let latency = Duration::from_nanos(latency_ns);
                self.in_phase(counts, intended_ns, Some(latency), |phase| {
                    phase.answers.latency.record_ns(latency_ns);
                    count(phase);
                });
            }
        }
    }

    /// Counts a request in the phase that it was intended in, if there are any.
    fn in_phase(
        &self,
        counts: &mut Counts,
        intended_ns: u64,
        latency: Option<Duration>,
        count: impl FnOnce(&mut PhaseWork),
    ) {
        let Shape::Phases(phases) = &self.session.shape else {
            return;
        };
        if let Some((phase, at)) = phase_of(counts, phases, intended_ns) {
            count(phase);
            phase.keep_first(FirstRequest { at, latency });
        }
    }

    /// Sent requests of the window that have not ended.
    pub fn open_in_window(&self) -> u64 {
        self.lock().open_in_window
    }
}

/// The phase that a request was intended in, and when in it.
fn phase_of<'c>(
    counts: &'c mut Counts,
    phases: &PhasedRate,
    intended_ns: u64,
) -> Option<(&'c mut PhaseWork, Duration)> {
    let (index, at) = phases.phase_at(Duration::from_nanos(intended_ns))?;
    let all = &mut counts.work.phases;
    all.resize_with(phases.0.len(), PhaseWork::default);
    Some((all.get_mut(index)?, at))
}

fn record_slot(work: &mut Work, stepped: &SteppedRate, intended_ns: u64, latency_ns: u64) {
    let Some((step, slot)) = stepped.slot_of(Duration::from_nanos(intended_ns)) else {
        return;
    };
    let steps = &mut work.steps;
    if steps.is_empty() {
        *steps = vec![vec![Slot::default(); stepped.slots_per_step()]; stepped.steps as usize];
    }
    if let Some(slot) = steps.get_mut(step).and_then(|slots| slots.get_mut(slot)) {
        slot.record_ns(latency_ns);
    }
}

fn count_failure(errors: &mut Errors, failure: Failure) {
    let kind = match failure {
        Failure::Connect => &mut errors.connect,
        Failure::Tls => &mut errors.tls,
        Failure::Timeout => &mut errors.timeout,
        Failure::Status => &mut errors.status,
        Failure::Protocol => &mut errors.protocol,
        Failure::Reset => &mut errors.reset,
    };
    *kind += 1;
}

/// Sums and resets the events since the last call, over all threads.
pub fn tick(tallies: &[Tally]) -> Tick {
    let mut tick = Tick::default();
    let mut spare = Histogram::new();
    for tally in tallies {
        let mut counts = tally.lock();
        tick.in_flight += counts.tick.in_flight;
        tick.sent += std::mem::take(&mut counts.tick.sent);
        tick.completed += std::mem::take(&mut counts.tick.completed);
        tick.errors += std::mem::take(&mut counts.tick.errors);
        if counts.tick.latency.count() > 0 {
            // Merging takes tens of microseconds, so only the swap is done
            // under the lock.
            spare.clear();
            std::mem::swap(&mut counts.tick.latency, &mut spare);
            drop(counts);
            tick.latency.merge(&spare);
        }
    }
    tick
}

/// Sums the window's counts over all threads.
pub fn total(tallies: &[Tally]) -> Work {
    let mut all = Work::default();
    for tally in tallies {
        let counts = tally.lock();
        let work = &counts.work;
        all.intended += work.intended;
        all.sent += work.sent;
        all.completed += work.completed;
        all.unfinished += work.unfinished;
        all.errors = all.errors + work.errors;
        all.latency.merge(&work.latency);
        all.slip.merge(&work.slip);
        merge_steps(&mut all.steps, &work.steps);
        merge_phases(&mut all.phases, &work.phases);
        merge_kinds(&mut all.kinds, &work.kinds);
        all.waited.merge(&work.waited);
        all.bodies = match (all.bodies, work.bodies) {
            (Some(all), Some(own)) => Some(all + own),
            (all, own) => all.or(own),
        };
        if let Some(used) = work.connections {
            all.connections = Some(all.connections.unwrap_or_default() + used);
        }
    }
    all
}

fn merge_steps(all: &mut Vec<Vec<Slot>>, own: &[Vec<Slot>]) {
    if all.is_empty() {
        *all = own.to_vec();
        return;
    }
    let pairs = all.iter_mut().flatten().zip(own.iter().flatten());
    pairs.for_each(|(all, own)| all.merge(own));
}

fn merge_phases(all: &mut Vec<PhaseWork>, own: &[PhaseWork]) {
    all.resize_with(all.len().max(own.len()), PhaseWork::default);
    let pairs = all.iter_mut().zip(own);
    pairs.for_each(|(all, own)| all.merge(own));
}

fn merge_kinds(all: &mut Vec<Answers>, own: &[Answers]) {
    all.resize_with(all.len().max(own.len()), Answers::default);
    let pairs = all.iter_mut().zip(own);
    pairs.for_each(|(all, own)| all.merge(own));
}

#[cfg(test)]
mod tests;
