use super::*;
use std::io::{Read, Write};
use std::net;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

/// Answers its path: at once, or as work once it is let go.
struct Echo {
    go: Mutex<Receiver<()>>,
}

impl Answers for Echo {
    const KEEPS: usize = 0;

    fn answer(self: Arc<Self>, head: &Parts, _: Bytes) -> Reply {
        let path = head.uri.path().to_owned();
        let answer = move || text(StatusCode::OK, "text/plain", path);
        if !head.uri.path().starts_with("/work") {
            return Reply::Ready(answer());
        }
        Reply::Work(Box::new(move || {
            self.go.lock().unwrap().recv().unwrap();
            answer()
        }))
    }
}

/// The server's answer to these bytes, until it closes or the answer has `until` in it.
fn answer_to(stream: &mut net::TcpStream, bytes: &[u8], until: &str) -> String {
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&answer).into_owned();
        if text.contains(until) {
            return text;
        }
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 => answer.extend_from_slice(&buffer[..n]),
            _ => return text,
        }
    }
}

fn echo(cpus: &str) -> (Server, impl Fn()) {
    let (go, going) = channel();
    let go = move || go.send(()).unwrap();
    let echo = Arc::new(Echo {
        go: Mutex::new(going),
    });
    let server = Server::start(([127, 0, 0, 1], 0).into(), &cpus.parse().unwrap(), echo);
    (server.unwrap(), go)
}

#[test]
fn connection_is_kept_until_one_side_closes_it() {
    let (server, _) = echo("0");
    let mut stream = net::TcpStream::connect(server.addr()).unwrap();
    let text = answer_to(&mut stream, b"GET /1 HTTP/1.1\r\n\r\nHEAD /2 HTTP/1.1\r\n\r\nPOST /3 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhelloGET /4 HTTP/1.1\r\nConnection: close\r\n\r\n", "/4");
    assert_eq!(text.matches("HTTP/1.1 200").count(), 4, "{text}");
    assert!(
        text.contains("/1") && !text.contains("/2") && text.contains("/3"),
        "{text}"
    );
    assert_eq!(answer_to(&mut stream, b"", "more"), "");
}

#[test]
fn what_is_no_request_is_refused() {
    let (server, _) = echo("0");
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(2 * LONGEST_HEAD));
    for (bytes, status) in [
        (&b"\x16\x03\x01\x02\x00\x01\r\n\r\n"[..], "400"),
        (b"GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n", "400"),
        (
            b"GET / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
            "400",
        ),
        (b"POST / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n", "413"),
        (long.as_bytes(), "431"),
    ] {
        let mut stream = net::TcpStream::connect(server.addr()).unwrap();
        let text = answer_to(&mut stream, bytes, "\r\n\r\n");
        assert!(
            text.starts_with(&format!("HTTP/1.1 {status}")),
            "{status}: {text}"
        );
    }
}

#[test]
fn work_waits_for_a_cpu_in_the_order_of_asking_and_other_requests_do_not() {
    let (server, go) = echo("0");
    let connect = || net::TcpStream::connect(server.addr()).unwrap();
    let (mut first, mut second, mut other) = (connect(), connect(), connect());
    first.write_all(b"GET /work1 HTTP/1.1\r\n\r\n").unwrap();
    let is_answered = answer_to(&mut other, b"GET /ready HTTP/1.1\r\n\r\n", "/ready");
    assert!(is_answered.contains("/ready"), "{is_answered}");
    second.write_all(b"GET /work2 HTTP/1.1\r\n\r\n").unwrap();
    go();
    let text = answer_to(&mut first, b"", "/work1");
    assert!(text.contains("/work1"), "{text}");
    go();
    let text = answer_to(&mut second, b"", "/work2");
    assert!(text.contains("/work2"), "{text}");
}
