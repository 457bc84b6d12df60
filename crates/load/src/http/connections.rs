//! The connections of a generator thread: which are idle, which are to be
//! opened, and when.

use super::Job;
use super::conn::{Conn, NotOpened, Outcome, Phase};
use super::deadlines::Deadlines;
use super::parser::Answer;
use super::poller::{Poller, Ready, token};
use super::request::Writer;
use crate::tally::{Failure, Session};
use plimsoll_model::ConnectionUse;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Bytes read at once from a connection.
const BUFFER: usize = 64 << 10;
/// Rarely above a server's accept backlog (nginx has 511, many have 128); when
/// that overflows, the kernel retries after a second.
const MAX_OPENING: usize = 64;
/// Delay before reopening a connection that could not be opened or that was
/// closed before its first answer.
const BACK_OFF_NS: u64 = 10_000_000;
/// Minimum back-off per connection of a thread: at most one attempt per 100 us.
const BACK_OFF_EACH_NS: u64 = 100_000;

/// The end of a request or of an attempt to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completion {
    Answered {
        intended_ns: u64,
        /// Which of the requests of the job.
        kind: usize,
        answer: Answer,
        /// Time between the arrival of the answer and its reading.
        age: Duration,
    },
    Failed {
        intended_ns: u64,
        kind: usize,
        failure: Failure,
    },
    NotOpened(Failure),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenPolicy {
    /// When a request waits for one: the server is unknown, or closes each
    /// connection after one answer. An idle connection to such a server takes a
    /// place in its backlog, and blocks a server that handles one connection at
    /// a time.
    OnDemand,
    /// All at once, because the server keeps connections alive: load is spread
    /// over its threads, and no request waits for a handshake.
    InAdvance,
}

/// The connections, and queues of their indices.
#[derive(Debug)]
pub(super) struct Connections {
    job: Arc<Job>,
    clock: Arc<Session>,
    conns: Vec<Conn>,
    /// Idle connections, longest idle first. Taking turns keeps the load spread
    /// over the server's threads and processes, and no connection stays idle
    /// until the server closes it. Using the most recent one first would leave
    /// most of a server's workers idle.
    idle: VecDeque<usize>,
    /// Connections that may have more to read.
    more: VecDeque<usize>,
    to_open: VecDeque<usize>,
    /// Closed while the load rests: opened again only for a request that waits, as
    /// clients do. To open them in advance would count as what the server burns
    /// while it has nothing to do.
    resting: VecDeque<usize>,
    policy: OpenPolicy,
    opening: usize,
    failing: usize,
    /// What this machine had no more of when a connection was to be opened.
    exhausted: Option<Errno>,
    deadlines: Deadlines,
    back_off_ns: u64,
    writer: Writer,
    buf: Vec<u8>,
}

impl Connections {
    /// `n` closed connections; `seed` for the choice among several requests, and their values.
    pub(super) fn new(n: usize, job: Arc<Job>, clock: Arc<Session>, seed: u64) -> Connections {
        Connections {
            conns: (0..n).map(|_| Conn::new()).collect(),
            writer: Writer::new(&job.supply, seed),
            idle: VecDeque::with_capacity(n),
            more: VecDeque::with_capacity(n),
            to_open: (0..n).collect(),
            resting: VecDeque::new(),
            policy: OpenPolicy::OnDemand,
            opening: 0,
            failing: 0,
            exhausted: None,
            deadlines: Deadlines::new(n),
            back_off_ns: BACK_OFF_NS.max(BACK_OFF_EACH_NS * n as u64),
            buf: vec![0; BUFFER],
            job,
            clock,
        }
    }

    /// Whether a request can be sent at once.
    pub(super) fn has_idle(&self) -> bool {
        !self.idle.is_empty()
    }

    /// Whether more than half of them are.
    pub(super) fn most_are_idle(&self) -> bool {
        2 * self.idle.len() > self.conns.len()
    }

    /// How they served, when `waited` requests of the window came while all were in
    /// use.
    pub(super) fn served(&self, waited: u64) -> ConnectionUse {
        let is_unserved = |conn: &&Conn| !conn.was_answered;
        let used = self.conns.iter().filter(|conn| conn.was_used);
        ConnectionUse {
            connections: self.conns.len() as u32,
            used: used.clone().count() as u32,
            unserved: used.filter(is_unserved).count() as u32,
            waited,
        }
    }

