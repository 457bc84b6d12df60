//! When bytes arrived, by the kernel's own account.
//!
//! The kernel stamps each packet as it comes (SO_TIMESTAMPNS;
//! Documentation/networking/timestamping.rst), and tells the stamp of the last
//! packet that a read took from. So an answer's latency ends when the answer
//! was there, not when a thread that slept or was busy came to read it.

use nix::cmsg_space;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, IoSliceMut};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// An older stamp is no stamp: the wall clock, which stamps are made by, has
/// been set.
const OLDEST: Duration = Duration::from_secs(10);

/// Reads from a socket, and knows how old what it read was.
#[derive(Debug)]
pub(super) struct Stamped {
    /// Room for one stamp.
    control: Vec<u8>,
    /// How long before the last read its last packet had come.
    age: Duration,
}

impl Stamped {
    /// Asks the kernel for stamps. Without them, all that is read is new.
    pub(super) fn on(stream: &TcpStream) -> Stamped {
        // Every Linux has it; if not, the thread's own clock must do.
        let _ = setsockopt(stream, sockopt::ReceiveTimestampns, &true);
        Stamped {
            control: cmsg_space!(TimeSpec),
            age: Duration::ZERO,
        }
    }

    /// How long before the last read its last packet had come.
    pub(super) fn age(&self) -> Duration {
        self.age
    }

    /// Reads once.
    pub(super) fn read(&mut self, stream: &TcpStream, buf: &mut [u8]) -> io::Result<usize> {
        let mut iov = [IoSliceMut::new(buf)];
        let control = Some(&mut self.control[..]);
        let message = recvmsg::<()>(stream.as_raw_fd(), &mut iov, control, MsgFlags::empty())?;
        let stamp = message.cmsgs().ok().and_then(|mut all| {
            all.find_map(|one| match one {
                ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp)),
                _ => None,
            })
        });
        let bytes = message.bytes;
        self.age = stamp.map_or(Duration::ZERO, |stamp| age(stamp, wall_clock()));
        Ok(bytes)
    }
}

/// How long ago `stamp` was; nothing if that cannot be.
fn age(stamp: Duration, now: Duration) -> Duration {
    now.checked_sub(stamp)
        .filter(|age| *age <= OLDEST)
        .unwrap_or(Duration::ZERO)
}

/// Since 1970, as the kernel's stamps.
fn wall_clock() -> Duration {
    let now = clock_gettime(ClockId::Realtime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn what_waited_to_be_read_is_as_old_as_it_is() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let reader = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut stamped = Stamped::on(&reader);
        let (mut writer, _) = listener.accept().unwrap();
        let mut buf = [0; 16];
        // The first socket that asks for stamps has the kernel switch them on,
        // which takes effect a moment later.
        let ages = std::iter::repeat_with(|| {
            writer.write_all(b"answer").unwrap();
            std::thread::sleep(Duration::from_millis(30));
            assert_eq!(stamped.read(&reader, &mut buf).unwrap(), 6);
            stamped.age()
        });
        let first = ages.take(100).find(|age| !age.is_zero());
        assert!(first >= Some(Duration::from_millis(30)), "{first:?}");
        drop(writer);
        assert_eq!(stamped.read(&reader, &mut buf).unwrap(), 0);
    }

    #[test]
    fn a_clock_that_was_set_makes_nothing_old() {
        let s = Duration::from_secs;
        assert_eq!(age(s(100), s(101)), s(1));
        assert_eq!(age(s(100), s(99)), Duration::ZERO);
        assert_eq!(age(s(100), s(4000)), Duration::ZERO);
    }
}
