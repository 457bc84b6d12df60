//! Checks the service with one request before the load.

use super::http2;
use super::local_ports;
use super::parser::{Answer, GrpcStatus, MAX_HEAD, Parser, Progress, location};
use super::probe_error::{ProbeError, TimeLimit, shown_location};
use super::request::Request;
use super::target::Target;
use super::transport::{Broken, Input, Transport};
use crate::LoadError;
use plimsoll_model::Bytes;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// Bytes read at once.
const BUFFER: usize = 64 << 10;
/// How long to watch for a close after the answer; servers that close do so at
/// once.
const CLOSE_WATCH: Duration = Duration::from_millis(20);

/// A service's answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    pub peer: SocketAddr,
    /// The status, which was expected.
    pub status: u16,
    pub body: Bytes,
    /// Whether the server keeps the connection open for further requests.
    pub keeps_alive: bool,
    /// From the sending of the request to the end of the answer.
    pub took: Duration,
}

/// Sends one request; see [`super::HttpLoad::probe`].
pub(super) fn probe(
    target: &Target,
    request: &Request,
    bytes: &[u8],
    within: Duration,
) -> Result<Probe, LoadError> {
    let (peer, answer) = answered(target, request, bytes, (within, CLOSE_WATCH))?;
    Ok(Probe {
        peer,
        status: answer.answer.status,
        body: Bytes(answer.answer.body_bytes),
        keeps_alive: answer.answer.keep_alive,
        took: answer.took,
    })
}

/// A good answer.
pub(super) struct Answered {
    pub(super) answer: Answer,
    pub(super) took: Duration,
    /// Its head, and what of the body came with it.
    pub(super) opening: Vec<u8>,
    pub(super) body: Vec<u8>,
}

/// Sends one request, whose answer is wanted for what it says.
pub(super) fn ask(
    target: &Target,
    request: &Request,
    bytes: &[u8],
    within: Duration,
) -> Result<Answered, LoadError> {
    answered(target, request, bytes, (within, Duration::ZERO)).map(|(_, answer)| answer)
}

/// The subject of sentences.
fn subject(target: &Target, request: &Request) -> String {
    match &request.called {
        Some(called) => format!("{} (asked by {called})", target.url),
        None => target.url.clone(),
    }
}

fn answered(
    target: &Target,
    request: &Request,
    bytes: &[u8],
    (within, watch): (Duration, Duration),
) -> Result<(SocketAddr, Answered), LoadError> {
    let url = &subject(target, request);
    let failed = |peer: Option<SocketAddr>, error: ProbeError| {
        let sentence = format!("{url} {error}");
        match error.silent_peer(peer) {
            Some(peer) => LoadError::Silent {
                url: url.clone(),
                peer,
                sentence,
            },
            None => LoadError::Service(sentence),
        }
    };
    let limit = TimeLimit::of_flag(within);
    let exchange = Exchange::connect(target, Deadline::within(limit));
    let exchange = exchange.map_err(|error| failed(None, error))?;
    let peer = exchange.clock.peer;
    let answer = exchange.run((request, bytes), target.http2, watch);
    Ok((peer, answer.map_err(|error| failed(Some(peer), error))?))
}

/// The end of the whole exchange.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    end: Instant,
    limit: TimeLimit,
}

impl Deadline {
    /// A deadline at this limit from now.
    pub(super) fn within(limit: TimeLimit) -> Deadline {
        Deadline {
            end: Instant::now() + limit.within,
            limit,
        }
    }

    /// The remaining time; `None` when it is over.
    fn left(self) -> Option<Duration> {
        let left = self.end.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}

/// The deadline of an exchange, which the time-outs of its socket keep.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    peer: SocketAddr,
    deadline: Deadline,
}

impl Clock {
    /// The same with a deadline of its own.
    pub(super) fn ending(self, limit: TimeLimit) -> Clock {
        Clock {
            deadline: Deadline::within(limit),
            ..self
        }
    }

    /// Sets the socket's time-outs to the remaining time; an error if none is
    /// left.
    pub(super) fn set(
        self,
        stream: &TcpStream,
        over: impl FnOnce(TimeLimit) -> ProbeError,
    ) -> Result<(), ProbeError> {
        let Some(left) = self.deadline.left() else {
            return Err(over(self.deadline.limit));
        };
        let set: io::Result<()> = stream
            .set_read_timeout(Some(left))
            .and_then(|()| stream.set_write_timeout(Some(left)));
        set.map_err(|error| ProbeError::NotConnected {
            peer: self.peer,
            error,
        })
    }
}

