//! The connections of a generator thread: which are idle, which are to be
//! opened, and when.

mod outcomes;

use super::Job;
use super::conn::{Conn, Due, NotOpened, Outcome, Phase};
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

/// How often a request is sent again that the server refused without beginning with it.
const MOST_REFUSED: u8 = 100;

/// The end of a request or of an attempt to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completion {
    Answered {
        due: Due,
        /// Which of the requests of the job.
        kind: usize,
        answer: Answer,
        /// Time between the arrival of the answer and its reading.
        age: Duration,
    },
    Failed {
        due: Due,
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

/// A place for a request on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    conn: usize,
    stream: usize,
}

/// The connections, and queues of their indices.
#[derive(Debug)]
pub(super) struct Connections {
    job: Arc<Job>,
    clock: Arc<Session>,
    conns: Vec<Conn>,
    /// How many of them there are at a time. The others stand in for those that take no more requests
    /// and are not yet done.
    most: usize,
    stand_ins: Vec<usize>,
    /// Places for requests on each connection.
    streams: usize,
    /// Free places of open connections, the longest free first. Taking turns keeps the load spread
    /// over the server's threads and processes, and no connection stays idle
    /// until the server closes it. Using the most recent one first would leave
    /// most of a server's workers idle.
    idle: VecDeque<Place>,
    /// Requests that ended with others, and are to be reported.
    ended: VecDeque<Completion>,
    /// Requests to send again on another connection.
    refused: VecDeque<Due>,
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
        let streams = job.target.http2.map_or(1, |most| most.get() as usize);
        let all = if job.target.http2.is_some() { 2 * n } else { n };
        Connections {
            conns: (0..all).map(|_| Conn::new(streams)).collect(),
            most: n,
            stand_ins: (n..all).collect(),
            streams,
            writer: Writer::new(&job.supply, seed),
            idle: VecDeque::with_capacity(n * streams),
            ended: VecDeque::new(),
            refused: VecDeque::new(),
            more: VecDeque::with_capacity(n),
            to_open: (0..n).collect(),
            resting: VecDeque::new(),
            policy: OpenPolicy::OnDemand,
            opening: 0,
            failing: 0,
            exhausted: None,
            deadlines: Deadlines::new(all * streams),
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

    /// Whether more than half of the places are free.
    pub(super) fn most_are_idle(&self) -> bool {
        2 * self.idle.len() > self.most * self.streams
    }

    /// Whether one read may end several requests: the kernel's stamp is that of the last.
    pub(super) fn share_reads(&self) -> bool {
        self.streams > 1
    }

    /// How they served, when `waited` requests of the window came while all were in
    /// use.
    pub(super) fn served(&self, waited: u64) -> ConnectionUse {
        let is_unserved = |conn: &&Conn| !conn.was_answered;
        let used = self.conns.iter().filter(|conn| conn.was_used);
        ConnectionUse {
            connections: self.most as u32,
            used: used.clone().count().min(self.most) as u32,
            unserved: used.filter(is_unserved).count() as u32,
            waited,
        }
    }

    /// Whether a request can neither be sent nor have a connection opened.
    pub(super) fn all_in_use(&self) -> bool {
        self.idle.is_empty() && self.to_open.is_empty() && self.resting.is_empty()
    }

    /// How many connections are not open yet that no request waits for.
    pub(super) fn to_open_in_advance(&self) -> usize {
        match self.policy {
            OpenPolicy::InAdvance => self.opening + self.to_open.len(),
            OpenPolicy::OnDemand => 0,
        }
    }

    /// Whether there is more to report, or may be more to read without a new edge.
    pub(super) fn has_more(&self) -> bool {
        !self.more.is_empty() || !self.ended.is_empty()
    }

    /// Whether a request waits to be sent again.
    pub(super) fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// The longest waiting of those that are to be sent again.
    pub(super) fn take_refused(&mut self) -> Option<Due> {
        self.refused.pop_front()
    }

    /// Whether [`Connections::open_one`] would open a connection while
    /// `waiting` requests have none.
    pub(super) fn can_open(&self, waiting: u64) -> bool {
        // Attempts may be stuck in an overflowed backlog for a second or more:
        // they must not prevent others.
        let waiting = waiting + self.refused.len() as u64;
        let is_missed = waiting > (self.opening + self.idle.len()) as u64;
        let wanted = match self.policy {
            OpenPolicy::InAdvance => self.opening < MAX_OPENING,
            OpenPolicy::OnDemand => is_missed,
        };
        (wanted && !self.to_open.is_empty()) || (is_missed && !self.resting.is_empty())
    }

    /// Whether the last attempt to open failed for every connection.
    pub(super) fn all_fail(&self) -> bool {
        self.failing >= self.most
    }

    /// Why this machine could not open a connection: no service is to blame for that.
    pub(super) fn exhausted(&self) -> Option<Errno> {
        self.exhausted
    }

    /// When [`Connections::expire`] is needed next.
    pub(super) fn next_deadline(&self) -> u64 {
        self.deadlines.next_scan()
    }

    /// The requests that have not ended, and kinds where they are known.
    pub(super) fn open_requests(&self) -> impl Iterator<Item = (Due, Option<usize>)> {
        let in_flight = self
            .conns
            .iter()
            .flat_map(|conn| conn.requests.iter().flatten());
        let sent = in_flight.map(|request| (request.due, Some(request.kind)));
        sent.chain(self.refused.iter().map(|due| (*due, None)))
    }

    /// Sends a request at a free place; there must be one. Its time-out
    /// runs from `now`.
    pub(super) fn send(&mut self, due: Due, now: u64) -> Option<Completion> {
        let place = self.idle.pop_front()?;
        let deadline = now.saturating_add(self.job.timeout_ns);
        self.deadlines.set(self.slot(place), deadline);
        let conn = &mut self.conns[place.conn];
        let outcome = conn.send(place.stream, due, &self.job, &mut self.writer);
        self.apply(place.conn, Phase::Open, outcome)
    }

    fn slot(&self, place: Place) -> usize {
        place.conn * self.streams + place.stream
    }

    /// Where the deadline of a connection itself is.
    fn first_slot(&self, conn: usize) -> usize {
        conn * self.streams
    }

    /// Whether that is a connection without a request.
    pub(super) fn is_unused(&self, ready: Ready) -> bool {
        let (index, generation) = ready.socket();
        self.conns.get(index).is_some_and(|conn| {
            conn.generation == generation
                && conn.phase == Phase::Open
                && conn.requests.iter().all(Option::is_none)
        })
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
        if let Some(ended) = self.ended.pop_front() {
            return Some(ended);
        }
        let index = self.more.pop_front()?;
        let conn = &mut self.conns[index];
        conn.queued = false;
        // It may have been closed and reopened since it was queued.
        match conn.phase {
            Phase::Open => self.advance(index, false),
            Phase::Closed | Phase::Connecting | Phase::Securing => None,
        }
    }

    fn advance(&mut self, index: usize, hang_up: bool) -> Option<Completion> {
        let conn = &mut self.conns[index];
        let phase = conn.phase;
        let outcome = conn.advance(hang_up, &self.job, &mut self.buf);
        while let Some(stream) = self.conns[index].unpark() {
            self.idle.push_back(Place {
                conn: index,
                stream,
            });
        }
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
        self.deadlines.set(self.first_slot(index), until);
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
        expired.filter_map(|slot| self.give_up(slot)).collect()
    }

    fn give_up(&mut self, slot: usize) -> Option<Completion> {
        let (index, stream) = (slot / self.streams, slot % self.streams);
        let phase = self.conns[index].phase;
        let failure = match phase {
            Phase::Closed => {
                self.closed(index);
                return None;
            }
            Phase::Connecting => Failure::Connect,
            Phase::Securing => Failure::Tls,
            Phase::Open if self.conns[index].requests[stream].is_none() => return None,
            Phase::Open if self.conns[index].cancel(stream) => {
                let failure = Failure::Timeout;
                return self.apply(index, phase, Outcome::Failed { stream, failure });
            }
            Phase::Open => Failure::Timeout,
        };
        self.fail(index, phase, failure)
    }
}

impl Drop for Connections {
    /// Avoids TIME_WAIT: a search of many trials would run out of ports.
    fn drop(&mut self) {
        self.conns.iter_mut().for_each(Conn::abort);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;
    use crate::http::HttpLoad;
    use crate::http::poller::Until;
    use plimsoll_model::HttpService;
    use std::net::{TcpListener, TcpStream};

    const DUE: Due = Due {
        intended_ns: 0,
        refused: 0,
        waited_ns: 0,
    };

    /// A connection without a request, the server's side of it, and what to wait with.
    fn unused() -> (Connections, TcpStream, Poller) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let cpus = plimsoll_pool::allowed_cpus().unwrap();
        let load =
            HttpLoad::new(&HttpService::get(&url, 1, Duration::from_secs(10)), cpus).unwrap();
        let clock = Arc::new(Session::new(Shape::Constant));
        let mut connections = Connections::new(1, Arc::clone(&load.job), clock, 1);
        let mut poller = Poller::new(4, 0).unwrap();
        assert_eq!(connections.open_one(1, &poller), None);
        let (server, _) = listener.accept().unwrap();
        while !connections.has_idle() {
            for ready in wait(&mut poller) {
                connections.on_ready(ready);
            }
        }
        (connections, server, poller)
    }

    fn wait(poller: &mut Poller) -> Vec<Ready> {
        let mut ready = Vec::new();
        poller.wait(0, Until::At(u64::MAX), &mut ready).unwrap();
        ready
    }

    #[test]
    fn a_connection_that_was_closed_unused_takes_no_request() {
        let (mut connections, server, mut poller) = unused();
        drop(server);
        let ready = wait(&mut poller);
        assert!(ready.iter().all(|one| one.hang_up), "{ready:?}");
        assert!(connections.is_unused(ready[0]));
        assert_eq!(connections.on_ready(ready[0]), None);
        assert!(!connections.has_idle());
        assert!(!connections.is_unused(ready[0]), "that was another one");
    }

    #[test]
    fn a_connection_with_a_request_is_in_use() {
        let (mut connections, server, mut poller) = unused();
        assert_eq!(connections.send(DUE, 0), None);
        drop(server);
        let ready = wait(&mut poller);
        assert!(!connections.is_unused(ready[0]), "its request fails");
    }
}