    /// Whether a request can neither be sent nor have a connection opened.
    pub(super) fn all_in_use(&self) -> bool {
        self.idle.is_empty() && self.to_open.is_empty() && self.resting.is_empty()
    }

    /// Whether a connection may have more to read without a new edge.
    pub(super) fn has_more(&self) -> bool {
        !self.more.is_empty()
    }

    /// Whether [`Connections::open_one`] would open a connection while
    /// `waiting` requests have none.
    pub(super) fn can_open(&self, waiting: u64) -> bool {
        // Attempts may be stuck in an overflowed backlog for a second or more:
        // they must not prevent others.
        let is_missed = waiting > (self.opening + self.idle.len()) as u64;
        let wanted = match self.policy {
            OpenPolicy::InAdvance => self.opening < MAX_OPENING,
            OpenPolicy::OnDemand => is_missed,
        };
        (wanted && !self.to_open.is_empty()) || (is_missed && !self.resting.is_empty())
    }

    /// Whether the last attempt to open failed for every connection.
    pub(super) fn all_fail(&self) -> bool {
        self.failing == self.conns.len()
    }

    /// Why this machine could not open a connection: no service is to blame for that.
    pub(super) fn exhausted(&self) -> Option<Errno> {
        self.exhausted
    }

    /// When [`Connections::expire`] is needed next.
    pub(super) fn next_deadline(&self) -> u64 {
        self.deadlines.next_scan()
    }

    /// Intended starts and kinds of the requests that are being sent or answered.
    pub(super) fn open_requests(&self) -> impl Iterator<Item = (u64, usize)> {
        self.conns.iter().filter_map(|conn| match conn.phase {
            Phase::Busy {
                intended_ns, kind, ..
            } => Some((intended_ns, kind)),
            _ => None,
        })
    }

    /// Sends a request on an idle connection; there must be one. Its time-out
    /// runs from `now`.
    pub(super) fn send(&mut self, intended_ns: u64, now: u64) -> Option<Completion> {
        let index = self.idle.pop_front()?;
        self.deadlines
            .set(index, now.saturating_add(self.job.timeout_ns));
        let conn = &mut self.conns[index];
        let outcome = conn.send(intended_ns, &self.job, &mut self.writer);
        let phase = conn.phase;
        self.apply(index, phase, outcome)
    }

    pub(super) fn on_ready(&mut self, ready: Ready) -> Option<Completion> {
        let (index, generation) = ready.socket();
        if self.conns.get(index)?.generation != generation {
            return None;
        }
        self.advance(index, ready.hang_up)
    }

    /// Continues reading without a new edge.
    pub(super) fn read_more(&mut self) -> Option<Completion> {
        let index = self.more.pop_front()?;
        let conn = &mut self.conns[index];
        conn.queued = false;
        // It may have been closed and reopened since it was queued.
        match conn.phase {
            Phase::Idle | Phase::Busy { .. } => self.advance(index, false),
            Phase::Closed | Phase::Connecting | Phase::Securing => None,
        }
    }

    fn advance(&mut self, index: usize, hang_up: bool) -> Option<Completion> {
        let conn = &mut self.conns[index];
        let phase = conn.phase;
        let outcome = conn.advance(hang_up, &self.job, &mut self.buf);
        self.apply(index, phase, outcome)
    }

    /// Starts to open a connection if `waiting` requests need one.
    pub(super) fn open_one(&mut self, waiting: u64, poller: &Poller) -> Option<Completion> {
        if !self.can_open(waiting) {
            return None;
        }
        let next = self.to_open.pop_front();
        let index = next.or_else(|| self.resting.pop_front())?;
        self.opening += 1;
        let until = self.clock.now_ns().saturating_add(self.job.timeout_ns);
        self.deadlines.set(index, until);
        let conn = &mut self.conns[index];
        let token = token(index, conn.generation.wrapping_add(1));
        let opened = conn.open(&self.job.target).and_then(|stream| {
            let added = poller.add(stream, token);
            added.map_err(NotOpened::Exhausted)
        });
        let failure = match opened {
            Ok(()) => return None,
            Err(NotOpened::Refused(failure)) => failure,
            Err(NotOpened::Exhausted(errno)) => {
                self.exhausted = Some(errno);
                Failure::Connect
            }
        };
        self.apply(index, Phase::Connecting, Outcome::Lost(failure))
    }

