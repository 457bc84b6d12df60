//! The state machine of one connection.

use super::Job;
use super::http2::Http2;
use super::local_ports;
use super::parser::{Answer, Parser, Progress};
use super::request::Writer;
use super::target::Target;
use super::transport::{Broken, Input, Transport};
use crate::tally::Failure;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Closed,
    Connecting,
    Securing,
    Open,
}

/// A request that is being sent or answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InFlight {
    pub(super) due: Due,
    /// Which of the requests of the job.
    pub(super) kind: usize,
}

/// A request that is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) intended_ns: u64,
    /// How often the server has refused it without beginning with it.
    pub(super) refused: u8,
    /// How long it waited because all connections were in use, or zero.
    pub(super) waited_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing; wait for the next edge.
    Nothing,
    /// There may be more to read without a new edge.
    More,
    Established,
    Answered {
        stream: usize,
        answer: Answer,
        /// Time between the arrival of the answer's end and its reading.
        age: Duration,
        /// Whether the connection takes another request; otherwise it must be closed.
        reusable: bool,
        /// There may be more to read without a new edge.
        more: bool,
    },
    /// A request failed alone; there may be more to read without a new edge.
    Failed {
        stream: usize,
        failure: Failure,
    },
    /// The server has not begun with a request, and takes no more on this connection; there may be
    /// more to read without a new edge.
    Refused {
        stream: usize,
    },
    /// The server takes no more requests at a time: this one was not sent.
    Full {
        stream: usize,
    },
    /// The server takes no more on this connection: this one was not sent.
    NotSent {
        stream: usize,
    },
    /// The connection must be closed; its phase decides what that means.
    Lost(Failure),
}

#[derive(Debug)]
pub(super) struct Conn {
    pub(super) phase: Phase,
    /// It has answered at least once since it was opened.
    pub(super) has_answered: bool,
    /// A request was sent on it, also before it was opened again.
    pub(super) was_used: bool,
    /// A request on it was answered, likewise.
    pub(super) was_answered: bool,
    /// The last attempt to open it failed.
    pub(super) failing: bool,
    /// It is in the queue of connections to read again.
    pub(super) queued: bool,
    /// Requests sent since it was opened.
    sent: u32,
    /// Number of its socket, to ignore events of earlier sockets.
    pub(super) generation: u32,
    /// The server has closed its side; reading continues until that is visible.
    hung_up: bool,
    /// Places that are not used, because the server takes fewer requests at a time.
    pub(super) parked: Vec<usize>,
    /// It takes no more requests, and another stands in for it.
    pub(super) is_replaced: bool,
    /// By place: HTTP/1.1 has one.
    pub(super) requests: Vec<Option<InFlight>>,
    /// Unless HTTP/2 has it.
    transport: Option<Transport>,
    http2: Option<Box<Http2>>,
    parser: Parser,
    /// Bytes of the request written so far, with HTTP/1.1.
    written: usize,
    /// The request that is under way, where it has values.
    filled: Vec<u8>,
}

impl Conn {
    /// With places for so many requests at a time.
    pub(super) fn new(streams: usize) -> Conn {
        Conn {
            phase: Phase::Closed,
            has_answered: false,
            was_used: false,
            was_answered: false,
            failing: false,
            queued: false,
            sent: 0,
            generation: 0,
            hung_up: false,
            parked: Vec::new(),
            is_replaced: false,
            requests: vec![None; streams],
            transport: None,
            http2: None,
            written: 0,
            parser: Parser::new(false),
            filled: Vec::new(),
        }
    }

    /// Starts to connect; the caller must register the socket.
    pub(super) fn open(&mut self, target: &Target) -> Result<&TcpStream, NotOpened> {
        self.phase = Phase::Connecting;
        let stream = begin_connect(target.address()).map_err(not_opened)?;
        let session = target.session();
        let session = session.map_err(|_| NotOpened::Refused(Failure::Tls))?;
        self.generation = self.generation.wrapping_add(1);
        self.has_answered = false;
        self.hung_up = false;
        self.sent = 0;
        self.parked.clear();
        self.parser.reset();
        Ok(self
            .transport
            .insert(Transport::non_blocking(stream, session))
            .stream())
    }

