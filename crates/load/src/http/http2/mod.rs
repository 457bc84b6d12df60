//! One connection of HTTP/2 with several requests at a time.
//!
//! Framing, compression of heads and flow control are h2's (RFC 9113). It is driven without a
//! runtime: the epoll loop says when the socket is ready, and each step reads once, so that the
//! kernel's stamp of a read is that of the answers that ended with it.

mod form;
mod grpc;
mod probe;
mod wire;

pub(super) use form::{Form, form};
pub(super) use probe::ask;

use super::conn::Outcome;
use super::parser::{Answer, GrpcStatus, Sink};
use super::request::Request;
use super::transport::Transport;
use crate::tally::Failure;
use bytes::Bytes;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::response::Parts;
use std::collections::VecDeque;
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use wire::Shared;

/// The windows that the server may fill (RFC 9113, section 6.9), so that this side never slows it
/// down: the largest but one, because the largest leaves no room for an update.
const WINDOW: u32 = 1 << 30;

/// How many cancelled streams are remembered, for as long as answers to them may come.
const MOST_RESET: usize = 1 << 16;

/// Bytes read in a row, so that a long answer does not delay other connections.
const MOST_READ: usize = 64 << 10;

pub(super) struct Http2 {
    wire: Shared,
    sender: SendRequest<Bytes>,
    connection: Connection<Shared, Bytes>,
    streams: Vec<Stream>,
    woken: Arc<Woken>,
    /// An empty list, for its capacity.
    spare: Vec<usize>,
    /// What ended and was not reported yet.
    ended: VecDeque<Ended>,
    is_over: bool,
    /// The server takes no more requests on it, and may answer those that it has.
    goes_away: bool,
    /// What h2 says of the end of the connection, and of a request that ended without an answer.
    error: Option<String>,
    ended_alone: Option<String>,
}

impl std::fmt::Debug for Http2 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http2").finish_non_exhaustive()
    }
}

/// Streams that can go on.
#[derive(Debug, Default)]
struct Woken(Mutex<Vec<usize>>);

impl Woken {
    fn swap(&self, with: &mut Vec<usize>) {
        let mut woken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *woken, with);
    }

    fn push(&self, at: usize) {
        let mut woken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        woken.push(at);
    }
}

/// Notes that the stream at this place can go on.
struct StreamWaker {
    at: usize,
    woken: Arc<Woken>,
}

impl Wake for StreamWaker {
    fn wake(self: Arc<Self>) {
        self.woken.push(self.at);
    }
}

/// A place for one request at a time.
struct Stream {
    waker: Waker,
    open: Option<Open>,
}

/// A request that is being sent or answered.
struct Open {
    state: State,
    /// Its drop would reset the stream.
    _sending: SendStream<Bytes>,
    sink: Sink,
    bytes: u64,
    head: Option<Parts>,
}

enum State {
    Asked(ResponseFuture),
    Answering(RecvStream),
}

/// The end of a request.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) at: usize,
    pub(super) how: Result<Answer, Lost>,
    /// Time between the arrival of the end and its reading.
    age: Duration,
    /// When it was read: others that were read with it are reported first.
    read_at: Instant,
    /// What is kept of the answer.
    pub(super) kept: Option<Kept>,
}

/// Head and body of an answer.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) head: Parts,
    pub(super) body: Vec<u8>,
}

/// Why a request has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    Failed(Failure),
    /// The server says that it has not begun with it (GOAWAY).
    Refused,
}

/// Why a request was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotSent {
    /// The server takes no more at a time.
    Full,
    /// The server takes no more on this connection, or the connection is over.
    GoesAway,
    /// Its form is none of HTTP/2.
    Impossible,
}

/// What a step gave.
#[derive(Debug)]
pub(super) enum Step {
    /// Wait for the next edge.
    Nothing,
    /// There may be more to read without a new edge.
    More,
    Ended {
        ended: Ended,
        /// Whether the connection takes further requests.
        reusable: bool,
        more: bool,
    },
    /// The connection is over, and all its requests have ended.
    Over(Failure),
}

