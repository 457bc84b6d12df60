//! The loop of a generator thread.
//!
//! Sending and reading alternate: one answer, then one due request. A due
//! request never waits behind a batch of answers. If the thread itself is too
//! slow, sending falls behind as much as reading, which shows as slip. If
//! sending always went first, unread answers would attribute the generator's
//! slowness to the service.
//!
//! It goes first while that is not so: the kernel says when an answer came, holds it
//! without being read, and more than half of the connections are free. A thread that
//! is too slow has fewer of them free, and alternates.

use super::Job;
use super::ahead::Ahead;
use super::conn::Due;
use super::connections::{Completion, Connections};
use super::pacer::Pacer;
use super::parser::Answer;
use super::poller::{Poller, Ready, TIMERS, Until};
use super::wakeup::WakeUp;
use crate::ns;
use crate::tally::{Ending, Failure, Session, Tally};
use rustix::io::Errno;
use std::sync::Arc;
use std::time::Duration;

/// Events taken from the kernel at a time.
const BATCH: usize = 128;
/// How long answers may wait to be read if the next request is due sooner.
const MAX_SLEEP_NS: u64 = 100_000;
/// The same where the kernel says when they came, and holds all of them without being read.
const MAX_STAMPED_SLEEP_NS: u64 = 1_000_000;
/// A body that each receive buffer holds (net.ipv4.tcp_rmem begins with 128 KiB, half of it for data).
const SMALL_BODY: u64 = 16 << 10;
/// Maximum number of consecutive sends.
const BURST: usize = 8;

pub(super) struct Worker {
    job: Arc<Job>,
    session: Arc<Session>,
    tally: Tally,
    pacer: Pacer,
    poller: Poller,
    connections: Connections,
    wake_up: WakeUp,
    ahead: Ahead,
    answers: Answers,
    to_open: usize,
}

/// What is known of the answers so far.
#[derive(Debug, Default)]
struct Answers {
    are_stamped: bool,
    longest: u64,
}

impl Answers {
    fn saw(&mut self, answer: &Answer, age: Duration) {
        self.are_stamped |= !age.is_zero();
        self.longest = self.longest.max(answer.body_bytes);
    }

    /// Whether they may be read later without a change of any latency.
    fn may_wait(&self) -> bool {
        self.are_stamped && self.longest <= SMALL_BODY
    }
}

impl Worker {
    pub(super) fn new(
        job: Arc<Job>,
        session: Arc<Session>,
        tally: Tally,
        pacer: Pacer,
        connections: Connections,
    ) -> Result<Worker, Errno> {
        Ok(Worker {
            poller: Poller::new(BATCH, session.now_ns())?,
            connections,
            job,
            session,
            tally,
            ahead: Ahead::new(pacer.upcoming()),
            pacer,
            wake_up: WakeUp::default(),
            answers: Answers::default(),
            to_open: 0,
        })
    }

    pub(super) fn poller(&self) -> &Poller {
        &self.poller
    }

    /// Offers requests until the session is over, and counts what is left.
    pub(super) fn run(mut self) -> Result<(), Errno> {
        let mut ready = Vec::with_capacity(BATCH);
        let mut now = self.session.now_ns();
        while !self.is_done(now) {
            let woken = self.wait(now, &mut ready)?;
            if let Some(planned) = woken {
                self.wake_up.record(now, planned, self.session.now_ns());
            }
            self.step(&mut ready);
            self.see_opening();
            now = self.session.now_ns();
            self.expire(now);
        }
        for (due, kind) in self.connections.open_requests() {
            self.tally.unfinished(due.intended_ns, now);
            self.with_kind_and_wait(kind, due, Ending::Unfinished, now);
        }
        let used = self.connections.served(self.pacer.waited());
        self.tally.connections(used);
        let open_ns = self.typically_open_ns(now);
        self.pacer.close(now, open_ns, &self.tally);
        // No earlier: a guard goes on, and the sensors of a trial read this thread.
        self.connections.exhausted().map_or(Ok(()), Err)
    }

    /// The median time that the open requests have been on their connections.
    fn typically_open_ns(&self, now: u64) -> u64 {
        let open = self.connections.open_requests();
        let on_connection = |(due, _): (Due, _)| {
            let since_due = now.saturating_sub(due.intended_ns);
            since_due.saturating_sub(due.waited_ns)
        };
        let mut open: Vec<u64> = open.map(on_connection).collect();
        open.sort_unstable();
        open.get(open.len() / 2).copied().unwrap_or(0)
    }