    /// Closes the connection. After a request it is aborted, at once: the server need not finish
    /// an answer, may wait for the end of this connection before it serves another, and no
    /// port stays in use (TIME_WAIT).
    pub(super) fn close(&mut self) {
        if self.requests.iter().any(Option::is_some) {
            return self.abort();
        }
        self.phase = Phase::Closed;
        self.transport = None;
        self.http2 = None;
    }

    /// Closes the connection without TIME_WAIT.
    pub(super) fn abort(&mut self) {
        self.phase = Phase::Closed;
        if let Some(transport) = self.transport.take() {
            transport.abort();
        }
        if let Some(http2) = self.http2.take() {
            http2.abort();
        }
    }

    /// Gives a request up without the connection, where that is possible.
    pub(super) fn cancel(&mut self, stream: usize) -> bool {
        let Some(http2) = &mut self.http2 else {
            return false;
        };
        http2.cancel(stream);
        true
    }

    /// A parked place, if the server takes more requests at a time again.
    pub(super) fn unpark(&mut self) -> Option<usize> {
        let used = self.requests.len() - self.parked.len();
        let most = self.http2.as_ref()?.streams_of_server();
        match used < most {
            true => self.parked.pop(),
            false => None,
        }
    }

    /// Whether it takes another request, as far as is known.
    pub(super) fn takes_more(&self) -> bool {
        self.http2.as_ref().is_none_or(|http2| http2.takes_more())
    }

    /// Whether the request that is under way is the last on this connection.
    fn is_last(&self, job: &Job) -> bool {
        job.requests_per_connection
            .is_some_and(|most| self.sent >= most.get())
    }

    /// Starts a request, the next that `writer` chooses, at a free place of an open connection.
    pub(super) fn send(
        &mut self,
        stream: usize,
        due: Due,
        job: &Job,
        writer: &mut Writer,
    ) -> Outcome {
        self.was_used = true;
        self.sent = self.sent.saturating_add(1);
        let kind = writer.choose(&job.sums);
        let request = &job.requests[kind];
        writer.write(request, &job.supply, self.is_last(job), &mut self.filled);
        self.requests[stream] = Some(InFlight { due, kind });
        if let Some(http2) = &mut self.http2 {
            return http2.offer(stream, request, &self.filled);
        }
        self.parser.expect(request.is_head, request.sink());
        self.written = 0;
        match self.write(job) {
            Ok(_) => Outcome::Nothing,
            Err(failure) => Outcome::Lost(failure),
        }
    }

    /// Continues after an edge, or after [`Outcome::More`]. Reads at most one
    /// `buf` of bytes, so that a long answer does not delay other connections.
    pub(super) fn advance(&mut self, hang_up: bool, job: &Job, buf: &mut [u8]) -> Outcome {
        self.hung_up |= hang_up;
        let result = match self.phase {
            Phase::Closed => Ok(Outcome::Nothing),
            Phase::Connecting => self.connected(job),
            Phase::Securing => self.secure(job),
            Phase::Open => match &mut self.http2 {
                Some(http2) => return http2.step(self.hung_up).into(),
                None if self.requests[0].is_none() => self.read_idle(buf),
                None => self.exchange(job, buf),
            },
        };
        result.unwrap_or_else(Outcome::Lost)
    }

    /// Writes on, and reads what is there. A server may answer, and close, without reading the
    /// whole request.
    fn exchange(&mut self, job: &Job, buf: &mut [u8]) -> Result<Outcome, Failure> {
        let sent = self.write(job);
        let is_sent = matches!(sent, Ok(true));
        match self.read_answer(is_sent, job, buf) {
            Ok(Outcome::Nothing) => sent.map(|_| Outcome::Nothing),
            other => other,
        }
    }

    fn connected(&mut self, job: &Job) -> Result<Outcome, Failure> {
        let stream = self.transport.as_ref().map(Transport::stream);
        match stream.map(TcpStream::take_error) {
            Some(Ok(None)) => {}
            _ => return Err(Failure::Connect),
        }
        self.phase = Phase::Securing;
        self.secure(job)
    }

