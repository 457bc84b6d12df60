//! One gate a machine: a socket with an abstract name, which the kernel removes when its
//! owner ends, however that happens (unix(7)).

use crate::error::SideError;
use plimsoll_host::Root;
use rustix::net::sockopt::socket_peercred;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// Followed by the root of the machine, so that tests on fake trees do not meet.
const NAME: &str = "plimsoll-gate";

/// Held while a gate runs.
#[derive(Debug)]
pub(super) struct OnlyGate {
    _socket: Option<UnixListener>,
}

impl OnlyGate {
    pub(super) fn take(root: &Root) -> Result<OnlyGate, SideError> {
        OnlyGate::named(&format!("{NAME}{}", root.path("/").display()))
    }

    fn named(name: &str) -> Result<OnlyGate, SideError> {
        let Ok(address) = SocketAddr::from_abstract_name(name) else {
            return Ok(OnlyGate { _socket: None });
        };
        match UnixListener::bind_addr(&address) {
            Ok(socket) => Ok(OnlyGate {
                _socket: Some(socket),
            }),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                let owner = UnixStream::connect_addr(&address).ok().and_then(|socket| {
                    let owner = socket_peercred(&socket).ok()?;
                    u32::try_from(owner.pid.as_raw_nonzero().get()).ok()
                });
                Err(SideError::OtherGate {
                    owner: owner.unwrap_or(0),
                })
            }
            // A sandbox without sockets: another gate is not seen, and each still gives
            // back only what is its own.
            Err(_) => Ok(OnlyGate { _socket: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_gate_is_refused_and_names_the_first() {
        let name = format!("plimsoll-gate-test-{}", std::process::id());
        let first = OnlyGate::named(&name).unwrap();
        match OnlyGate::named(&name) {
            Err(SideError::OtherGate { owner }) => assert_eq!(owner, std::process::id()),
            other => panic!("{other:?}"),
        }
        drop(first);
        assert!(OnlyGate::named(&name).is_ok());
    }
}
