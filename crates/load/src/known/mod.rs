//! A small HTTP/1.1 server with known behaviour, to verify measurements.
//!
//! It is one thread on a free port and serves any number of connections. Delays
//! are accurate to about 10 us on a quiet machine: the thread sleeps until
//! shortly before an answer is due and polls from there. Faulty behaviours
//! imitate those of failing servers.
//!
//! ```
//! use plimsoll_load::known::{Behaviour, KnownServer};
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//! use std::time::Duration;
//!
//! let server = KnownServer::start(Behaviour::Answer { after: Duration::from_millis(2) })?;
//! let mut stream = TcpStream::connect(server.addr())?;
//! stream.write_all(b"GET / HTTP/1.1\r\nHost: known\r\n\r\n")?;
//! let mut status = [0; 15];
//! stream.read_exact(&mut status)?;
//! assert_eq!(&status, b"HTTP/1.1 200 OK");
//! # Ok::<(), std::io::Error>(())
//! ```

mod conn;
mod engine;
mod http2;
mod queue;
mod script;

pub use http2::{Http2Behaviour, KnownHttp2};
pub use queue::{Discipline, Queue};

use crate::http::poller::Waker;
use crate::thread_id;
use engine::Engine;
use plimsoll_model::CpuId;
use plimsoll_pool::SpinLimit;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behaviour {
    /// Answers each request after a fixed delay, at any rate: known latency,
    /// unlimited capacity.
    Answer { after: Duration },
    /// Answers at the times of a queue on virtual time, or refuses with 429:
    /// known capacity, independent of the CPU.
    Queue(Discipline),
    /// Closes each connection as soon as it is accepted.
    CloseAtOnce,
    CloseAfterAnswer {
        /// Whether the answer says `Connection: close`.
        announced: bool,
    },
    /// Announces a body and closes in the middle of it.
    DieInBody,
    /// Answers with data that is not HTTP.
    Garbage,
    /// Answers with a large body, as fast as it is read.
    Large { bytes: u64 },
    /// Answers with this status at once.
    Status(u16),
    /// Answers 302 with this Location.
    Redirect(String),
    /// Answers with a chunked body in unusual fragments: extensions, trailers,
    /// an interim response, and breaks within tokens.
    OddChunks,
    /// Answers with a body that ends with the connection.
    UntilClose,
    /// Reads requests and never answers.
    Silent,
    SlowHead {
        /// Delay between two bytes.
        per_byte: Duration,
    },
}

/// How a server on a port of its own waits for requests, and until answers are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    Asleep,
    /// It first polls for a time that it learns from the gaps between requests ([`SpinLimit`]), and
    /// sleeps until answers are due.
    Learning {
        /// CPU time that a wake-up costs.
        price: Duration,
    },
    /// It never sleeps.
    Polling,
}

/// How a server waits until an answer is due.
#[derive(Debug, Clone, PartialEq)]
enum WaitMode {
    Sleep,
    /// Poll for a learnt time after the last event, then sleep.
    Learnt(SpinLimit),
    /// Sleep, then poll from shortly before.
    SleepThenPoll,
    Poll,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct KnownServer {
    addr: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
    thread_id: u32,
}

impl KnownServer {
    /// Starts a server on a free port of 127.0.0.1.
    pub fn start(behaviour: Behaviour) -> io::Result<KnownServer> {
        KnownServer::start_on(behaviour, (0, None), WaitMode::SleepThenPoll)
    }

    /// Starts a server on this port of 127.0.0.1.
    pub fn start_at(behaviour: Behaviour, port: u16, waits: Waits) -> io::Result<KnownServer> {
        let mode = match waits {
            Waits::Asleep => WaitMode::Sleep,
            Waits::Learning { price } => WaitMode::Learnt(SpinLimit::new(price)),
            Waits::Polling => WaitMode::Poll,
        };
        KnownServer::start_on(behaviour, (port, None), mode)
    }

    /// Starts a server pinned to one CPU that sleeps until an answer is due. It
    /// uses CPU time only for reading and writing; its answers are late by the
    /// wake-up latency, 20 to 50 us in a virtual machine.
    pub fn start_pinned(behaviour: Behaviour, cpu: CpuId) -> io::Result<KnownServer> {
        KnownServer::start_on(behaviour, (0, Some(cpu)), WaitMode::Sleep)
    }

    /// Starts a server that polls on its own CPU: its delays are accurate to
    /// some microseconds.
    pub fn start_polling(behaviour: Behaviour, cpu: CpuId) -> io::Result<KnownServer> {
        KnownServer::start_on(behaviour, (0, Some(cpu)), WaitMode::Poll)
    }

    fn start_on(
        behaviour: Behaviour,
        (port, cpu): (u16, Option<CpuId>),
        wait_mode: WaitMode,
    ) -> io::Result<KnownServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let waker = Arc::new(Waker::new()?);
        let (report, started) = std::sync::mpsc::channel();
        let (its_stop, its_waker) = (Arc::clone(&stop), Arc::clone(&waker));
        let thread = std::thread::Builder::new()
            .name("known-server".to_owned())
            .spawn(move || {
                let engine = pin(cpu).and_then(|()| {
                    Engine::new(listener, &behaviour, &its_waker, its_stop, wait_mode)
                });
                let (engine, result) = match engine {
                    Ok(engine) => (Some(engine), Ok(thread_id())),
                    Err(error) => (None, Err(error)),
                };
                // The only receiver waits for this message.
                let _ = report.send(result);
                if let Some(engine) = engine {
                    engine.run();
                }
            })?;
        let gone = |_| Err(io::ErrorKind::BrokenPipe.into());
        let thread_id = started.recv().unwrap_or_else(gone)?;
        Ok(KnownServer {
            addr,
            stop,
            waker,
            thread: Some(thread),
            thread_id,
        })
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The kernel's thread ID, for pinning or reading its CPU time.
    pub fn thread_id(&self) -> u32 {
        self.thread_id
    }
}

impl Drop for KnownServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            // A server that panicked has stopped too.
            let _ = thread.join();
        }
    }
}

fn pin(cpu: Option<CpuId>) -> io::Result<()> {
    match cpu {
        Some(cpu) => plimsoll_pool::pin_this_thread(cpu).map_err(io::Error::other),
        None => Ok(()),
    }
}