    fn secure(&mut self, job: &Job) -> Result<Outcome, Failure> {
        let transport = self.transport.as_mut().ok_or(Failure::Reset)?;
        // Any failure during a handshake counts as a TLS failure.
        if !transport.handshake().map_err(|_| Failure::Tls)? {
            return Ok(Outcome::Nothing);
        }
        if let Some(streams) = job.target.http2
            && let Some(transport) = self.transport.take()
        {
            self.http2 = Some(Box::new(Http2::begin(transport, streams)?));
        }
        self.phase = Phase::Open;
        Ok(Outcome::Established)
    }

    /// Writes what is left of the request; returns whether all of it is written.
    fn write(&mut self, job: &Job) -> Result<bool, Failure> {
        let is_last = self.is_last(job);
        let (Some(transport), Some(InFlight { kind, .. })) =
            (&mut self.transport, self.requests[0])
        else {
            return Ok(false);
        };
        let request = job.requests[kind].fixed(is_last).unwrap_or(&self.filled);
        if self.written == request.len() {
            return transport.flush().map(|_| true).map_err(failure_of);
        }
        while self.written < request.len() {
            let left = &request[self.written..];
            match transport.write(left).map_err(failure_of)? {
                0 => return Ok(false),
                n => self.written += n,
            }
        }
        Ok(true)
    }

    /// An idle connection can only be closed by the server; data is a protocol
    /// error.
    fn read_idle(&mut self, buf: &mut [u8]) -> Result<Outcome, Failure> {
        let transport = self.transport.as_mut().ok_or(Failure::Reset)?;
        match transport.read(buf).map_err(failure_of)? {
            Input::Blocked => Ok(Outcome::Nothing),
            Input::End | Input::Cut => Err(Failure::Reset),
            Input::Data { .. } => Err(Failure::Protocol),
        }
    }

    /// `is_sent`: whether the whole request was written.
    fn read_answer(
        &mut self,
        is_sent: bool,
        job: &Job,
        buf: &mut [u8],
    ) -> Result<Outcome, Failure> {
        let is_last = self.is_last(job);
        let transport = self.transport.as_mut().ok_or(Failure::Reset)?;
        let (bytes, drained) = match transport.read(buf).map_err(failure_of)? {
            Input::Blocked => return Ok(Outcome::Nothing),
            Input::End => return self.ended(),
            Input::Cut => return Err(Failure::Reset),
            Input::Data { bytes, drained } => (bytes, drained),
        };
        let age = transport.age();
        let fed = self.parser.feed(&buf[..bytes]);
        let (used, progress) = fed.map_err(|_| Failure::Protocol)?;
        let more = !drained || self.hung_up;
        match progress {
            Progress::More if more => Ok(Outcome::More),
            Progress::More => Ok(Outcome::Nothing),
            // Bytes that no request asked for.
            Progress::Done(_) if used < bytes => Err(Failure::Protocol),
            Progress::Done(answer) => Ok(Outcome::Answered {
                stream: 0,
                answer,
                age,
                reusable: answer.keep_alive && is_sent && !self.hung_up && !is_last,
                more,
            }),
        }
    }

    fn ended(&mut self) -> Result<Outcome, Failure> {
        let answer = self.parser.end().ok_or(Failure::Reset)?;
        let transport = self.transport.as_ref();
        Ok(Outcome::Answered {
            stream: 0,
            answer,
            age: transport.map(Transport::age).unwrap_or_default(),
            reusable: false,
            more: false,
        })
    }
}

fn failure_of(broken: Broken) -> Failure {
    match broken {
        Broken::Socket(_) => Failure::Reset,
        Broken::Tls(_) => Failure::Tls,
    }
}

/// Why no connect was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotOpened {
    /// As a client of its own would be refused.
    Refused(Failure),
    /// This machine or process has no more of what a connection takes.
    Exhausted(Errno),
}

fn not_opened(errno: Errno) -> NotOpened {
    match errno {
        // Nearly always: all ports towards this address are in use.
        Errno::ADDRNOTAVAIL | Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => {
            NotOpened::Exhausted(errno)
        }
        _ => NotOpened::Refused(Failure::Connect),
    }
}

/// Starts a non-blocking connect.
fn begin_connect(address: SocketAddr) -> Result<TcpStream, Errno> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    // A request is one write: Nagle's algorithm would only delay it.
    sockopt::set_tcp_nodelay(&socket, true)?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => {
            let stream = TcpStream::from(socket);
            local_ports::note(&stream);
            Ok(stream)
        }
        Err(e) => Err(e),
    }
}
