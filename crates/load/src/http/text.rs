//! Fetches a text with one GET, such as a node_exporter's metrics.

use super::probe::{Deadline, Exchange};
use super::target::{self, Target};
use crate::LoadError;
use std::time::Duration;

/// Returns the body of the answer to a GET of `url`. An answer of more than `most`
/// bytes, its head included, is an error.
///
/// The request is HTTP/1.0, to which a server must not answer in chunks (RFC
/// 9112, section 7.1): the body ends when the connection is closed.
///
/// # Errors
/// [`LoadError::Mistake`] if `url` is not a URL, [`LoadError::Service`] if the
/// server did not answer 200.
pub fn get_text(url: &str, timeout: Duration, most: usize) -> Result<String, LoadError> {
    let location = target::parse_url(url)?;
    let target = Target::new(url, &location, false)?;
    let url = &target.url;
    let request = format!(
        "GET {} HTTP/1.0\r\nHost: {}\r\nAccept: text/plain\r\n\r\n",
        location.path, location.authority
    );
    let exchange = || {
        let mut exchange = Exchange::connect(&target, Deadline::within(timeout))?;
        exchange.handshake()?;
        exchange.send(request.as_bytes())?;
        exchange.receive_all(most)
    };
    let answer = exchange().map_err(|error| LoadError::Service(format!("{url} {error}")))?;
    body(&answer).map_err(|why| LoadError::Service(format!("{url} {why}")))
}

/// The body of a complete answer with status 200.
fn body(answer: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(answer);
    let not_http = || "did not answer in HTTP; check host and port".to_owned();
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(not_http)?;
    let mut words = head.split_ascii_whitespace();
    words
        .next()
        .filter(|word| word.starts_with("HTTP/1."))
        .ok_or_else(not_http)?;
    match words.next() {
        Some("200") => Ok(body.to_owned()),
        Some(status) => Err(format!(
            "answered with status {status} instead of 200; check its path"
        )),
        None => Err(not_http()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn only_a_good_answer_has_a_body() {
        assert_eq!(
            body(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nx 1\r\n\r\ny 2"),
            Ok("x 1\r\n\r\ny 2".to_owned())
        );
        for bad in [
            "",
            "SSH-2.0\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\n\r\nx",
            "HTTP/1.1 200 OK\r\n",
        ] {
            assert!(body(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn text_is_fetched_over_a_real_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 512];
            let n = stream.read(&mut request).unwrap();
            stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nup 1\n").unwrap();
            String::from_utf8_lossy(&request[..n]).into_owned()
        });
        let url = format!("http://{address}/metrics");
        let text = get_text(&url, Duration::from_secs(20), 1 << 10).unwrap();
        assert_eq!(text, "up 1\n");
        let request = server.join().unwrap();
        assert!(
            request.starts_with("GET /metrics HTTP/1.0\r\n"),
            "{request}"
        );
    }
}