impl Http2 {
    /// Begins on a connection that is open, and secured if need be; with places for so many requests
    /// at a time.
    pub(super) fn begin(transport: Transport, streams: NonZeroU32) -> Result<Http2, Failure> {
        let wire = Shared::new(transport);
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .initial_max_send_streams(streams.get() as usize)
            // A server may answer what was cancelled meanwhile; that is no fault of the connection.
            .max_concurrent_reset_streams(MOST_RESET)
            .max_local_error_reset_streams(None);
        let begun = pin!(builder.handshake(wire.clone()));
        let (sender, connection) = match begun.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(begun)) => begun,
            // A new connection takes the few bytes of a preface.
            Poll::Ready(Err(_)) | Poll::Pending => {
                return Err(wire.get().broken.unwrap_or(Failure::Reset));
            }
        };
        let woken = Arc::<Woken>::default();
        let streams = (0..streams.get() as usize).map(|at| Stream {
            waker: Waker::from(Arc::new(StreamWaker {
                at,
                woken: Arc::clone(&woken),
            })),
            open: None,
        });
        Ok(Http2 {
            wire,
            sender,
            connection,
            streams: streams.collect(),
            woken,
            spare: Vec::new(),
            ended: VecDeque::new(),
            is_over: false,
            goes_away: false,
            error: None,
            ended_alone: None,
        })
    }

    /// Whether it takes further requests, as far as is known.
    pub(super) fn takes_more(&self) -> bool {
        !self.is_over && !self.goes_away
    }

    /// How many requests at a time the server takes on a connection, as far as is known.
    pub(super) fn streams_of_server(&self) -> usize {
        self.connection.max_concurrent_send_streams()
    }

    /// Whether the head of an answer is there.
    pub(super) fn has_answer_begun(&self, at: usize) -> bool {
        let open = self.streams[at].open.as_ref();
        open.is_some_and(|open| open.head.is_some())
    }

    /// Sends a request at a free place.
    ///
    /// # Errors
    /// It was not sent.
    pub(super) fn send(&mut self, at: usize, form: Form, sink: Sink) -> Result<(), NotSent> {
        let in_use = self.streams.iter().filter(|stream| stream.open.is_some());
        // h2 would keep it back, unseen.
        if in_use.count() >= self.streams_of_server() {
            return Err(NotSent::Full);
        }
        let ends = form.body.is_empty();
        let sent = self.sender.send_request(form.head, ends);
        let (answer, mut sending) = sent.map_err(|error| self.not_sent(&error))?;
        if !ends {
            let sent = sending.send_data(form.body, true);
            sent.map_err(|error| self.not_sent(&error))?;
        }
        self.streams[at].open = Some(Open {
            state: State::Asked(answer),
            _sending: sending,
            sink,
            bytes: 0,
            head: None,
        });
        self.go_on(at);
        self.drive(0);
        Ok(())
    }

    fn not_sent(&mut self, error: &h2::Error) -> NotSent {
        let is_of_connection = error.is_io() || error.reason().is_some();
        self.goes_away |= is_of_connection;
        match is_of_connection {
            true => NotSent::GoesAway,
            false => NotSent::Impossible,
        }
    }

    /// As [`Http2::send`], for a connection of a load. `filled` is the request, unless it is the same
    /// each time.
    pub(super) fn offer(&mut self, stream: usize, request: &Request, filled: &[u8]) -> Outcome {
        let is_secure = self.wire.get().transport.is_secure();
        let form = request.for_http2(filled, is_secure);
        let sent = match form {
            Some(form) => self.send(stream, form, request.sink()),
            None => Err(NotSent::Impossible),
        };
        let failure = Failure::Protocol;
        match sent {
            Ok(()) if self.is_over || !self.ended.is_empty() => Outcome::More,
            Ok(()) => Outcome::Nothing,
            Err(NotSent::Full) => Outcome::Full { stream },
            Err(NotSent::GoesAway) => Outcome::NotSent { stream },
            Err(NotSent::Impossible) => Outcome::Failed { stream, failure },
        }
    }

    /// Gives a request up, and resets its stream (RST_STREAM).
    pub(super) fn cancel(&mut self, at: usize) {
        self.streams[at].open = None;
        self.ended.retain(|ended| ended.at != at);
        self.drive(0);
    }

    /// Continues after an edge, or after [`Step::More`]: at most one request ends. `hung_up`: the
    /// server has closed its side, so that there is an end to be read after the last bytes.
    pub(super) fn step(&mut self, hung_up: bool) -> Step {
        self.wire.get_mut().read = 0;
        loop {
            if let Some(ended) = self.ended.pop_front() {
                let wire = self.wire.get();
                let may_read = hung_up || !wire.is_drained;
                let more = !self.ended.is_empty() || self.is_over || may_read;
                let reusable = self.takes_more();
                return Step::Ended {
                    ended,
                    reusable,
                    more,
                };
            }
            if self.is_over {
                let failure = self.wire.get().broken;
                return Step::Over(failure.unwrap_or(Failure::Protocol));
            }
            if self.wire.get().read >= MOST_READ {
                return Step::More;
            }
            self.wire.get_mut().is_drained = false;
            self.drive(1);
            // Where h2 does not read, it waits to write.
            let is_blocked = self.wire.get().reads > 0;
            let is_drained = self.wire.get().is_drained && !hung_up;
            if (is_blocked || is_drained) && self.ended.is_empty() && !self.is_over {
                return Step::Nothing;
            }
        }
    }

    /// Writes what is to be written, reads so many times, and has the streams go on.
    fn drive(&mut self, reads: u32) {
        self.wire.get_mut().reads = reads;
        let mut context = Context::from_waker(Waker::noop());
        let polled = Pin::new(&mut self.connection).poll(&mut context);
        if let Poll::Ready(ended) = polled {
            self.is_over = true;
            self.error = self.error.take().or(ended.err().map(|why| why.to_string()));
        }
        let mut woken = std::mem::take(&mut self.spare);
        self.woken.swap(&mut woken);
        for at in woken.drain(..) {
            self.go_on(at);
        }
        self.spare = woken;
        if self.is_over {
            // None of them is woken again.
            (0..self.streams.len()).for_each(|at| self.go_on(at));
        }
    }

    fn go_on(&mut self, at: usize) {
        let stream = &mut self.streams[at];
        let Some(open) = &mut stream.open else {
            return;
        };
        let how = match open.poll(&mut Context::from_waker(&stream.waker)) {
            Poll::Ready(Ok(answer)) => Ok(answer),
            Poll::Ready(Err(error)) => {
                self.ended_alone = Some(error.to_string());
                // What has begun to be answered is not sent again, whatever the server says.
                let has_begun = open.head.is_some();
                let lost = match self.lost(&error) {
                    Lost::Refused if has_begun => Lost::Failed(Failure::Reset),
                    lost => lost,
                };
                self.goes_away |= lost == Lost::Refused;
                Err(lost)
            }
            Poll::Pending if self.is_over => {
                let why = self.wire.get().broken;
                Err(Lost::Failed(why.unwrap_or(Failure::Reset)))
            }
            Poll::Pending => return,
        };
        let open = self.streams[at].open.take();
        let kept = open.and_then(|open| {
            let body = open.sink.into_kept();
            open.head.map(|head| Kept { head, body })
        });
        let age = self.wire.age();
        self.ended.push_back(Ended {
            at,
            how,
            age,
            read_at: Instant::now(),
            kept,
        });
    }

    /// What an error of h2 means for a request.
    fn lost(&self, error: &h2::Error) -> Lost {
        match self.wire.get().broken {
            Some(failure) => Lost::Failed(failure),
            None if error.is_go_away() && error.is_remote() => Lost::Refused,
            None if error.is_reset() && error.is_remote() => Lost::Failed(Failure::Reset),
            None if error.is_io() => Lost::Failed(Failure::Reset),
            None => Lost::Failed(Failure::Protocol),
        }
    }

    /// The transport, to close it.
    pub(super) fn abort(self) {
        let Http2 {
            wire,
            sender,
            connection,
            ..
        } = self;
        drop((sender, connection));
        wire.abort();
    }
}

