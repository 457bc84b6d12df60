//! Arrival times of received bytes, from kernel timestamps.
//!
//! The kernel timestamps each packet on arrival (SO_TIMESTAMPNS;
//! Documentation/networking/timestamping.rst) and reports the timestamp of the
//! last packet that a read consumed. An answer's latency thus ends at its
//! arrival, not when a sleeping or busy thread reads it.

use nix::cmsg_space;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, IoSliceMut, Read};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::LazyLock;
use std::time::Duration;

/// Older timestamps are ignored: the wall clock, which the kernel uses for
/// them, has been set.
const OLDEST: Duration = Duration::from_secs(10);

/// A socket that is never used, so that the kernel stamps packets for as long as this process lives.
///
/// The kernel stamps while any socket asks for it, and rewrites its own code on all CPUs to begin and to end with that
/// (net_enable_timestamp in net/core/dev.c): some 60 us for each connection, if it is the only one for a moment.
static STAMPING: LazyLock<Option<OwnedFd>> = LazyLock::new(|| {
    // A child that had it would keep the kernel stamping after this process has ended.
    let of = |family| socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
    let socket = of(AddressFamily::INET).or_else(|_| of(AddressFamily::INET6));
    let socket = socket.ok()?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true).ok()?;
    Some(socket)
});

/// A socket that knows the age of what was read.
#[derive(Debug)]
pub(crate) struct TimestampedSocket {
    pub(crate) stream: TcpStream,
    /// Time between the arrival of the last packet and the last read.
    pub(crate) age: Duration,
    /// Whether the last read emptied the socket.
    pub(crate) drained: bool,
    control: Vec<u8>,
}

impl TimestampedSocket {
    /// Enables timestamps. Without them, the age is zero.
    pub(crate) fn new(stream: TcpStream) -> TimestampedSocket {
        LazyLock::force(&STAMPING);
        // Every Linux supports it; otherwise the time of reading is used.
        let _ = setsockopt(&stream, sockopt::ReceiveTimestampns, &true);
        TimestampedSocket {
            stream,
            age: Duration::ZERO,
            drained: false,
            control: cmsg_space!(TimeSpec),
        }
    }
}

impl Read for TimestampedSocket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let wanted = buf.len();
        let mut iov = [IoSliceMut::new(buf)];
        let control = Some(&mut self.control[..]);
        let fd = self.stream.as_raw_fd();
        let message = recvmsg::<()>(fd, &mut iov, control, MsgFlags::empty())?;
        let stamp = message.cmsgs().ok().and_then(|mut all| {
            all.find_map(|one| match one {
                ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp)),
                _ => None,
            })
        });
        let bytes = message.bytes;
        self.age = stamp.map_or(Duration::ZERO, |stamp| age(stamp, wall_clock()));
        self.drained = bytes < wanted;
        Ok(bytes)
    }
}

/// The age of `stamp`; zero if it is implausible.
fn age(stamp: Duration, now: Duration) -> Duration {
    now.checked_sub(stamp)
        .filter(|age| *age <= OLDEST)
        .unwrap_or(Duration::ZERO)
}

/// Time since 1970, as in the kernel's timestamps.
fn wall_clock() -> Duration {
    let now = clock_gettime(ClockId::Realtime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::getsockopt;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn age_is_the_time_since_arrival() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let reader = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut stamped = TimestampedSocket::new(reader);
        let (mut writer, _) = listener.accept().unwrap();
        let mut buf = [0; 16];
        // The kernel enables timestamps with the first socket that requests
        // them, with a short delay.
        let ages = std::iter::repeat_with(|| {
            writer.write_all(b"answer").unwrap();
            std::thread::sleep(Duration::from_millis(30));
            assert_eq!(stamped.read(&mut buf).unwrap(), 6);
            stamped.age
        });
        let first = ages.take(100).find(|age| !age.is_zero());
        assert!(first >= Some(Duration::from_millis(30)), "{first:?}");
        drop(writer);
        assert_eq!(stamped.read(&mut buf).unwrap(), 0);
    }

    #[test]
    fn the_kernel_goes_on_stamping_when_no_connection_is_open() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let only = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        drop(TimestampedSocket::new(only));
        let kept = STAMPING.as_ref().unwrap();
        assert_eq!(getsockopt(kept, sockopt::ReceiveTimestampns), Ok(true));
        let flags = rustix::io::fcntl_getfd(kept).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    }

    #[test]
    fn implausible_age_is_zero() {
        let s = Duration::from_secs;
        assert_eq!(age(s(100), s(101)), s(1));
        assert_eq!(age(s(100), s(99)), Duration::ZERO);
        assert_eq!(age(s(100), s(4000)), Duration::ZERO);
    }
}
