//! A server that says the same to everybody, until it is dropped.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a Prometheus server answers with the number 0.
pub(crate) const ZERO: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 79\r\n\r\n\
     {\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[1500000000.5,\"0\"]}}";

/// The same with 7.
pub(crate) const SEVEN: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 79\r\n\r\n\
     {\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[1500000000.5,\"7\"]}}";

pub(crate) struct Server {
    address: SocketAddr,
    answer: Arc<Mutex<&'static str>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(answer: &'static str) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let answer = Arc::new(Mutex::new(answer));
        let (stopped, said) = (Arc::clone(&stop), Arc::clone(&answer));
        let thread = std::thread::spawn(move || {
            // Kept open, so that who is not answered waits.
            let mut open = Vec::new();
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                let answer = *said.lock().unwrap();
                match answer.is_empty() {
                    true => open.push(stream),
                    false => say(stream, answer),
                }
            }
        });
        Server {
            address,
            answer,
            stop,
            thread: Some(thread),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn answers(&self, answer: &'static str) {
        *self.answer.lock().unwrap() = answer;
    }
}

/// Who has gone meanwhile is none of its concern.
fn say(mut stream: TcpStream, answer: &str) {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request);
    // An instant query has the server's present time.
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = format!("{:.1}", now.unwrap_or_default().as_secs_f64());
    let _ = stream.write_all(answer.replace("1500000000.5", &now).as_bytes());
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes it up.
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
