//! Fetches a text with one GET, such as a node_exporter's metrics.

use super::probe::{Deadline, Exchange};
use super::probe_error::TimeLimit;
use super::target::{self, Location, Target};
use crate::LoadError;
use plimsoll_model::HttpService;
use std::time::Duration;

/// Returns the body of the answer to a GET of `url`. An answer of more than `most`
/// bytes, its head included, is an error.
///
/// The request is HTTP/1.0, to which a server must not answer in chunks (RFC
/// 9112, section 7.1): the body ends at its Content-Length, or else when the
/// connection is closed, over TLS with the end of the session.
///
/// # Errors
/// [`LoadError::Mistake`] if `url` is not a URL, [`LoadError::Service`] if the
/// server did not answer 200 with a complete body within `timeout`.
pub fn get_text(url: &str, timeout: Duration, most: usize) -> Result<String, LoadError> {
    let location = target::parse_url(url)?;
    let target = Target::new(&HttpService::get(url, 1, timeout), &location)?;
    text_of(&target, &location, timeout, most)
}

fn text_of(
    target: &Target,
    location: &Location,
    timeout: Duration,
    most: usize,
) -> Result<String, LoadError> {
    let url = &target.url;
    let request = format!(
        "GET {} HTTP/1.0\r\nHost: {}\r\nAccept: text/plain\r\n\r\n",
        location.path, location.authority
    );
    let exchange = || {
        let mut exchange = Exchange::connect(target, Deadline::within(TimeLimit::fixed(timeout)))?;
        exchange.handshake()?;
        exchange.send(request.as_bytes())?;
        let answer = exchange.receive_all(most);
        answer.map_err(|error| error.without_echo(request.as_bytes()))
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

    /// What is fetched from a server that sends this and closes, and the request.
    fn fetched(sent: &'static str) -> (Result<String, String>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 512];
            let n = stream.read(&mut request).unwrap();
            stream.write_all(sent.as_bytes()).unwrap();
            String::from_utf8_lossy(&request[..n]).into_owned()
        });
        let url = format!("http://{address}/metrics");
        let text = get_text(&url, Duration::from_secs(20), 1 << 10);
        let text = text.map_err(|error| error.to_string());
        (text, server.join().unwrap())
    }

    #[test]
    fn text_is_fetched_over_a_real_connection() {
        let (text, request) = fetched("HTTP/1.0 200 OK\r\n\r\nup 1\n");
        assert_eq!(text, Ok("up 1\n".to_owned()));
        assert!(
            request.starts_with("GET /metrics HTTP/1.0\r\n"),
            "{request}"
        );
        let (text, _) = fetched("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nup 1\n");
        assert_eq!(text, Ok("up 1\n".to_owned()));
    }

    #[test]
    fn a_text_of_another_length_than_announced_is_refused() {
        for (sent, why) in [
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nup 1\n",
                "closed the connection within its answer",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nup 1\n\r\n",
                "closed the connection within its answer",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nup 1\n",
                "beyond its answer",
            ),
            ("", "without an answer"),
        ] {
            let error = fetched(sent).0.unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_limit_that_no_flag_sets_names_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let limit = Duration::from_millis(50);
        let error = get_text(&url, limit, 1 << 10).unwrap_err().to_string();
        assert!(error.contains("within 50ms"), "{error}");
        assert!(!error.contains("--timeout"), "{error}");
    }
}
