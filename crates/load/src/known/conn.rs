//! A connection of a known server: reads requests and runs script steps.

use super::script::{Act, Script, Step};
use crate::http::timestamp::TimestampedSocket;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Maximum size of a request head, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// Bytes read or filled at once.
const PIECE: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Conn {
    socket: TimestampedSocket,
    /// The head of the next request, received so far.
    head: Vec<u8>,
    /// Remaining bytes of the current request's body.
    body_left: u64,
    /// The next step of the script; `None` between requests.
    step: Option<usize>,
    /// Bytes of that step done so far.
    done: u64,
    /// When the step is due, from the server's start.
    pub(super) due: Duration,
    /// Number of the current request, over all connections.
    pub(super) order: u64,
    pub(super) refused: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadEvent {
    Request,
    Incomplete,
    /// The client has gone, or does not speak HTTP.
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepResult {
    /// The next step is due at [`Conn::due`].
    Next,
    /// The script is complete; the next request may come.
    Done,
    /// The socket is full.
    Blocked,
    Close,
}

impl Conn {
    pub(super) fn new(stream: TcpStream) -> Conn {
        Conn {
            socket: TimestampedSocket::new(stream),
            head: Vec::new(),
            body_left: 0,
            step: None,
            done: 0,
            due: Duration::ZERO,
            order: 0,
            refused: false,
        }
    }

    pub(super) fn is_answering(&self) -> bool {
        self.step.is_some()
    }

    /// Reads until a request is complete or no more data is available.
    pub(super) fn read_request(&mut self, buf: &mut [u8]) -> ReadEvent {
        loop {
            match self.socket.read(buf) {
                Ok(0) => return ReadEvent::Gone,
                Ok(n) => match self.take(&buf[..n]) {
                    ReadEvent::Incomplete => {}
                    event => return event,
                },
                Err(e) if e.kind() == ErrorKind::WouldBlock => return ReadEvent::Incomplete,
                Err(_) => return ReadEvent::Gone,
            }
        }
    }

    /// How long ago the last packet of the request came.
    pub(super) fn age(&self) -> Duration {
        self.socket.age
    }

    /// Consumes bytes of one request. No client of this server pipelines, so
    /// bytes after its end are dropped.
    fn take(&mut self, bytes: &[u8]) -> ReadEvent {
        if self.body_left > 0 {
            return self.take_body(self.body_left, bytes.len());
        }
        self.head.extend_from_slice(bytes);
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&self.head) {
            Ok(httparse::Status::Complete(length)) => {
                let body = content_length(request.headers).unwrap_or(0);
                let here = self.head.len() - length;
                self.head.clear();
                self.take_body(body, here)
            }
            Ok(httparse::Status::Partial) if self.head.len() <= MAX_HEAD => ReadEvent::Incomplete,
            Ok(httparse::Status::Partial) | Err(_) => ReadEvent::Gone,
        }
    }

    /// Consumes `here` bytes of a body of which `left` were missing.
    fn take_body(&mut self, left: u64, here: usize) -> ReadEvent {
        self.body_left = left.saturating_sub(here as u64);
        match self.body_left {
            0 => ReadEvent::Request,
            _ => ReadEvent::Incomplete,
        }
    }

    /// Starts the script at `begins` for the server's request number `order`.
    pub(super) fn begin(&mut self, script: &Script, begins: Duration, order: u64) {
        self.order = order;
        self.step = (!script.steps.is_empty()).then_some(0);
        self.done = 0;
        let first = script.steps.first();
        self.due = begins + first.map_or(Duration::ZERO, |step| step.after);
    }

    /// Runs some or all of the due step.
    pub(super) fn run_step(&mut self, script: &Script, filling: &[u8]) -> StepResult {
        let Some(step) = self.step.and_then(|i| script.steps.get(i)) else {
            return StepResult::Done;
        };
        let rest = match &step.act {
            Act::Close => return StepResult::Close,
            Act::Send(bytes) => &bytes[self.done as usize..],
            Act::Fill(total) => {
                let left = total - self.done;
                &filling[..usize::try_from(left).map_or(PIECE, |left| left.min(PIECE))]
            }
        };
        match (&self.socket.stream).write(rest) {
            Ok(n) => self.done += n as u64,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return StepResult::Blocked,
            Err(_) => return StepResult::Close,
        }
        if self.done < length(step) {
            return StepResult::Next;
        }
        self.next(script)
    }

    fn next(&mut self, script: &Script) -> StepResult {
        self.done = 0;
        let next = self.step.map_or(0, |step| step + 1);
        match script.steps.get(next) {
            Some(step) => {
                self.step = Some(next);
                self.due += step.after;
                StepResult::Next
            }
            None => {
                self.step = None;
                StepResult::Done
            }
        }
    }
}

/// Bytes that a step sends.
fn length(step: &Step) -> u64 {
    match &step.act {
        Act::Send(bytes) => bytes.len() as u64,
        Act::Fill(total) => *total,
        Act::Close => 0,
    }
}

fn content_length(headers: &[httparse::Header<'_>]) -> Option<u64> {
    let header = headers
        .iter()
        .find(|h| h.name.eq_ignore_ascii_case("content-length"))?;
    std::str::from_utf8(header.value).ok()?.parse().ok()
}