    /// Fails requests and attempts whose deadline is before `now`, and ends
    /// back-offs.
    pub(super) fn expire(&mut self, now: u64) -> Vec<Completion> {
        let expired = self.deadlines.expire(now).into_iter();
        expired.filter_map(|index| self.give_up(index)).collect()
    }

    fn give_up(&mut self, index: usize) -> Option<Completion> {
        let phase = self.conns[index].phase;
        let failure = match phase {
            Phase::Closed => {
                self.closed(index);
                return None;
            }
            Phase::Idle => return None,
            Phase::Connecting => Failure::Connect,
            Phase::Securing => Failure::Tls,
            Phase::Busy { .. } => Failure::Timeout,
        };
        self.fail(index, phase, failure)
    }

    /// Updates the queues after a connection that was in `phase` advanced.
    fn apply(&mut self, index: usize, phase: Phase, outcome: Outcome) -> Option<Completion> {
        match outcome {
            Outcome::Nothing => None,
            Outcome::More => {
                self.queue_more(index);
                None
            }
            Outcome::Established => {
                self.opening -= 1;
                self.set_failing(index, false);
                self.deadlines.clear(index);
                self.idle.push_back(index);
                None
            }
            Outcome::Answered {
                answer,
                age,
                reusable,
                more,
            } => {
                self.deadlines.clear(index);
                self.update_policy(index, reusable);
                if reusable {
                    self.idle.push_back(index);
                    if more {
                        self.queue_more(index);
                    }
                } else {
                    self.conns[index].close();
                    self.closed(index);
                }
                let Phase::Busy {
                    intended_ns, kind, ..
                } = phase
                else {
                    return None;
                };
                Some(Completion::Answered {
                    intended_ns,
                    kind,
                    answer,
                    age,
                })
            }
            Outcome::Lost(failure) => self.fail(index, phase, failure),
        }
    }

    /// Adapts the policy to an answer: the server keeps connections, or it
    /// closed this one after its first answer. A server that closes a
    /// connection after many answers still keeps them.
    fn update_policy(&mut self, index: usize, reusable: bool) {
        let conn = &mut self.conns[index];
        conn.was_answered = true;
        let first = !std::mem::replace(&mut conn.has_answered, true);
        if reusable {
            self.policy = OpenPolicy::InAdvance;
        } else if first {
            self.policy = OpenPolicy::OnDemand;
        }
    }

    fn fail(&mut self, index: usize, phase: Phase, failure: Failure) -> Option<Completion> {
        self.deadlines.clear(index);
        self.conns[index].close();
        match phase {
            Phase::Closed => None,
            Phase::Connecting | Phase::Securing => {
                self.opening -= 1;
                self.set_failing(index, true);
                self.back_off(index);
                Some(Completion::NotOpened(failure))
            }
            Phase::Idle => {
                // Servers close the longest idle first: it is near the front.
                if let Some(at) = self.idle.iter().position(|i| *i == index) {
                    self.idle.remove(at);
                }
                // A connection that never answered may be closed again at once.
                if self.conns[index].has_answered {
                    self.closed(index);
                } else {
                    self.back_off(index);
                }
                None
            }
            Phase::Busy {
                intended_ns, kind, ..
            } => {
                // No back-off: there is a request for each attempt.
                self.closed(index);
                Some(Completion::Failed {
                    intended_ns,
                    kind,
                    failure,
                })
            }
        }
    }

    /// A closed connection may be opened again.
    fn closed(&mut self, index: usize) {
        match self.clock.rests() {
            true => self.resting.push_back(index),
            false => self.to_open.push_back(index),
        }
    }

    fn back_off(&mut self, index: usize) {
        let until = self.clock.now_ns() + self.back_off_ns;
        self.deadlines.set(index, until);
    }

    fn set_failing(&mut self, index: usize, failing: bool) {
        let was = std::mem::replace(&mut self.conns[index].failing, failing);
        self.failing = self.failing + usize::from(failing) - usize::from(was);
    }

    fn queue_more(&mut self, index: usize) {
        if !std::mem::replace(&mut self.conns[index].queued, true) {
            self.more.push_back(index);
        }
    }
}

impl Drop for Connections {
    /// Avoids TIME_WAIT: a search of many trials would run out of ports.
    fn drop(&mut self) {
        self.conns.iter_mut().for_each(Conn::abort);
    }
}
