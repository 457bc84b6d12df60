//! A small HTTP/2 server with known behaviour: one thread, without TLS.

use super::pin;
use bytes::Bytes;
use h2::RecvStream;
use h2::server::{Builder, Connection, Handshake, SendResponse};
use http::Response;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use plimsoll_model::CpuId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::future::Future;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Http2Behaviour {
    /// From a whole request to its answer; `None`: it never answers.
    pub after: Option<Duration>,
    /// In place of an answer it resets the stream.
    pub resets: bool,
    /// After so many requests on a connection it says that it takes no more (GOAWAY), and closes the
    /// connection when they are answered.
    pub requests_per_connection: Option<u32>,
    /// It answers calls of gRPC: so many on a connection with the status OK, and all others with
    /// UNAVAILABLE.
    pub good_calls: Option<u32>,
    /// Requests at a time on a connection.
    pub streams: u32,
}

impl Http2Behaviour {
    /// Answers each request after a fixed time.
    pub fn answer(after: Duration) -> Http2Behaviour {
        Http2Behaviour {
            after: Some(after),
            resets: false,
            requests_per_connection: None,
            good_calls: None,
            streams: 1000,
        }
    }
}

/// What a server has seen.
#[derive(Debug, Default)]
struct Seen {
    connections: AtomicU32,
    most_at_once: AtomicU32,
    bytes: AtomicU32,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct KnownHttp2 {
    addr: SocketAddr,
    seen: Arc<Seen>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl KnownHttp2 {
    /// Starts a server on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// If there is no port or no thread for it.
    pub fn start(behaviour: Http2Behaviour) -> io::Result<KnownHttp2> {
        KnownHttp2::start_on(behaviour, None)
    }

    /// Starts a server that polls on its own CPU: its delays are accurate to some microseconds.
    ///
    /// # Errors
    /// As of [`KnownHttp2::start`], or if it cannot be pinned.
    pub fn start_polling(behaviour: Http2Behaviour, cpu: CpuId) -> io::Result<KnownHttp2> {
        KnownHttp2::start_on(behaviour, Some(cpu))
    }

    fn start_on(behaviour: Http2Behaviour, cpu: Option<CpuId>) -> io::Result<KnownHttp2> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let (seen, stop) = (Arc::<Seen>::default(), Arc::<AtomicBool>::default());
        let (its_seen, its_stop) = (Arc::clone(&seen), Arc::clone(&stop));
        let (report, started) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("known-http2".to_owned())
            .spawn(move || {
                let pinned = pin(cpu);
                let is_pinned = pinned.is_ok();
                // The only receiver waits for this message.
                let _ = report.send(pinned);
                if is_pinned {
                    serve(&listener, behaviour, cpu.is_some(), &its_seen, &its_stop);
                }
            })?;
        let gone = |_| Err(ErrorKind::BrokenPipe.into());
        started.recv().unwrap_or_else(gone)?;
        Ok(KnownHttp2 {
            addr,
            seen,
            stop,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Connections so far.
    pub fn connections(&self) -> u32 {
        self.seen.connections.load(Ordering::Relaxed)
    }

    /// The most requests that it had at a time on a connection.
    pub fn most_at_once(&self) -> u32 {
        self.seen.most_at_once.load(Ordering::Relaxed)
    }

    /// Bytes of requests' bodies so far.
    pub fn body_bytes(&self) -> u32 {
        self.seen.bytes.load(Ordering::Relaxed)
    }
}

impl Drop for KnownHttp2 {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // A server that panicked has stopped too.
            let _ = thread.join();
        }
    }
}

fn serve(
    listener: &TcpListener,
    behaviour: Http2Behaviour,
    polls: bool,
    seen: &Seen,
    stop: &AtomicBool,
) {
    let mut peers: Vec<Peer> = Vec::new();
    while !stop.load(Ordering::Acquire) {
        while let Ok((stream, _)) = listener.accept() {
            seen.connections.fetch_add(1, Ordering::Relaxed);
            peers.extend(Peer::new(stream, behaviour));
        }
        peers.retain_mut(|peer| peer.goes_on(behaviour, seen));
        if !polls {
            wait(listener, &peers);
        }
    }
}

/// Waits for a socket, or until an answer is due; at most for a short while.
fn wait(listener: &TcpListener, peers: &[Peer]) {
    let due = peers.iter().flat_map(|peer| &peer.asked);
    let due = due.filter_map(|asked| asked.due).min();
    let most = Duration::from_millis(5);
    let left = due.map(|due| due.saturating_duration_since(Instant::now()));
    let left = left.map_or(most, |left| left.min(most));
    let mut sockets = vec![PollFd::new(listener, PollFlags::IN)];
    sockets.extend(
        peers
            .iter()
            .map(|peer| PollFd::new(&peer.socket, PollFlags::IN)),
    );
    let left = Timespec {
        tv_sec: 0,
        tv_nsec: left.as_nanos() as i64,
    };
    // A failure only costs a turn of the loop.
    let _ = poll(&mut sockets, Some(&left));
}

/// A connection.
struct Peer {
    socket: TcpStream,
    state: State,
    asked: Vec<Asked>,
    requests: u32,
}

enum State {
    Begins(Pin<Box<Handshake<NonBlocking, Bytes>>>),
    Open(Box<Connection<NonBlocking, Bytes>>),
}

/// A request.
struct Asked {
    body: RecvStream,
    answer: SendResponse<Bytes>,
    /// When it is answered; `None` before all of it is there.
    due: Option<Instant>,
    /// Of a call of gRPC: whether it is answered with OK.
    is_good: Option<bool>,
}

impl Peer {
    fn new(stream: TcpStream, behaviour: Http2Behaviour) -> Option<Peer> {
        stream.set_nonblocking(true).ok()?;
        stream.set_nodelay(true).ok()?;
        let socket = stream.try_clone().ok()?;
        let mut builder = Builder::new();
        builder.max_concurrent_streams(behaviour.streams);
        Some(Peer {
            socket,
            state: State::Begins(Box::pin(builder.handshake(NonBlocking(stream)))),
            asked: Vec::new(),
            requests: 0,
        })
    }

    /// Whether the connection is open after this turn.
    fn goes_on(&mut self, behaviour: Http2Behaviour, seen: &Seen) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        if let State::Begins(begins) = &mut self.state {
            match begins.as_mut().poll(&mut context) {
                Poll::Pending => return true,
                Poll::Ready(Err(_)) => return false,
                Poll::Ready(Ok(open)) => self.state = State::Open(Box::new(open)),
            }
        }
        let State::Open(open) = &mut self.state else {
            return false;
        };
        loop {
            match open.poll_accept(&mut context) {
                Poll::Pending => break,
                Poll::Ready(Some(Ok((request, answer)))) => {
                    let body = request.into_body();
                    self.requests += 1;
                    let is_good = behaviour.good_calls.map(|good| self.requests <= good);
                    self.asked.push(Asked {
                        body,
                        answer,
                        due: None,
                        is_good,
                    });
                    if behaviour.requests_per_connection == Some(self.requests) {
                        open.graceful_shutdown();
                    }
                }
                Poll::Ready(None | Some(Err(_))) => return false,
            }
        }
        let at_once = self.asked.len() as u32;
        seen.most_at_once.fetch_max(at_once, Ordering::Relaxed);
        self.asked
            .retain_mut(|asked| asked.waits(behaviour, seen, &mut context));
        // Writes what is answered.
        let _ = open.poll_closed(&mut context);
        true
    }
}

impl Asked {
    /// Whether it is not answered after this turn.
    fn waits(&mut self, behaviour: Http2Behaviour, seen: &Seen, context: &mut Context<'_>) -> bool {
        while self.due.is_none() {
            match self.body.poll_data(context) {
                Poll::Pending => return true,
                Poll::Ready(Some(Ok(data))) => {
                    seen.bytes.fetch_add(data.len() as u32, Ordering::Relaxed);
                    let _ = self.body.flow_control().release_capacity(data.len());
                }
                Poll::Ready(Some(Err(_))) => return false,
                Poll::Ready(None) => match behaviour.after {
                    Some(after) => self.due = Some(Instant::now() + after),
                    None => return self.answer.poll_reset(context).is_pending(),
                },
            }
        }
        if self.due.is_some_and(|due| due > Instant::now()) {
            return true;
        }
        if behaviour.resets {
            self.answer.send_reset(h2::Reason::INTERNAL_ERROR);
            return false;
        }
        // A client that has gone needs no answer.
        let (head, trailers) = self.head_and_trailers();
        if let Ok(mut body) = self.answer.send_response(head, false) {
            let _ = body.send_data(Bytes::from_static(b"ok\n"), trailers.is_none());
            if let Some(trailers) = trailers {
                let _ = body.send_trailers(trailers);
            }
        }
        false
    }

    fn head_and_trailers(&self) -> (Response<()>, Option<HeaderMap>) {
        let mut head = Response::new(());
        let trailers = self.is_good.map(|is_good| {
            let kind = HeaderValue::from_static("application/grpc");
            head.headers_mut().insert(CONTENT_TYPE, kind);
            let status = HeaderValue::from_static(if is_good { "0" } else { "14" });
            HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), status)])
        });
        (head, trailers)
    }
}

/// A socket as h2 wants to read and write it. Nothing wakes a task: the loop polls again.
struct NonBlocking(TcpStream);

fn ready<T>(result: io::Result<T>) -> Poll<io::Result<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Poll::Pending,
        other => Poll::Ready(other),
    }
}

impl AsyncRead for NonBlocking {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.0.read(buf.initialize_unfilled());
        ready(read.map(|bytes| buf.advance(bytes)))
    }
}

impl AsyncWrite for NonBlocking {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready(self.0.write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
