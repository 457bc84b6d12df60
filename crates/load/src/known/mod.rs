//! A small HTTP/1.1 server whose behaviour is known by construction: what a
//! measurement of it must show is known before it is measured.
//!
//! It is one thread on a port of its own choice, and serves any number of
//! connections at once. Good behaviour is exact to about 10 us where the
//! machine is quiet: the thread sleeps until shortly before an answer is due
//! and polls from there. Bad behaviour is what servers on the way down do.
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
mod queue;
mod script;

pub use queue::{Discipline, Queue};

use crate::http::poller::Waker;
use engine::Engine;
use plimsoll_model::CpuId;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a server does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behaviour {
    /// Answers each request this long after it was read, however many there
    /// are: latency is known, capacity is not limited.
    Answer {
        /// The delay.
        after: Duration,
    },
    /// Answers when a queue that is worked off on virtual time says so, or
    /// refuses with 429: what it carries is known whatever the CPU does.
    Queue(Discipline),
    /// Closes each connection as soon as it is accepted.
    CloseAtOnce,
    /// Closes each connection after one answer.
    CloseAfterAnswer {
        /// Whether the answer says so.
        announced: bool,
    },
    /// Announces a body and closes in the middle of it.
    DieInBody,
    /// Answers with what is no HTTP.
    Garbage,
    /// Answers with a body of this many bytes, as fast as it is read.
    Large {
        /// How many.
        bytes: u64,
    },
    /// Answers with this status, at once.
    Status(u16),
    /// Answers 302 with this Location.
    Redirect(String),
    /// Answers with a chunked body in odd fragments: with extensions,
    /// trailers, an interim answer before, and breaks in unlikely places.
    OddChunks,
    /// Answers with a body that ends with the connection.
    UntilClose,
    /// Reads requests and never answers.
    Silent,
    /// Sends its answer byte by byte.
    SlowHead {
        /// Between two bytes.
        per_byte: Duration,
    },
}

/// How a server passes the time until an answer is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// Sleeping to the end.
    Sleeping,
    /// Sleeping, and polling from shortly before.
    PollingAtLast,
    /// Never sleeping.
    Polling,
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
    ///
    /// # Errors
    /// Where the system gives no port, no thread or no file.
    pub fn start(behaviour: Behaviour) -> io::Result<KnownServer> {
        KnownServer::start_on(behaviour, None, Waits::PollingAtLast)
    }

    /// The same on one CPU, where it sleeps until an answer is due: it takes CPU
    /// time for reading and writing alone, and its answers come later by the
    /// time that the system takes to wake it, 20 to 50 us in a virtual machine.
    ///
    /// # Errors
    /// As above, and where it may not run on that CPU.
    pub fn start_pinned(behaviour: Behaviour, cpu: CpuId) -> io::Result<KnownServer> {
        KnownServer::start_on(behaviour, Some(cpu), Waits::Sleeping)
    }

    /// The same with a CPU to itself, on which it polls: its delays are then
    /// exact to some microseconds.
    ///
    /// # Errors
    /// As above, and where it may not run on that CPU.
    pub fn start_polling(behaviour: Behaviour, cpu: CpuId) -> io::Result<KnownServer> {
        KnownServer::start_on(behaviour, Some(cpu), Waits::Polling)
    }

    fn start_on(behaviour: Behaviour, cpu: Option<CpuId>, waits: Waits) -> io::Result<KnownServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let waker = Arc::new(Waker::new()?);
        let (report, started) = std::sync::mpsc::channel();
        let (its_stop, its_waker) = (Arc::clone(&stop), Arc::clone(&waker));
        let thread = std::thread::Builder::new()
            .name("known-server".to_owned())
            .spawn(move || {
                let engine = pin(cpu)
                    .and_then(|()| Engine::new(listener, &behaviour, &its_waker, its_stop, waits));
                let (engine, result) = match engine {
                    Ok(engine) => (Some(engine), Ok(thread_id())),
                    Err(error) => (None, Err(error)),
                };
                // The only one to listen is waiting for it.
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

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The kernel's id of its thread, for those who pin it or read its CPU
    /// time.
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

fn thread_id() -> u32 {
    rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .cast_unsigned()
}
