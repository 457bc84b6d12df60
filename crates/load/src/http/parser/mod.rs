//! Parses HTTP/1.1 responses and keeps only the status, the length of the body,
//! and whether the connection is reusable (RFC 9112).
//!
//! A pure state machine that accepts bytes in any fragments. It stores at most
//! one head of [`MAX_HEAD`] bytes, and only if the head arrives in several
//! pieces.

mod chunks;
mod head;
mod sink;
#[cfg(test)]
mod tests;

use chunks::Chunks;
use head::{Head, HeadReader};
pub(super) use head::{header_values, location};
pub(crate) use sink::{MOST_KEPT, Needle, Sink};

/// Maximum size of a head, in bytes; servers' own limits for requests are far
/// lower.
pub(crate) const MAX_HEAD: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Length of the body in bytes, without chunk framing.
    pub(crate) body_bytes: u64,
    /// Whether the server keeps the connection open.
    pub(crate) keep_alive: bool,
    /// Whether the body has what was looked for, if anything.
    pub(crate) has_text: bool,
    /// What an answer of gRPC says of the call; `None` for any other answer.
    pub(crate) grpc: Option<GrpcStatus>,
}

/// A status of gRPC: 0 is OK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GrpcStatus(pub(crate) u8);

impl GrpcStatus {
    pub(crate) const OK: GrpcStatus = GrpcStatus(0);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All input was consumed; the response continues.
    More,
    /// The response is complete; unconsumed input lies beyond its end.
    Done(Answer),
}

/// Why bytes are not an HTTP/1.1 response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    #[error("its head is not HTTP/1.1 ({0})")]
    Head(httparse::Error),
    #[error("its head is longer than 64 KiB")]
    HeadTooLong,
    /// Content-Length is not a number, or there are several different ones.
    #[error("its Content-Length is not a single number")]
    Length,
    #[error("its body has invalid chunks")]
    Chunk,
    /// Status 101.
    #[error("it switches to another protocol without a request to do so")]
    Switched,
}

/// Parses the consecutive responses of one connection.
#[derive(Debug)]
pub(crate) struct Parser {
    /// The request is HEAD: its response has no body.
    answers_head: bool,
    sink: Sink,
    head: HeadReader,
    body: Option<Body>,
}

/// A response whose head has been parsed.
#[derive(Debug)]
struct Body {
    head: Head,
    /// Received so far, without framing.
    bytes: u64,
}

/// What is missing of a body.
#[derive(Debug)]
enum Rest {
    Bytes(u64),
    Chunks(Chunks),
    UntilClose,
}

impl Parser {
    /// `answers_head` states that the requests' method is HEAD.
    pub(crate) fn new(answers_head: bool) -> Parser {
        Parser {
            answers_head,
            sink: Sink::default(),
            head: HeadReader::default(),
            body: None,
        }
    }

    /// Before the answer to another request: whether that is HEAD, and what is done with the body.
    pub(crate) fn expect(&mut self, answers_head: bool, sink: Sink) {
        self.answers_head = answers_head;
        self.sink = sink;
    }

    /// The body that was kept.
    pub(crate) fn into_kept(self) -> Vec<u8> {
        self.sink.into_kept()
    }

    pub(crate) fn reset(&mut self) {
        self.head.reset();
        self.body = None;
    }

    /// Consumes bytes of the response and returns how many: all, unless the
    /// response ended earlier. After [`Progress::Done`] the next byte starts
    /// the next response; after an error, call [`Parser::reset`].
    pub(crate) fn feed(&mut self, input: &[u8]) -> Result<(usize, Progress), ParseError> {
        let mut used = 0;
        loop {
            let input = &input[used..];
            let ended = match &mut self.body {
                None => {
                    let (n, head) = self.head.take(input)?;
                    used += n;
                    let Some(head) = head else {
                        return Ok((used, Progress::More));
                    };
                    self.begin(head)?
                }
                Some(body) => {
                    let (n, ended) = body.skip(input, &mut self.sink)?;
                    used += n;
                    if !ended {
                        return Ok((used, Progress::More));
                    }
                    true
                }
            };
            if ended && let Some(body) = self.body.take() {
                return Ok((used, Progress::Done(body.answer(&self.sink))));
            }
        }
    }

    /// The connection was closed: returns the answer that this completes, if
    /// any.
    pub(crate) fn end(&mut self) -> Option<Answer> {
        let body = self.body.take()?;
        matches!(body.head.body, Rest::UntilClose).then(|| body.answer(&self.sink))
    }

    /// Starts the body after a head; `true` if the response has none.
    fn begin(&mut self, mut head: Head) -> Result<bool, ParseError> {
        match head.status {
            101 => return Err(ParseError::Switched),
            // An interim response: the final one follows.
            100..=199 => return Ok(false),
            204 | 304 => head.body = Rest::Bytes(0),
            _ if self.answers_head => head.body = Rest::Bytes(0),
            _ => {}
        }
        let ended = matches!(head.body, Rest::Bytes(0));
        self.body = Some(Body { head, bytes: 0 });
        Ok(ended)
    }
}

/// Status and length of each answer in what a server sent on one connection, up to the
/// first mistake. It is read in pieces of so many bytes, as from a socket.
///
/// # Panics
/// If a piece has no bytes.
pub fn answers(sent: &[u8], to_head: bool, piece: usize) -> Vec<(u16, u64)> {
    let mut parser = Parser::new(to_head);
    let mut found = Vec::new();
    let mut add = |answer: Answer| found.push((answer.status, answer.body_bytes));
    for mut piece in sent.chunks(piece) {
        while !piece.is_empty() {
            match parser.feed(piece) {
                Ok((used, Progress::Done(answer))) => {
                    add(answer);
                    piece = &piece[used..];
                }
                Ok((_, Progress::More)) => break,
                Err(_) => return found,
            }
        }
    }
    parser.end().into_iter().for_each(add);
    found
}

impl Body {
    /// Skips bytes of the body; returns how many, and whether it has ended.
    fn skip(&mut self, input: &[u8], sink: &mut Sink) -> Result<(usize, bool), ParseError> {
        let (used, content, ended) = match &mut self.head.body {
            Rest::Bytes(left) => {
                let n = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                *left -= n as u64;
                sink.take(&input[..n]);
                (n, n, *left == 0)
            }
            Rest::Chunks(chunks) => chunks.skip(input, |content| sink.take(content))?,
            Rest::UntilClose => {
                sink.take(input);
                (input.len(), input.len(), false)
            }
        };
        self.bytes = self.bytes.saturating_add(content as u64);
        Ok((used, ended))
    }

    fn answer(&self, sink: &Sink) -> Answer {
        Answer {
            status: self.head.status,
            body_bytes: self.bytes,
            keep_alive: self.head.keep_alive && !matches!(self.head.body, Rest::UntilClose),
            has_text: sink.has_text(),
            grpc: None,
        }
    }
}
