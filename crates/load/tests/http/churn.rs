//! Connections that are closed after a number of requests.

use super::{MS, drive, service};
use plimsoll_model::HttpService;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

/// Of each connection that has ended, the requests, and which of them asked to close it.
type Seen = Arc<Mutex<Vec<Vec<bool>>>>;

fn counting_server() -> (SocketAddr, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let seen = Seen::default();
    let all = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let all = Arc::clone(&all);
            std::thread::spawn(move || {
                let requests = answer(stream);
                all.lock().unwrap().push(requests);
            });
        }
    });
    (addr, seen)
}

/// Serves one connection at a time: announces its close, and reads until the client has closed.
fn server_that_waits_for_the_close() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let Ok(1..) = stream.read(&mut request) else {
                continue;
            };
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
            let _ = stream.write_all(answer);
            while let Ok(1..) = stream.read(&mut request) {}
        }
    });
    addr
}

#[test]
fn a_server_that_waits_for_the_close_is_not_kept_waiting() {
    // More than there are requests: no place is needed again.
    let service = HttpService {
        connections: 200,
        ..service(&format!("http://{}/", server_that_waits_for_the_close()))
    };
    let work = drive(&service, 100.0);
    assert_eq!(work.errors.total(), 0, "{work:?}");
    assert_eq!(work.latency.count(), work.intended);
}

/// A request is smaller than a segment, and none follows before its answer.
fn answer(mut stream: TcpStream) -> Vec<bool> {
    let mut requests = Vec::new();
    let mut request = [0; 4096];
    while let Ok(bytes @ 1..) = stream.read(&mut request) {
        let text = String::from_utf8_lossy(&request[..bytes]).into_owned();
        let closes = text.contains("\r\nConnection: close\r\n");
        requests.push(closes);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
    requests
}

fn seen_with(requests_per_connection: u32) -> Vec<Vec<bool>> {
    let (addr, seen) = counting_server();
    let service = HttpService {
        requests_per_connection: NonZeroU32::new(requests_per_connection),
        ..service(&format!("http://{addr}/"))
    };
    let work = drive(&service, 400.0);
    assert_eq!(work.errors.total(), 0, "{work:?}");
    assert_eq!(work.latency.count(), work.intended);
    // Threads of the server notice the end a little later.
    std::thread::sleep(200 * MS);
    std::mem::take(&mut *seen.lock().unwrap())
}

#[test]
fn a_connection_ends_after_its_requests_and_the_last_says_so() {
    let whole = seen_with(3);
    // Four connections may have been under way at the end.
    assert!(whole.len() > 10, "{whole:?}");
    let is_whole = |requests: &&Vec<bool>| **requests == [false, false, true];
    assert!(
        whole.iter().filter(is_whole).count() + 4 >= whole.len(),
        "{whole:?}"
    );
    assert!(
        whole.iter().all(|requests| requests.len() <= 3),
        "{whole:?}"
    );
}

#[test]
fn without_keep_alive_each_request_has_a_connection() {
    let whole = seen_with(1);
    let used: Vec<_> = whole
        .iter()
        .filter(|requests| !requests.is_empty())
        .collect();
    assert!(used.len() > 50, "{whole:?}");
    assert!(
        used.iter().all(|requests| **requests == [true]),
        "{whole:?}"
    );
}
