//! An HTTP/1.1 server: hyper, with limits for what clients may hold or send.

use http_body_util::channel::{Channel, Sender};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::Request;
pub use hyper::body::Bytes;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
pub use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
pub use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use plimsoll_load::open_files;
use plimsoll_model::CpuSet;
use plimsoll_pool::keep_this_thread_on;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// Connections at a time; more are closed at once. At most half of the files that may be open: the
/// service reads /proc.
const MOST_CONNECTIONS: u64 = 2048;
const LONGEST_HEAD: usize = 16 << 10;
const MOST_HEADERS: usize = 64;
/// The longest body, in bytes.
const LONGEST_BODY: usize = 1 << 20;
/// For a head, with the silence before it, and for a body.
const MOST_TIME: Duration = Duration::from_secs(60);
/// CPUs for each thread that reads and writes connections.
const CPUS_OF_THREAD: usize = 8;

type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// A body, whole or streamed.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// What a request gets.
pub enum Reply {
    Ready(Response<Body>),
    /// Made on a worker thread. There are as many as CPUs; the others wait, first come, first served.
    Work(Box<dyn FnOnce() -> Response<Body> + Send>),
}

/// What answers requests. Called on a thread of connections, so it must not wait.
pub trait Answers: Send + Sync + 'static {
    /// The longest body that is kept, in bytes; of longer ones nothing is.
    const KEEPS: usize;

    fn answer(self: Arc<Self>, head: &Parts, body: Bytes) -> Reply;
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    addr: SocketAddr,
    runtime: Option<Runtime>,
}

impl Server {
    /// Listens at `addr`; its threads run on `cpus`.
    ///
    /// # Errors
    /// The address is taken or not this machine's, or no thread can be started.
    pub fn start(
        addr: SocketAddr,
        cpus: &CpuSet,
        answers: Arc<impl Answers>,
    ) -> io::Result<Server> {
        let on = cpus.clone();
        let runtime = Builder::new_multi_thread()
            .worker_threads(cpus.len().div_ceil(CPUS_OF_THREAD))
            .max_blocking_threads(cpus.len().max(1))
            .thread_name("http")
            .on_thread_start(move || {
                // A thread that may run elsewhere serves all the same.
                let _ = keep_this_thread_on(&on);
            })
            .enable_io()
            .enable_time()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind(addr))?;
        let addr = listener.local_addr()?;
        runtime.spawn(accept(listener, answers));
        Ok(Server {
            addr,
            runtime: Some(runtime),
        })
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What is sent to a client bit by bit. Dropping it ends the response.
pub struct Stream(Sender<Bytes>);

impl Stream {
    /// A response that goes on. At most `most` pieces wait for the client to read them.
    pub fn open(content_type: &'static str, most: usize) -> (Response<Body>, Stream) {
        let (sender, body) = Channel::new(most);
        let response = respond(StatusCode::OK, content_type, body.boxed_unsync());
        (response, Stream(sender))
    }

    /// Whether the client is there and reads.
    pub fn send(&mut self, piece: Bytes) -> bool {
        self.0.try_send(Frame::data(piece)).is_ok()
    }
}

/// Text, not to be taken for anything else.
pub fn text(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Body> {
    respond(status, content_type, Full::new(body.into()).boxed_unsync())
}

/// A response with such a body.
pub fn respond(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A response that says its status alone.
pub fn empty(status: StatusCode) -> Response<Body> {
    text(status, "text/plain", format!("{status}\n"))
}

async fn accept<A: Answers>(listener: TcpListener, answers: Arc<A>) {
    let most = open_files::soft().map_or(MOST_CONNECTIONS, |soft| MOST_CONNECTIONS.min(soft / 2));
    let free = Arc::new(Semaphore::new(most as usize));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // It was given up, or no descriptor is free yet.
            sleep(Duration::from_millis(10)).await;
            continue;
        };
        if let Ok(permit) = Arc::clone(&free).try_acquire_owned() {
            tokio::spawn(converse(stream, permit, Arc::clone(&answers)));
        }
    }
}

async fn converse<A: Answers>(stream: TcpStream, _permit: OwnedSemaphorePermit, answers: Arc<A>) {
    // Small answers wait for no acknowledgement; without it they do.
    let _ = stream.set_nodelay(true);
    let serve = service_fn(move |request| answer(Arc::clone(&answers), request));
    // The client may be gone; nobody else learns of it.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .half_close(true)
        .header_read_timeout(MOST_TIME)
        .max_headers(MOST_HEADERS)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), serve)
        .await;
}

async fn answer<A: Answers>(
    answers: Arc<A>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    if body.size_hint().lower() > LONGEST_BODY as u64 {
        return Ok(empty(StatusCode::PAYLOAD_TOO_LARGE));
    }
    let read = read(Limited::new(body, LONGEST_BODY), A::KEEPS);
    let body = match timeout(MOST_TIME, read).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return Ok(empty(StatusCode::PAYLOAD_TOO_LARGE)),
        Err(_) => return Ok(empty(StatusCode::REQUEST_TIMEOUT)),
    };
    Ok(match answers.answer(&head, body) {
        Reply::Ready(response) => response,
        Reply::Work(work) => match spawn_blocking(work).await {
            Ok(response) => response,
            Err(_) => empty(StatusCode::INTERNAL_SERVER_ERROR),
        },
    })
}

/// Reads a body to its end; it is empty if it has more than so many bytes.
async fn read(mut body: Limited<Incoming>, keeps: usize) -> Result<Bytes, BodyError> {
    let (mut kept, mut length) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame?.data_ref() {
            length += data.len();
            match length <= keeps {
                true => kept.extend_from_slice(data),
                false => kept = Vec::new(),
            }
        }
    }
    Ok(kept.into())
}

#[cfg(test)]
mod tests;
