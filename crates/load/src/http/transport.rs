//! A TCP connection with or without TLS, blocking or not.

use super::stamp::Stamped;
use rustix::net::sockopt;
use rustls::ClientConnection;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Bytes to and from a server.
#[derive(Debug)]
pub(super) struct Transport {
    stream: TcpStream,
    stamped: Stamped,
    tls: Option<Box<ClientConnection>>,
}

/// What came of an attempt to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// Bytes; `drained` when the socket had no more at that time.
    Data {
        /// How many.
        bytes: usize,
        /// Whether the next edge of epoll tells of more.
        drained: bool,
    },
    /// The server closed its side.
    End,
    /// Nothing yet; for a blocking socket, its time-out.
    Blocked,
}

/// Why a connection cannot be used any more.
#[derive(Debug)]
pub(super) enum Broken {
    /// Reset, or another error of the socket.
    Socket(io::Error),
    /// The peer's TLS was not understood or not trusted.
    Tls(rustls::Error),
}

impl Transport {
    /// Wraps a connected (or connecting) socket.
    pub(super) fn new(stream: TcpStream, tls: Option<ClientConnection>) -> Transport {
        Transport {
            stamped: Stamped::on(&stream),
            stream,
            tls: tls.map(Box::new),
        }
    }

    /// The socket.
    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Goes on with the handshake; `true` when it is over.
    pub(super) fn handshake(&mut self) -> Result<bool, Broken> {
        let Some(tls) = &mut self.tls else {
            return Ok(true);
        };
        loop {
            let written = flush(tls, &self.stream)?;
            if !tls.is_handshaking() {
                return Ok(true);
            }
            if !written {
                return Ok(false);
            }
            match receive(tls, &self.stream, &mut self.stamped)? {
                Input::Data { .. } => {}
                Input::Blocked => return Ok(false),
                Input::End => return Err(Broken::Socket(ErrorKind::UnexpectedEof.into())),
            }
        }
    }

    /// Writes some bytes: how many were taken, 0 when there is no room.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let Some(tls) = &mut self.tls else {
            return unless_blocked((&self.stream).write(bytes)).map(|n| n.unwrap_or(0));
        };
        // TLS holds a limited number of bytes: first make room.
        if !flush(tls, &self.stream)? {
            return Ok(0);
        }
        let taken = tls.writer().write(bytes).map_err(Broken::Socket)?;
        flush(tls, &self.stream)?;
        Ok(taken)
    }

    /// Writes what [`Transport::write`] took and holds; `true` when nothing is
    /// held.
    pub(super) fn flush(&mut self) -> Result<bool, Broken> {
        self.tls
            .as_mut()
            .map_or(Ok(true), |tls| flush(tls, &self.stream))
    }

    /// Reads some bytes.
    pub(super) fn read(&mut self, buf: &mut [u8]) -> Result<Input, Broken> {
        let Some(tls) = &mut self.tls else {
            return read_socket(&self.stream, &mut self.stamped, buf);
        };
        let mut drained = false;
        loop {
            match tls.reader().read(buf) {
                // The session was ended in order.
                Ok(0) => return Ok(Input::End),
                Ok(bytes) => {
                    // More may be decrypted already.
                    let drained = drained && bytes < buf.len();
                    return Ok(Input::Data { bytes, drained });
                }
                // Many servers end the connection without ending the session;
                // whether an answer was cut off is seen by its length.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(Input::End),
                Err(_) => {}
            }
            match receive(tls, &self.stream, &mut self.stamped)? {
                Input::Data { drained: d, .. } => drained = d,
                Input::Blocked => return Ok(Input::Blocked),
                Input::End => {}
            }
            // Answers to what was received, such as a change of keys.
            flush(tls, &self.stream)?;
        }
    }

    /// How long before it was read the last packet had come that
    /// [`Transport::read`] took from the socket.
    pub(super) fn age(&self) -> Duration {
        self.stamped.age()
    }

    /// Closes it at once and leaves nothing behind: neither side keeps the
    /// pair of ports in TIME_WAIT, and the server sees that nobody waits.
    pub(super) fn abort(self) {
        // Without it the connection is closed the ordinary way.
        let _ = sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO));
    }
}

/// The result, or `None` if the socket was not ready.
fn unless_blocked<T>(result: io::Result<T>) -> Result<Option<T>, Broken> {
    match result {
        Ok(value) => Ok(Some(value)),
        // A signal: the caller tries again as if there were nothing yet, and
        // sockets that do not block are not interrupted.
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(e) => Err(Broken::Socket(e)),
    }
}

fn read_socket(stream: &TcpStream, stamped: &mut Stamped, buf: &mut [u8]) -> Result<Input, Broken> {
    Ok(match unless_blocked(stamped.read(stream, buf))? {
        None => Input::Blocked,
        Some(0) => Input::End,
        Some(bytes) => Input::Data {
            bytes,
            drained: bytes < buf.len(),
        },
    })
}

/// Writes what TLS has to write; `true` when nothing is left.
fn flush(tls: &mut ClientConnection, mut stream: &TcpStream) -> Result<bool, Broken> {
    while tls.wants_write() {
        if unless_blocked(tls.write_tls(&mut stream))?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads once from the socket and decrypts.
fn receive(
    tls: &mut ClientConnection,
    stream: &TcpStream,
    stamped: &mut Stamped,
) -> Result<Input, Broken> {
    let mut socket = Watched {
        stream,
        stamped,
        drained: false,
    };
    let bytes = match unless_blocked(tls.read_tls(&mut socket))? {
        None => return Ok(Input::Blocked),
        Some(bytes) => bytes,
    };
    tls.process_new_packets().map_err(|error| {
        // The alert that tells the server why, as far as it can be sent now.
        let _ = flush(tls, stream);
        Broken::Tls(error)
    })?;
    Ok(match bytes {
        0 => Input::End,
        bytes => Input::Data {
            bytes,
            drained: socket.drained,
        },
    })
}

/// Notes whether a read took all that the socket had.
struct Watched<'a> {
    stream: &'a TcpStream,
    stamped: &'a mut Stamped,
    drained: bool,
}

impl Read for Watched<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.stamped.read(self.stream, buf)?;
        self.drained = n < buf.len();
        Ok(n)
    }
}
