//! The local ports of this process's connections, also of those that are closed: the kernel lists these for a minute,
//! without whose they were.

use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

static OURS: Ports = Ports::none();

/// To be called for each connection that is opened.
pub(super) fn note(stream: &TcpStream) {
    if let Ok(local) = stream.local_addr() {
        OURS.add(local.port());
    }
}

/// Whether a connection of this process, to any service, has had this local port.
pub fn was_own_port(port: u16) -> bool {
    OURS.has(port)
}

/// A bit for each port.
struct Ports([AtomicU64; 1024]);

impl Ports {
    const fn none() -> Ports {
        Ports([const { AtomicU64::new(0) }; 1024])
    }

    fn add(&self, port: u16) {
        self.word(port)
            .fetch_or(1 << (port % 64), Ordering::Relaxed);
    }

    fn has(&self, port: u16) -> bool {
        self.word(port).load(Ordering::Relaxed) & 1 << (port % 64) != 0
    }

    fn word(&self, port: u16) -> &AtomicU64 {
        &self.0[usize::from(port / 64)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_port_has_its_bit() {
        let ports = Ports::none();
        for port in [0, 63, 64, u16::MAX] {
            assert!(!ports.has(port));
            ports.add(port);
            assert!(ports.has(port));
        }
        assert!(!ports.has(1) && !ports.has(65));
    }
}