    /// Whether every request of the window has ended or must end.
    fn is_done(&self, now: u64) -> bool {
        if !self.session.is_stopping() {
            return false;
        }
        let closes = self.session.closes_ns();
        let no_window = closes == u64::MAX;
        let all_sent = now >= closes && self.pacer.next_unsent() >= closes;
        no_window || now >= self.session.ends_ns() || (all_sent && self.tally.open_in_window() == 0)
    }

    /// Lets the session know how many connections are not open yet.
    fn see_opening(&mut self) {
        let now = self.connections.to_open_in_advance();
        let before = std::mem::replace(&mut self.to_open, now);
        if before != now {
            self.session.set_to_open(before, now);
        }
    }

    /// Waits for what is next. Returns the time that was waited for if a timer ended the wait.
    fn wait(&mut self, now: u64, ready: &mut Vec<Ready>) -> Result<Option<u64>, Errno> {
        let until = self.until(now);
        let Until::At(at) = until else {
            return self.poller.wait(now, until, ready);
        };
        if at > now && at < u64::MAX && self.connections.has_idle() {
            let due = self.pacer.next_due();
            let ahead = self.ahead.choose(due, TIMERS, &self.wake_up);
            self.poller.set_ahead(now, at, ahead)?;
        }
        match self.may_ignore_sockets(now, at) {
            true => {
                self.poller.sleep_then_poll(now, at, ready)?;
                Ok(Some(at))
            }
            false => self.poller.wait(now, until, ready),
        }
    }

    /// How long there is nothing to do.
    fn until(&self, now: u64) -> Until {
        let connections = &self.connections;
        let is_due = self.pacer.has_due(now) || connections.has_refused();
        let can_send = connections.has_idle() && is_due;
        if can_send || connections.has_more() || connections.can_open(self.pacer.waiting()) {
            return Until::Now;
        }
        let closes = match self.session.closes_ns() {
            closes if self.session.is_stopping() && closes > now => closes,
            _ => u64::MAX,
        };
        let due = self.pacer.next_due();
        let early = self.ahead.wake_up_for(due, now).unwrap_or_else(|| {
            let ends = self.wake_up.ahead_of(now, due);
            ends.first.unwrap_or(ends.last)
        });
        // While nothing can be sent there is nothing to poll for.
        let due = match early <= now && !connections.has_idle() {
            true => due,
            false => early,
        };
        let other = connections.next_deadline().min(self.session.ends_ns());
        Until::At(due.min(other).min(closes))
    }

    /// Whether to sleep until `at` without watching sockets. Answers carry the
    /// kernel's timestamp, so reading them later does not change latencies, and
    /// it saves a wake-up for each.
    fn may_ignore_sockets(&self, now: u64, at: u64) -> bool {
        let most = match self.answers_may_wait() {
            true => MAX_STAMPED_SLEEP_NS,
            false if self.connections.share_reads() => return false,
            false => MAX_SLEEP_NS,
        };
        at.saturating_sub(now) <= most && at > now && self.connections.has_idle()
    }

    /// Whether answers may be read later: no latency changes, and no request is
    /// about to wait for a connection.
    fn answers_may_wait(&self) -> bool {
        let connections = &self.connections;
        self.answers.may_wait() && connections.most_are_idle() && !connections.share_reads()
    }

    /// Alternates answers and requests, then opens at most one connection,
    /// because that takes longer than either.
    fn step(&mut self, ready: &mut Vec<Ready>) {
        self.forget_closed(ready);
        let more = self.connections.has_more();
        self.offer(self.sends_before_a_read(ready.is_empty() && !more));
        for ready in ready.drain(..) {
            let ended = self.connections.on_ready(ready);
            self.record(ended);
            self.offer(self.sends_before_a_read(false));
        }
        if more {
            let ended = self.connections.read_more();
            self.record(ended);
            self.offer(self.sends_before_a_read(false));
        }
        let waiting = self.pacer.waiting();
        let ended = self.connections.open_one(waiting, &self.poller);
        self.record(ended);
    }

    /// Takes connections away that the server closed while they were unused, before one is used for a request.
    fn forget_closed(&mut self, ready: &mut Vec<Ready>) {
        ready.retain(|one| {
            let is_closed = one.hang_up && self.connections.is_unused(*one);
            if is_closed {
                let ended = self.connections.on_ready(*one);
                self.record(ended);
            }
            !is_closed
        });
    }

