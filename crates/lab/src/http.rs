//! A small HTTP/1.1 server: a thread for each connection. Requests are answered in order; their
//! bodies are read and not used.

use plimsoll_model::CpuSet;
use plimsoll_pool::keep_this_thread_on;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Connections at a time; more are closed at once.
const MOST_CONNECTIONS: usize = 2048;
/// The longest head, in bytes.
const LONGEST_HEAD: usize = 16 << 10;
const MOST_HEADERS: usize = 64;
/// The longest body, in bytes.
const LONGEST_BODY: u64 = 1 << 20;
/// How long a client that sends or reads nothing is waited for.
const SILENCE: Duration = Duration::from_secs(60);
const UNREAD: Duration = Duration::from_secs(10);

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Whether the connection is closed after the answer.
    closes: bool,
    body: u64,
}

/// An answer with a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub content_type: &'static str,
    pub body: Vec<u8>,
}

/// What answers requests, on the threads of their connections.
pub trait Answers: Send + Sync + 'static {
    fn answer(&self, request: &Request) -> Response;
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    addr: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Server {
    /// Listens at `addr`; its threads run on `cpus`.
    ///
    /// # Errors
    /// The address is taken or not this machine's, or no thread can be started.
    pub fn start(addr: SocketAddr, cpus: &CpuSet, answers: Arc<dyn Answers>) -> io::Result<Server> {
        let listener = TcpListener::bind(addr)?;
        let addr = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, cpus) = (Arc::clone(&stop), cpus.clone());
        thread::Builder::new()
            .name("http".to_owned())
            .spawn(move || {
                // A thread that may run elsewhere serves all the same.
                let _ = keep_this_thread_on(&cpus);
                accept(&listener, &stopped, &answers);
            })?;
        Ok(Server { addr, stop })
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect_timeout(&self.addr, Duration::from_secs(1));
    }
}

fn accept(listener: &TcpListener, stop: &AtomicBool, answers: &Arc<dyn Answers>) {
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        let accepted = listener.accept();
        if stop.load(Ordering::Acquire) {
            return;
        }
        let Ok((stream, _)) = accepted else {
            // It was given up, or no descriptor is free yet.
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        if open.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let (answers, closed) = (Arc::clone(answers), Arc::clone(&open));
        let converse = move || {
            // The client may be gone; nobody else learns of it.
            let _ = converse(&stream, answers.as_ref());
            closed.fetch_sub(1, Ordering::Relaxed);
        };
        if thread::Builder::new().spawn(converse).is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn converse(stream: &TcpStream, answers: &dyn Answers) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(UNREAD))?;
    let mut reader = stream;
    let mut bytes = Vec::new();
    loop {
        let request = match next_request(&mut reader, &mut bytes)? {
            Ok(None) => return Ok(()),
            Ok(Some(request)) => request,
            Err(status) => return write(stream, &Response::empty(status), true, false),
        };
        let response = answers.answer(&request);
        write(stream, &response, request.closes, request.method == "HEAD")?;
        if request.closes {
            return Ok(());
        }
    }
}

impl Response {
    pub fn text(status: u16, content_type: &'static str, body: impl Into<Vec<u8>>) -> Response {
        Response {
            status,
            content_type,
            body: body.into(),
        }
    }

    pub fn empty(status: u16) -> Response {
        let body = format!("{status} {}\n", reason(status));
        Response::text(status, "text/plain", body)
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        411 => "Length Required",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        _ => "Internal Server Error",
    }
}

fn write(mut stream: &TcpStream, response: &Response, closes: bool, head: bool) -> io::Result<()> {
    let closing = if closes { "Connection: close\r\n" } else { "" };
    let mut bytes = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nX-Content-Type-Options: nosniff\r\n{closing}\r\n",
        response.status,
        reason(response.status),
        response.content_type,
        response.body.len(),
    )
    .into_bytes();
    if !head {
        bytes.extend_from_slice(&response.body);
    }
    // One segment: the client waits for no other.
    stream.write_all(&bytes)
}

/// The next request, after its body; `None` if the client has closed. `Err` of the inner result
/// is the status that refuses it.
type Next = Result<Option<Request>, u16>;

