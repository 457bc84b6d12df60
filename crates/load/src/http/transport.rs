//! A TCP connection with or without TLS, blocking or non-blocking.

use super::timestamp::TimestampedSocket;
use rustix::net::sockopt;
use rustls::ClientConnection;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Transport {
    socket: TimestampedSocket,
    tls: Option<Box<ClientConnection>>,
    /// Return after one socket operation, so that the caller can look at its
    /// deadline: a peer that sends a byte now and then never lets a read time out.
    stepwise: bool,
    /// The peer has closed its TLS session.
    closed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    Data {
        bytes: usize,
        /// The socket had no more at that time; epoll reports more as a new
        /// edge.
        drained: bool,
    },
    /// The server closed its side: its TLS session, too, if there is one.
    End,
    /// The server closed its side, but not its TLS session: somebody may have
    /// cut the connection, so what has no other end is incomplete (RFC 9112,
    /// section 9.8).
    Cut,
    /// No data yet; for a blocking socket, after one read or a time-out.
    Blocked,
}

/// Why a connection is no longer usable.
#[derive(Debug)]
pub(super) enum Broken {
    /// Reset, or another socket error.
    Socket(io::Error),
    /// The peer's TLS is invalid or not trusted.
    Tls(rustls::Error),
}

impl Transport {
    /// A connection over a non-blocking socket.
    pub(super) fn non_blocking(stream: TcpStream, tls: Option<ClientConnection>) -> Transport {
        Transport {
            socket: TimestampedSocket::new(stream),
            tls: tls.map(Box::new),
            stepwise: false,
            closed: false,
        }
    }

    /// A connection over a blocking socket with time-outs, which the caller
    /// sets anew before each call.
    pub(super) fn blocking(stream: TcpStream, tls: Option<ClientConnection>) -> Transport {
        Transport {
            stepwise: true,
            ..Transport::non_blocking(stream, tls)
        }
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.socket.stream
    }

    /// The protocol that both sides chose in the handshake (ALPN), if any.
    pub(super) fn protocol(&self) -> Option<&[u8]> {
        self.tls.as_ref()?.alpn_protocol()
    }

    pub(super) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Continues the handshake; `true` when it is complete. For a blocking
    /// socket, reads at most once.
    pub(super) fn handshake(&mut self) -> Result<bool, Broken> {
        let Some(tls) = &mut self.tls else {
            return Ok(true);
        };
        let mut may_read = true;
        loop {
            let written = flush(tls, &self.socket.stream, self.stepwise)?;
            if !tls.is_handshaking() {
                return Ok(true);
            }
            if !written || !may_read {
                return Ok(false);
            }
            may_read = !self.stepwise;
            let (input, closed) = receive(tls, &mut self.socket)?;
            self.closed |= closed;
            match input {
                Input::Data { .. } => {}
                Input::Blocked => return Ok(false),
                Input::End | Input::Cut => {
                    return Err(Broken::Socket(ErrorKind::UnexpectedEof.into()));
                }
            }
        }
    }

    /// Writes some bytes and returns how many were accepted; 0 if the socket is
    /// full.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let Some(tls) = &mut self.tls else {
            return unless_blocked((&self.socket.stream).write(bytes)).map(|n| n.unwrap_or(0));
        };
        // TLS buffers a limited number of bytes: flush them first.
        if !flush(tls, &self.socket.stream, self.stepwise)? {
            return Ok(0);
        }
        let taken = tls.writer().write(bytes).map_err(Broken::Socket)?;
        flush(tls, &self.socket.stream, self.stepwise)?;
        Ok(taken)
    }

    /// Writes buffered bytes; `true` when none are left.
    pub(super) fn flush(&mut self) -> Result<bool, Broken> {
        self.tls.as_mut().map_or(Ok(true), |tls| {
            flush(tls, &self.socket.stream, self.stepwise)
        })
    }

    /// Reads until there is data or the socket has none; a blocking socket at
    /// most once.
    pub(super) fn read(&mut self, buf: &mut [u8]) -> Result<Input, Broken> {
        let Some(tls) = &mut self.tls else {
            return read_socket(&mut self.socket, buf);
        };
        let (mut drained, mut may_read) = (false, true);
        loop {
            match tls.reader().read(buf) {
                // The session was closed properly.
                Ok(0) => return Ok(Input::End),
                Ok(bytes) => {
                    // More may be decrypted already, or the session be closed: the peer need not
                    // close the connection then.
                    let drained = drained && bytes < buf.len() && !self.closed;
                    return Ok(Input::Data { bytes, drained });
                }
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(Input::Cut),
                Err(_) => {}
            }
            if !may_read {
                return Ok(Input::Blocked);
            }
            may_read = !self.stepwise;
            let (input, closed) = receive(tls, &mut self.socket)?;
            self.closed |= closed;
            match input {
                Input::Data { drained: d, .. } => drained = d,
                Input::Blocked => return Ok(Input::Blocked),
                Input::End | Input::Cut => {}
            }
            // Replies to what was received, such as a key update.
            flush(tls, &self.socket.stream, self.stepwise)?;
        }
    }

    /// Time between the arrival and the reading of the last packet that
    /// [`Transport::read`] consumed.
    pub(super) fn age(&self) -> Duration {
        self.socket.age
    }

    /// Closes with a reset: neither side keeps the ports in TIME_WAIT, and the
    /// server sees that the client has gone.
    pub(super) fn abort(self) {
        // If refused, the connection is closed normally.
        let _ = sockopt::set_socket_linger(&self.socket.stream, Some(Duration::ZERO));
    }
}

/// The result, or `None` if the socket was not ready.
fn unless_blocked<T>(result: io::Result<T>) -> Result<Option<T>, Broken> {
    match result {
        Ok(value) => Ok(Some(value)),
        // Interrupted by a signal: the caller retries. Non-blocking sockets are
        // never interrupted.
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(e) => Err(Broken::Socket(e)),
    }
}

fn read_socket(socket: &mut TimestampedSocket, buf: &mut [u8]) -> Result<Input, Broken> {
    let read = unless_blocked(socket.read(buf))?;
    Ok(read.map_or(Input::Blocked, |bytes| input(bytes, socket)))
}

/// What a read of the socket gave.
fn input(bytes: usize, socket: &TimestampedSocket) -> Input {
    let drained = socket.drained;
    match bytes {
        0 => Input::End,
        bytes => Input::Data { bytes, drained },
    }
}

/// Writes TLS's pending data, or with `once` what one write takes of it; `true`
/// when none is left.
fn flush(tls: &mut ClientConnection, mut stream: &TcpStream, once: bool) -> Result<bool, Broken> {
    while tls.wants_write() {
        let written = unless_blocked(tls.write_tls(&mut stream))?;
        if written.is_none() || once {
            return Ok(!tls.wants_write());
        }
    }
    Ok(true)
}

/// Reads once from the socket and decrypts; returns also whether the peer has closed its session.
fn receive(
    tls: &mut ClientConnection,
    socket: &mut TimestampedSocket,
) -> Result<(Input, bool), Broken> {
    let Some(bytes) = unless_blocked(tls.read_tls(socket))? else {
        return Ok((Input::Blocked, false));
    };
    let state = tls.process_new_packets().map_err(|error| {
        // Sends the alert that states the error, as far as possible without
        // blocking.
        let _ = flush(tls, &socket.stream, true);
        Broken::Tls(error)
    })?;
    Ok((input(bytes, socket), state.peer_has_closed()))
}