/// One request on a blocking connection.
pub(super) struct Exchange {
    transport: Transport,
    clock: Clock,
    /// The beginning of the answer, for messages.
    opening: Vec<u8>,
    received: u64,
}

impl Exchange {
    /// Connects to the first address that accepts.
    pub(super) fn connect(target: &Target, deadline: Deadline) -> Result<Exchange, ProbeError> {
        let mut last_error = None;
        for &peer in target.addresses() {
            let result = match deadline.left() {
                Some(left) => TcpStream::connect_timeout(&peer, left),
                None => Err(ErrorKind::TimedOut.into()),
            };
            match result {
                Ok(stream) => {
                    local_ports::note(&stream);
                    target.use_address(peer);
                    let session = target.session().map_err(ProbeError::Tls)?;
                    return Ok(Exchange {
                        transport: Transport::blocking(stream, session),
                        clock: Clock { peer, deadline },
                        opening: Vec::new(),
                        received: 0,
                    });
                }
                Err(error) => last_error = Some(ProbeError::NotConnected { peer, error }),
            }
        }
        // Unreachable: a target has at least one address.
        Err(last_error.unwrap_or(ProbeError::NoAnswer))
    }

    /// The connection is watched for so long after the answer.
    fn run(
        mut self,
        (request, bytes): (&Request, &[u8]),
        http2: Option<NonZeroU32>,
        watch: Duration,
    ) -> Result<Answered, ProbeError> {
        self.handshake()?;
        let answered = match http2 {
            Some(streams) => {
                http2::ask(self.transport, streams, (request, bytes), self.clock, watch)?
            }
            None => self.ask(request, bytes, watch)?,
        };
        let answer = &answered.answer;
        if !request.expects(answer.status) {
            let location = location(&answered.opening);
            return Err(ProbeError::Status {
                status: answer.status,
                expected: request.expected_status,
                location: location.map(|to| shown_location(&to, request.may_be_secret)),
                opening: answered.opening,
            });
        }
        let is_text_missing = !answer.has_text;
        match answer.grpc {
            Some(GrpcStatus::OK) | None if is_text_missing => {
                Err(ProbeError::Text(Bytes(answer.body_bytes)))
            }
            status if !request.is_good(answer) => Err(ProbeError::Grpc(status)),
            _ => Ok(answered),
        }
    }

    fn ask(
        &mut self,
        request: &Request,
        bytes: &[u8],
        watch: Duration,
    ) -> Result<Answered, ProbeError> {
        let began = Instant::now();
        self.send(bytes)?;
        let answer = self.receive(request);
        let (mut answer, body) = answer.map_err(|error| error.without_echo(bytes))?;
        let took = began.elapsed();
        if request.is_good(&answer) && !watch.is_zero() {
            answer.keep_alive = answer.keep_alive && self.stays_open(watch)?;
        }
        Ok(Answered {
            answer,
            took,
            opening: std::mem::take(&mut self.opening),
            body,
        })
    }

    pub(super) fn handshake(&mut self) -> Result<(), ProbeError> {
        loop {
            self.set_timeouts(ProbeError::TlsTimeout)?;
            match self.transport.handshake() {
                Ok(true) => return Ok(()),
                // One step, the time-out, or a signal.
                Ok(false) => {}
                Err(Broken::Tls(error)) => return Err(ProbeError::Tls(error)),
                Err(Broken::Socket(error)) => return Err(ProbeError::TlsEnded(error)),
            }
        }
    }

    pub(super) fn send(&mut self, request: &[u8]) -> Result<(), ProbeError> {
        let mut written = 0;
        loop {
            self.set_timeouts(ProbeError::NotTaken)?;
            let step = match written < request.len() {
                true => self.transport.write(&request[written..]),
                false => match self.transport.flush() {
                    Ok(true) => return Ok(()),
                    other => other.map(|_| 0),
                },
            };
            match step {
                Ok(n) => written += n,
                Err(Broken::Tls(error)) => return Err(ProbeError::Tls(error)),
                // An answer sent before may still be readable.
                Err(Broken::Socket(_)) => return Ok(()),
            }
        }
    }

    /// The answer, and what of its body is kept.
    fn receive(&mut self, request: &Request) -> Result<(Answer, Vec<u8>), ProbeError> {
        let mut parser = Parser::new(request.is_head);
        parser.expect(request.is_head, request.sink());
        let answer = self.receive_into(&mut parser)?;
        Ok((answer, parser.into_kept()))
    }