/// Reads a request. What was read of the one after it stays in `bytes`.
fn next_request(reader: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<Next> {
    let mut buffer = [0; 4096];
    let (request, length) = loop {
        match parse(bytes) {
            Err(status) => return Ok(Err(status)),
            Ok(Some(parsed)) => break parsed,
            Ok(None) if bytes.len() > LONGEST_HEAD => return Ok(Err(431)),
            Ok(None) => {}
        }
        match read(reader, &mut buffer)? {
            0 => return Ok(Ok(None)),
            n => bytes.extend_from_slice(&buffer[..n]),
        }
    };
    bytes.drain(..length);
    let mut left = request.body.saturating_sub(bytes.len() as u64);
    bytes.drain(
        ..bytes
            .len()
            .min(usize::try_from(request.body).unwrap_or(usize::MAX)),
    );
    while left > 0 {
        let most = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        match read(reader, &mut buffer[..most])? {
            0 => return Ok(Ok(None)),
            n => left -= n as u64,
        }
    }
    Ok(Ok(Some(request)))
}

fn read(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// A request and the length of its head; `None` if there is more to come, or the status that
/// refuses it.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, u16> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(431),
        Err(_) => return Err(400),
    };
    let mut request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: parsed.path.unwrap_or_default().to_owned(),
        closes: parsed.version == Some(0),
        body: 0,
    };
    for header in parsed.headers.iter() {
        let value = || std::str::from_utf8(header.value).map_err(|_| 400u16);
        match header.name.to_ascii_lowercase().as_str() {
            "content-length" => request.body = value()?.trim().parse().map_err(|_| 400u16)?,
            "transfer-encoding" => return Err(411),
            "connection" if value()?.to_ascii_lowercase().contains("close") => {
                request.closes = true;
            }
            _ => {}
        }
    }
    match request.body > LONGEST_BODY {
        true => Err(413),
        false => Ok(Some((request, length))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths, or the status of a refusal, of a stream of requests that comes in such pieces.
    fn paths(stream: &[u8], piece: usize) -> Vec<Result<String, u16>> {
        struct Pieces<'a>(&'a [u8], usize);
        impl Read for Pieces<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let n = self.1.min(self.0.len()).min(buffer.len());
                buffer[..n].copy_from_slice(&self.0[..n]);
                self.0 = &self.0[n..];
                Ok(n)
            }
        }
        let (mut reader, mut bytes, mut found) = (Pieces(stream, piece), Vec::new(), Vec::new());
        loop {
            match next_request(&mut reader, &mut bytes).unwrap() {
                Ok(None) => return found,
                Ok(Some(request)) => found.push(Ok(request.path)),
                Err(status) => {
                    found.push(Err(status));
                    return found;
                }
            }
        }
    }

    #[test]
    fn requests_are_the_same_however_they_are_split() {
        let stream = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 5\r\n\r\nhelloGET /c?d HTTP/1.1\r\n\r\n";
        for piece in [1, 2, 7, 4096] {
            let found: Vec<String> = paths(stream, piece)
                .into_iter()
                .map(Result::unwrap)
                .collect();
            assert_eq!(found, ["/a", "/b", "/c?d"], "{piece}");
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(LONGEST_HEAD));
        for (stream, status) in [
            (&b"\x16\x03\x01\x02\x00\x01"[..], 400),
            (b"GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n", 413),
            (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
            (long.as_bytes(), 431),
        ] {
            assert_eq!(paths(stream, 4096), [Err(status)]);
        }
    }

    #[test]
    fn connection_is_kept_until_one_side_closes_it() {
        struct Echo;
        impl Answers for Echo {
            fn answer(&self, request: &Request) -> Response {
                Response::text(200, "text/plain", request.path.clone())
            }
        }
        let cpus = plimsoll_pool::allowed_cpus().unwrap();
        let server = Server::start(([127, 0, 0, 1], 0).into(), &cpus, Arc::new(Echo)).unwrap();
        let mut stream = TcpStream::connect(server.addr()).unwrap();
        stream
            .write_all(b"GET /1 HTTP/1.1\r\n\r\nHEAD /2 HTTP/1.1\r\n\r\n")
            .unwrap();
        stream
            .write_all(b"GET /3 HTTP/1.1\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).unwrap();
        let bodies: Vec<&str> = answers.split("\r\n\r\n").skip(1).collect();
        assert!(bodies[0].starts_with("/1HTTP/1.1 200"), "{answers}");
        assert!(
            bodies[1].starts_with("HTTP/1.1 200"),
            "no body of HEAD: {answers}"
        );
        assert_eq!(bodies[2], "/3");
    }
}
