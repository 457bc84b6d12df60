//! The bytes of one connection, as h2 wants to read and write them.

use super::super::transport::{Broken, Input, Transport};
use crate::tally::Failure;
use std::cell::{Ref, RefCell, RefMut};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A transport that is read only as often as it is asked for. Nothing wakes a task: the owner polls
/// again when the socket is ready.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) transport: Transport,
    /// How many reads are left before the next is put off.
    pub(super) reads: u32,
    /// Bytes read since this was set to zero.
    pub(super) read: usize,
    /// The socket has no more until the next edge.
    pub(super) is_drained: bool,
    /// Why it is no longer usable, as far as the wire knows.
    pub(super) broken: Option<Failure>,
    /// The error of TLS, for a sentence.
    pub(super) tls: Option<rustls::Error>,
}

/// One wire, which h2 and its owner share. They take turns on one thread.
#[derive(Debug, Clone)]
pub(super) struct Shared(Rc<RefCell<Wire>>);

impl Shared {
    pub(super) fn new(transport: Transport) -> Shared {
        Shared(Rc::new(RefCell::new(Wire {
            transport,
            reads: 0,
            read: 0,
            is_drained: false,
            broken: None,
            tls: None,
        })))
    }

    pub(super) fn get(&self) -> Ref<'_, Wire> {
        self.0.borrow()
    }

    pub(super) fn get_mut(&self) -> RefMut<'_, Wire> {
        self.0.borrow_mut()
    }

    /// Closes it, unless h2 has it in use.
    pub(super) fn abort(self) {
        if let Ok(wire) = Rc::try_unwrap(self.0) {
            wire.into_inner().transport.abort();
        }
    }

    pub(super) fn age(&self) -> Duration {
        self.get().transport.age()
    }
}

impl Wire {
    fn breaks(&mut self, why: Broken) -> io::Error {
        match why {
            Broken::Socket(error) => {
                self.broken = Some(Failure::Reset);
                error
            }
            Broken::Tls(error) => {
                self.broken = Some(Failure::Tls);
                self.tls = Some(error.clone());
                io::Error::other(error)
            }
        }
    }
}

impl AsyncRead for Shared {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = &mut *self.get_mut().get_mut();
        if wire.reads == 0 {
            return Poll::Pending;
        }
        wire.reads -= 1;
        let read = wire.transport.read(buf.initialize_unfilled());
        match read.map_err(|why| wire.breaks(why)) {
            Ok(Input::Data { bytes, drained }) => {
                wire.is_drained = drained;
                wire.read += bytes;
                buf.advance(bytes);
                Poll::Ready(Ok(()))
            }
            Ok(Input::Blocked) => {
                wire.is_drained = true;
                wire.reads = 0;
                Poll::Pending
            }
            Ok(Input::End | Input::Cut) => {
                wire.broken = wire.broken.or(Some(Failure::Reset));
                Poll::Ready(Ok(()))
            }
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncWrite for Shared {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wire = &mut *self.get_mut().get_mut();
        match wire.transport.write(bytes) {
            Ok(0) if !bytes.is_empty() => Poll::Pending,
            Ok(written) => Poll::Ready(Ok(written)),
            Err(why) => Poll::Ready(Err(wire.breaks(why))),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = &mut *self.get_mut().get_mut();
        match wire.transport.flush() {
            Ok(true) => Poll::Ready(Ok(())),
            Ok(false) => Poll::Pending,
            Err(why) => Poll::Ready(Err(wire.breaks(why))),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}
