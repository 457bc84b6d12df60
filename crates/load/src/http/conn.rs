//! The state machine of one connection.

use super::Job;
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
    Idle,
    /// A request is being sent or answered.
    Busy {
        intended_ns: u64,
        /// Which of the requests of the job.
        kind: usize,
        /// Bytes of the request written so far.
        written: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing; wait for the next edge.
    Nothing,
    /// There may be more to read without a new edge.
    More,
    Established,
    Answered {
        answer: Answer,
        /// Time between the arrival of the answer's end and its reading.
        age: Duration,
        /// Whether the connection is now idle; otherwise it must be closed.
        reusable: bool,
        /// There may be more to read without a new edge.
        more: bool,
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
    transport: Option<Transport>,
    parser: Parser,
    /// The request that is under way, where it has values.
    filled: Vec<u8>,
}

impl Conn {
    pub(super) fn new() -> Conn {
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
            transport: None,
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
        if matches!(self.phase, Phase::Busy { .. }) {
            return self.abort();
        }
        self.phase = Phase::Closed;
        self.transport = None;
    }

    /// Closes the connection without TIME_WAIT.
    pub(super) fn abort(&mut self) {
        self.phase = Phase::Closed;
        if let Some(transport) = self.transport.take() {
            transport.abort();
        }
    }

    /// Whether the request that is under way is the last on this connection.
    fn is_last(&self, job: &Job) -> bool {
        job.requests_per_connection
            .is_some_and(|most| self.sent >= most.get())
    }

    /// Starts a request, the next that `writer` chooses, on an idle connection.
    pub(super) fn send(&mut self, intended_ns: u64, job: &Job, writer: &mut Writer) -> Outcome {
        self.was_used = true;
        self.sent = self.sent.saturating_add(1);
        let kind = writer.choose(&job.sums);
        let request = &job.requests[kind];
        writer.write(request, &job.supply, self.is_last(job), &mut self.filled);
        self.parser.expect(request.is_head, request.sink());
        self.phase = Phase::Busy {
            intended_ns,
            kind,
            written: 0,
        };
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
            Phase::Connecting => self.connected(),
            Phase::Securing => self.secure(),
            Phase::Idle => self.read_idle(buf),
            Phase::Busy { .. } => {
                // A server may answer, and close, without reading the whole
                // request.
                let sent = self.write(job);
                let is_sent = matches!(sent, Ok(true));
                match self.read_answer(is_sent, job, buf) {
                    Ok(Outcome::Nothing) => sent.map(|_| Outcome::Nothing),
                    other => other,
                }
            }
        };
        result.unwrap_or_else(Outcome::Lost)
    }

    fn connected(&mut self) -> Result<Outcome, Failure> {
        let stream = self.transport.as_ref().map(Transport::stream);
        match stream.map(TcpStream::take_error) {
            Some(Ok(None)) => {}
            _ => return Err(Failure::Connect),
        }
        self.phase = Phase::Securing;
        self.secure()
    }

    fn secure(&mut self) -> Result<Outcome, Failure> {
        let transport = self.transport.as_mut().ok_or(Failure::Reset)?;
        // Any failure during a handshake counts as a TLS failure.
        if transport.handshake().map_err(|_| Failure::Tls)? {
            self.phase = Phase::Idle;
            return Ok(Outcome::Established);
        }
        Ok(Outcome::Nothing)
    }

    /// Writes what is left of the request; returns whether all of it is written.
    fn write(&mut self, job: &Job) -> Result<bool, Failure> {
        let is_last = self.is_last(job);
        let (Some(transport), Phase::Busy { written, kind, .. }) =
            (&mut self.transport, &mut self.phase)
        else {
            return Ok(false);
        };
        let request = job.requests[*kind].fixed(is_last).unwrap_or(&self.filled);
        if *written == request.len() {
            return transport.flush().map(|_| true).map_err(failure_of);
        }
        while *written < request.len() {
            match transport.write(&request[*written..]).map_err(failure_of)? {
                0 => return Ok(false),
                n => *written += n,
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
            Progress::Done(answer) => {
                let reusable = answer.keep_alive && is_sent && !self.hung_up && !is_last;
                if reusable {
                    self.phase = Phase::Idle;
                }
                Ok(Outcome::Answered {
                    answer,
                    age,
                    reusable,
                    more,
                })
            }
        }
    }

    fn ended(&mut self) -> Result<Outcome, Failure> {
        let answer = self.parser.end().ok_or(Failure::Reset)?;
        let transport = self.transport.as_ref();
        Ok(Outcome::Answered {
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
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(e) => Err(e),
    }
}