    /// How many due requests go before the next answer, or before answers are looked for.
    fn sends_before_a_read(&self, nothing_to_read: bool) -> usize {
        match nothing_to_read || self.answers_may_wait() {
            true => BURST,
            false => 1,
        }
    }

    fn offer(&mut self, limit: usize) {
        for _ in 0..limit {
            let now = self.session.now_ns();
            if !self.connections.has_idle() {
                let all_in_use = self.connections.all_in_use();
                self.pacer.notice(now, all_in_use, &self.tally);
                return;
            }
            let due = self.connections.take_refused();
            let Some(due) = due.or_else(|| self.first_due(now)) else {
                return;
            };
            let ended = self.connections.send(due, now);
            self.record(ended);
        }
    }

    /// The longest waiting of the requests that are due.
    fn first_due(&mut self, now: u64) -> Option<Due> {
        let (intended_ns, waited_ns) = self.pacer.take(now, &self.tally)?;
        self.tally.sent(intended_ns);
        Some(Due {
            intended_ns,
            refused: 0,
            waited_ns,
        })
    }

    fn record(&mut self, ended: Option<Completion>) {
        let Some(ended) = ended else { return };
        if let Completion::Answered { answer, age, .. } = &ended {
            self.answers.saw(answer, *age);
        }
        let now = self.session.now_ns();
        match ended {
            Completion::Answered {
                due,
                kind,
                answer,
                age,
            } if self.job.requests[kind].is_good(&answer) => {
                let ended_ns = now.saturating_sub(ns(age));
                self.tally
                    .done(due.intended_ns, ended_ns, Some(answer.body_bytes));
                self.with_kind_and_wait(Some(kind), due, Ending::Answered, ended_ns);
            }
            Completion::Answered { due, kind, .. } => self.failed(kind, due, Failure::Status, now),
            Completion::Failed { due, kind, failure } => self.failed(kind, due, failure, now),
            Completion::NotOpened(failure) => self.fail_waiting(failure, now),
        }
    }

    fn failed(&self, kind: usize, due: Due, failure: Failure, now: u64) {
        self.tally.failed(due.intended_ns, failure, now);
        self.with_kind_and_wait(Some(kind), due, Ending::Failed(failure), now);
    }

    /// Counts a request by its kind, where there are several, and with its wait for a connection.
    fn with_kind_and_wait(&self, kind: Option<usize>, due: Due, ending: Ending, now: u64) {
        if let Some(kind) = kind.filter(|_| self.job.requests.len() > 1) {
            self.tally.of_kind(kind, due.intended_ns, ending, now);
        }
        let has_latency = !matches!(ending, Ending::Failed(failure) if failure != Failure::Timeout);
        if due.waited_ns > 0 && has_latency {
            self.tally.waited(due.intended_ns, due.waited_ns, now);
        }
    }

    /// A connection could not be opened: the longest waiting request fails.
    /// While no connection can be opened, all waiting requests fail, as they
    /// would for separate clients.
    fn fail_waiting(&mut self, failure: Failure, now: u64) {
        if self.connections.has_idle() {
            return;
        }
        self.pacer.notice(now, false, &self.tally);
        loop {
            let due = self.connections.take_refused();
            let Some(due) = due.or_else(|| self.first_due(now)) else {
                return;
            };
            self.tally.failed(due.intended_ns, failure, now);
            if !self.connections.all_fail() {
                return;
            }
        }
    }

    fn expire(&mut self, now: u64) {
        if now < self.connections.next_deadline() {
            return;
        }
        for ended in self.connections.expire(now) {
            self.record(Some(ended));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_answers_with_the_kernels_stamp_may_wait() {
        let may_wait = |seen: &[(Duration, u64)]| {
            let mut answers = Answers::default();
            for (age, body_bytes) in seen {
                let answer = Answer {
                    status: 200,
                    body_bytes: *body_bytes,
                    keep_alive: true,
                    has_text: true,
                    grpc: None,
                };
                answers.saw(&answer, *age);
            }
            answers.may_wait()
        };
        let stamped = Duration::from_micros(3);
        assert!(!may_wait(&[]), "not known yet");
        assert!(!may_wait(&[(Duration::ZERO, 3)]));
        assert!(may_wait(&[(Duration::ZERO, 3), (stamped, 3)]));
        assert!(!may_wait(&[(stamped, 3), (stamped, SMALL_BODY + 1)]));
    }
}
