//! A small HTTP server: a thread for each connection, which sleeps until a request arrives.

use crate::Failure;
use crate::cpu_log::CpuLog;
use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Printed once connections are accepted: the test that boots a guest waits for it.
const SERVING: &str = "plimsoll-guest: serving";
const PAGE: &str = "hello\n";
/// A longer head is no request that is answered here.
const MOST: usize = 8 << 10;

pub(crate) fn serve(address: SocketAddr, log: Option<Arc<CpuLog>>) -> Result<Infallible, Failure> {
    let listener = TcpListener::bind(address).map_err(Failure::of("the server's port"))?;
    // A console that is closed keeps nobody from serving.
    let _ = writeln!(std::io::stdout(), "{SERVING}");
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // It was given up before it was accepted, or no descriptor is free yet.
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let log = log.clone();
        // Without a thread the connection is closed.
        let _ = std::thread::Builder::new().spawn(move || converse(stream, log.as_deref()));
    }
}

/// Answers requests until the client is gone.
fn converse(mut stream: TcpStream, log: Option<&CpuLog>) {
    // An answer is one segment; it waits for no other.
    let _ = stream.set_nodelay(true);
    let mut head = Vec::new();
    let mut buffer = [0; 2048];
    loop {
        while let Some(end) = end_of_head(&head) {
            let request = head.drain(..end).collect::<Vec<u8>>();
            if stream.write_all(answer(&request, log).as_bytes()).is_err() {
                return;
            }
        }
        match stream.read(&mut buffer) {
            Ok(bytes) if bytes > 0 && head.len() < MOST => head.extend(&buffer[..bytes]),
            _ => return,
        }
    }
}

/// Where the first request ends, which has no body.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let at = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(at + 4)
}

fn answer(request: &[u8], log: Option<&CpuLog>) -> String {
    let (status, body) = match (request.starts_with(b"GET /cpu "), log) {
        (true, Some(log)) => ("200 OK", log.text()),
        (true, None) => ("404 Not Found", String::new()),
        (false, _) => ("200 OK", PAGE.to_owned()),
    };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart_and_answered() {
        let two = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /cpu HTTP/1.1\r\n";
        let end = end_of_head(two).unwrap();
        assert!(two[end..].starts_with(b"GET /cpu"));
        assert_eq!(end_of_head(&two[end..]), None);
        let page = answer(&two[..end], None);
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert!(page.ends_with("Content-Length: 6\r\n\r\nhello\n"), "{page}");
        assert!(answer(&two[end..], None).starts_with("HTTP/1.1 404"));
    }
}
