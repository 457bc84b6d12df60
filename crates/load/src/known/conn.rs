//! A connection of a known server: reads requests and runs script steps.

use super::script::{Act, Script, Step};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Maximum size of a request head, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// Bytes read or filled at once.
const PIECE: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Conn {
    pub(super) stream: TcpStream,
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
    /// Whether the current request is refused.
    pub(super) refused: bool,
}

/// The result of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// A complete request.
    Request,
    /// Incomplete.
    Nothing,
    /// The client has gone, or does not speak HTTP.
    Gone,
}

/// The result of running a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Did {
    /// The next step is due at [`Conn::due`].
    Step,
    /// The script is complete; the next request may come.
    All,
    /// The socket is full.
    Blocked,
    /// The connection must be closed.
    Close,
}

impl Conn {
    pub(super) fn new(stream: TcpStream) -> Conn {
        Conn {
            stream,
            head: Vec::new(),
            body_left: 0,
            step: None,
            done: 0,
            due: Duration::ZERO,
            order: 0,
            refused: false,
        }
    }

    /// Whether a request is being answered.
    pub(super) fn is_answering(&self) -> bool {
        self.step.is_some()
    }

    /// Reads until a request is complete or no more data is available.
    pub(super) fn hear(&mut self, buf: &mut [u8]) -> Heard {
        loop {
            match (&self.stream).read(buf) {
                Ok(0) => return Heard::Gone,
                Ok(n) => match self.take(&buf[..n]) {
                    Heard::Nothing => {}
                    heard => return heard,
                },
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Heard::Nothing,
                Err(_) => return Heard::Gone,
            }
        }
    }

    /// Consumes bytes of one request. No client of this server pipelines, so
    /// bytes after its end are dropped.
    fn take(&mut self, bytes: &[u8]) -> Heard {
        if self.body_left > 0 {
            self.body_left = self.body_left.saturating_sub(bytes.len() as u64);
            return match self.body_left {
                0 => Heard::Request,
                _ => Heard::Nothing,
            };
        }
        self.head.extend_from_slice(bytes);
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&self.head) {
            Ok(httparse::Status::Complete(length)) => {
                let body = content_length(request.headers).unwrap_or(0);
                let here = (self.head.len() - length) as u64;
                self.head.clear();
                self.body_left = body.saturating_sub(here);
                match self.body_left {
                    0 => Heard::Request,
                    _ => Heard::Nothing,
                }
            }
            Ok(httparse::Status::Partial) if self.head.len() <= MAX_HEAD => Heard::Nothing,
            Ok(httparse::Status::Partial) | Err(_) => Heard::Gone,
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
    pub(super) fn act(&mut self, script: &Script, filling: &[u8]) -> Did {
        let Some(step) = self.step.and_then(|i| script.steps.get(i)) else {
            return Did::All;
        };
        let rest = match &step.act {
            Act::Close => return Did::Close,
            Act::Send(bytes) => &bytes[self.done as usize..],
            Act::Fill(total) => {
                let left = total - self.done;
                &filling[..usize::try_from(left).map_or(PIECE, |left| left.min(PIECE))]
            }
        };
        match (&self.stream).write(rest) {
            Ok(n) => self.done += n as u64,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Did::Blocked,
            Err(_) => return Did::Close,
        }
        if self.done < length(step) {
            return Did::Step;
        }
        self.next(script)
    }

    fn next(&mut self, script: &Script) -> Did {
        self.done = 0;
        let next = self.step.map_or(0, |step| step + 1);
        match script.steps.get(next) {
            Some(step) => {
                self.step = Some(next);
                self.due += step.after;
                Did::Step
            }
            None => {
                self.step = None;
                Did::All
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