impl From<Step> for Outcome {
    fn from(step: Step) -> Outcome {
        match step {
            Step::Nothing => Outcome::Nothing,
            Step::More => Outcome::More,
            Step::Over(failure) => Outcome::Lost(failure),
            Step::Ended {
                ended,
                reusable,
                more,
            } => match ended.how {
                Ok(answer) => Outcome::Answered {
                    stream: ended.at,
                    answer,
                    age: ended.age + ended.read_at.elapsed(),
                    reusable,
                    more,
                },
                Err(Lost::Failed(failure)) => Outcome::Failed {
                    stream: ended.at,
                    failure,
                },
                Err(Lost::Refused) => Outcome::Refused { stream: ended.at },
            },
        }
    }
}

impl Open {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Answer, h2::Error>> {
        loop {
            match &mut self.state {
                State::Asked(answer) => {
                    let Poll::Ready(answer) = Pin::new(answer).poll(context)? else {
                        return Poll::Pending;
                    };
                    let (head, body) = answer.into_parts();
                    self.head = Some(head);
                    self.state = State::Answering(body);
                }
                State::Answering(body) => match body.poll_data(context)? {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(data)) => {
                        self.bytes += data.len() as u64;
                        self.sink.take(&data);
                        body.flow_control().release_capacity(data.len())?;
                    }
                    Poll::Ready(None) => {
                        let head = self.head.as_ref().map(|head| &head.headers);
                        let Some(head) = head.filter(|head| grpc::is_answer(head)) else {
                            return Poll::Ready(Ok(self.answer(None)));
                        };
                        let Poll::Ready(trailers) = body.poll_trailers(context)? else {
                            return Poll::Pending;
                        };
                        let status = grpc::status(trailers.as_ref().unwrap_or(head));
                        return Poll::Ready(Ok(self.answer(Some(status))));
                    }
                },
            }
        }
    }

    fn answer(&self, grpc: Option<GrpcStatus>) -> Answer {
        Answer {
            status: self.head.as_ref().map_or(0, |head| head.status.as_u16()),
            body_bytes: self.bytes,
            keep_alive: true,
            has_text: self.sink.has_text(),
            grpc,
        }
    }
}
