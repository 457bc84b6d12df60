//! One connection: what its socket's readiness means in the state it is in.

use super::parser::{Answer, Parser, Progress};
use super::target::Target;
use super::transport::{Broken, Input, Transport};
use crate::tally::Failure;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// There is none; it will be opened.
    Closed,
    /// TCP is being connected.
    Connecting,
    /// TLS is being set up.
    Securing,
    /// It may take a request.
    Idle,
    /// A request is being sent or answered.
    Busy {
        /// When the request was intended to start.
        intended_ns: u64,
        /// How many bytes of it were written.
        written: usize,
    },
}

/// What came of looking at a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing; the next edge will tell.
    Nothing,
    /// There may be more to read, and no edge will tell.
    More,
    /// It was established and is idle.
    Established,
    /// The request has been answered.
    Answered {
        /// By this.
        answer: Answer,
        /// How long before it was read its end had come.
        age: Duration,
        /// Whether the connection is idle now; otherwise it must be closed.
        reusable: bool,
        /// There may be more to read, and no edge will tell.
        more: bool,
    },
    /// It must be closed; in what phase it was decides what that means.
    Lost(Failure),
}

/// One of the connections of a generator thread.
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) phase: Phase,
    /// It has answered at least once since it was opened.
    pub(super) proven: bool,
    /// The last attempt to open it failed.
    pub(super) failing: bool,
    /// It stands in the queue of those to be read again.
    pub(super) queued: bool,
    /// Counts its sockets, so that news of an old one is not taken for news of
    /// the present one.
    pub(super) generation: u32,
    /// The server has closed its side: reading goes on until that shows.
    hung_up: bool,
    transport: Option<Transport>,
    parser: Parser,
}

impl Conn {
    /// A connection that is closed.
    pub(super) fn new(answers_head: bool) -> Conn {
        Conn {
            phase: Phase::Closed,
            proven: false,
            failing: false,
            queued: false,
            generation: 0,
            hung_up: false,
            transport: None,
            parser: Parser::new(answers_head),
        }
    }

    /// Begins to connect; the socket is to be watched.
    pub(super) fn open(&mut self, target: &Target) -> Result<&TcpStream, Failure> {
        self.phase = Phase::Connecting;
        let stream = begin_connect(target.address()).map_err(|_| Failure::Connect)?;
        let session = target.session().map_err(|_| Failure::Tls)?;
        self.generation = self.generation.wrapping_add(1);
        self.proven = false;
        self.hung_up = false;
        self.parser.reset();
        Ok(self
            .transport
            .insert(Transport::new(stream, session))
            .stream())
    }

    /// Closes it. One that still owed an answer is aborted, so that the
    /// server need not finish it.
    pub(super) fn close(&mut self) {
        let owed = matches!(self.phase, Phase::Busy { .. });
        self.phase = Phase::Closed;
        if let Some(transport) = self.transport.take()
            && owed
        {
            transport.abort();
        }
    }

    /// Closes it, leaving nothing behind in the kernel.
    pub(super) fn abort(&mut self) {
        self.phase = Phase::Closed;
        if let Some(transport) = self.transport.take() {
            transport.abort();
        }
    }

    /// Begins a request on an idle connection.
    pub(super) fn send(&mut self, intended_ns: u64, request: &[u8]) -> Outcome {
        self.phase = Phase::Busy {
            intended_ns,
            written: 0,
        };
        match self.write(request) {
            Ok(()) => Outcome::Nothing,
            Err(failure) => Outcome::Lost(failure),
        }
    }

    /// Goes on after an edge, or after [`Outcome::More`]. At most one `buf` of
    /// bytes is read, so that one long answer does not hold up the others.
    pub(super) fn advance(&mut self, hang_up: bool, request: &[u8], buf: &mut [u8]) -> Outcome {
        self.hung_up |= hang_up;
        let result = match self.phase {
            Phase::Closed => Ok(Outcome::Nothing),
            Phase::Connecting => self.connected(),
            Phase::Securing => self.secure(),
            Phase::Idle => self.read_idle(buf),
            Phase::Busy { written, .. } => {
                // A server may answer, and close, without reading it all.
                let sent = match written < request.len() {
                    true => self.write(request),
                    false => self.flush(),
                };
                match self.read_answer(request, buf) {
                    Ok(Outcome::Nothing) => sent.map(|()| Outcome::Nothing),
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
        let Some(transport) = &mut self.transport else {
            return Ok(Outcome::Nothing);
        };
        // Whatever ends a handshake, the handshake failed.
        if transport.handshake().map_err(|_| Failure::Tls)? {
            self.phase = Phase::Idle;
            return Ok(Outcome::Established);
        }
        Ok(Outcome::Nothing)
    }

    fn write(&mut self, request: &[u8]) -> Result<(), Failure> {
        let (Some(transport), Phase::Busy { written, .. }) = (&mut self.transport, &mut self.phase)
        else {
            return Ok(());
        };
        while *written < request.len() {
            match transport.write(&request[*written..]).map_err(broken)? {
                0 => return Ok(()),
                n => *written += n,
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        match &mut self.transport {
            Some(transport) => transport.flush().map(|_| ()).map_err(broken),
            None => Ok(()),
        }
    }

    /// Nothing is to be said on an idle connection but that it is closed.
    fn read_idle(&mut self, buf: &mut [u8]) -> Result<Outcome, Failure> {
        let Some(transport) = &mut self.transport else {
            return Ok(Outcome::Nothing);
        };
        match transport.read(buf).map_err(broken)? {
            Input::Blocked => Ok(Outcome::Nothing),
            Input::End => Err(Failure::Reset),
            Input::Data { .. } => Err(Failure::Protocol),
        }
    }

    fn read_answer(&mut self, request: &[u8], buf: &mut [u8]) -> Result<Outcome, Failure> {
        let Some(transport) = &mut self.transport else {
            return Ok(Outcome::Nothing);
        };
        let (bytes, drained) = match transport.read(buf).map_err(broken)? {
            Input::Blocked => return Ok(Outcome::Nothing),
            Input::End => return self.ended(),
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
                let sent =
                    matches!(self.phase, Phase::Busy { written, .. } if written == request.len());
                let reusable = answer.keep_alive && sent && !self.hung_up;
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

fn broken(broken: Broken) -> Failure {
    match broken {
        Broken::Socket(_) => Failure::Reset,
        Broken::Tls(_) => Failure::Tls,
    }
}

/// A socket that is being connected without waiting.
fn begin_connect(address: SocketAddr) -> Result<TcpStream, Errno> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    // A request is one write: waiting for more to send would only delay it.
    sockopt::set_tcp_nodelay(&socket, true)?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(e) => Err(e),
    }
}