    fn receive_into(&mut self, parser: &mut Parser) -> Result<Answer, ProbeError> {
        let mut buf = vec![0; BUFFER];
        loop {
            let received = Bytes(self.received);
            self.set_timeouts(|within| match received.0 {
                0 => ProbeError::Silent(within),
                _ => ProbeError::Endless {
                    within,
                    bytes: received,
                },
            })?;
            let bytes = match self.transport.read(&mut buf) {
                Ok(Input::Data { bytes, .. }) => bytes,
                Ok(Input::Blocked) => continue,
                Ok(Input::End) => return parser.end().ok_or_else(|| self.ended()),
                Ok(Input::Cut) => return Err(self.cut(parser.end())),
                Err(Broken::Socket(_)) => return Err(self.ended()),
                Err(Broken::Tls(error)) => return Err(ProbeError::Tls(error)),
            };
            let data = &buf[..bytes];
            self.received += bytes as u64;
            let keep = bytes.min(MAX_HEAD - self.opening.len());
            self.opening.extend_from_slice(&data[..keep]);
            match parser.feed(data) {
                Ok((_, Progress::More)) => {}
                Ok((used, Progress::Done(answer))) if used == bytes => return Ok(answer),
                Ok(_) => return Err(ProbeError::Extra),
                Err(error) => {
                    let opening = std::mem::take(&mut self.opening);
                    return Err(ProbeError::NotHttp { error, opening });
                }
            }
        }
    }

    /// Reads one complete answer with its head, at most `most` bytes.
    pub(super) fn receive_all(&mut self, most: usize) -> Result<Vec<u8>, ProbeError> {
        let mut all = Vec::new();
        let mut parser = Parser::new(false);
        let mut buf = vec![0; BUFFER];
        loop {
            let bytes = Bytes(self.received);
            self.set_timeouts(|within| ProbeError::Endless { within, bytes })?;
            match self.transport.read(&mut buf) {
                Ok(Input::Data { bytes, .. }) if all.len() + bytes <= most => {
                    self.received += bytes as u64;
                    all.extend_from_slice(&buf[..bytes]);
                    match parser.feed(&buf[..bytes]) {
                        Ok((_, Progress::More)) => {}
                        Ok((used, Progress::Done(_))) if used == bytes => return Ok(all),
                        Ok(_) => return Err(ProbeError::Extra),
                        Err(error) => {
                            all.truncate(MAX_HEAD);
                            let opening = all;
                            return Err(ProbeError::NotHttp { error, opening });
                        }
                    }
                }
                Ok(Input::Blocked) => {}
                Ok(Input::End) => {
                    return parser.end().map(|_| all).ok_or_else(|| self.ended());
                }
                Ok(Input::Cut) => return Err(self.cut(parser.end())),
                Ok(Input::Data { .. }) => return Err(ProbeError::TooLong(Bytes(most as u64))),
                Err(Broken::Socket(_)) => return Err(self.ended()),
                Err(Broken::Tls(error)) => return Err(ProbeError::Tls(error)),
            }
        }
    }

    fn ended(&self) -> ProbeError {
        match self.received {
            0 => ProbeError::NoAnswer,
            received => ProbeError::CutOff(Bytes(received)),
        }
    }

    /// The TLS session was not closed; `whole` is the answer if it would be complete
    /// with the end of the connection.
    fn cut(&self, whole: Option<Answer>) -> ProbeError {
        match whole {
            Some(_) => ProbeError::Unclosed(Bytes(self.received)),
            None => self.ended(),
        }
    }

    /// Whether the server actually leaves the connection open.
    fn stays_open(&mut self, watch: Duration) -> Result<bool, ProbeError> {
        let watch = Deadline::within(TimeLimit::fixed(watch));
        let mut byte = [0];
        while let Some(left) = watch.left() {
            let set = self.transport.stream().set_read_timeout(Some(left));
            match set
                .map_err(Broken::Socket)
                .and_then(|()| self.transport.read(&mut byte))
            {
                // Such as a session ticket.
                Ok(Input::Blocked) => {}
                Ok(Input::Data { .. }) => return Err(ProbeError::Extra),
                Ok(Input::End | Input::Cut) | Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    fn set_timeouts(&self, over: impl FnOnce(TimeLimit) -> ProbeError) -> Result<(), ProbeError> {
        self.clock.set(self.transport.stream(), over)
    }
}
