//! A server of one page, for `cargo xtask guest burst`: as the only program of a virtual machine,
//! beside another service in one, or as a process of the host.
//!
//! As init it loads the modules in /modules, gives eth0 its address and serves at port 80.
//! `plimsoll-appliance ADDRESS:PORT [--cpu-log]` serves at an address. With a log, which init has,
//! /cpu answers what the kernel says of CPU use.

mod cpu_log;
mod http;
mod init;
mod netlink;

use cpu_log::CpuLog;
use std::fmt;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

const USAGE: &str = "usage: plimsoll-appliance ADDRESS:PORT [--cpu-log]";

/// What went wrong, and with what.
#[derive(Debug)]
struct Failure(String);

impl Failure {
    fn of<E: fmt::Display>(what: &str) -> impl FnOnce(E) -> Failure {
        move |error| Failure(format!("{what}: {error}"))
    }
}

fn main() -> ExitCode {
    let Err(Failure(why)) = run();
    // If standard error is closed, the message is lost.
    let _ = writeln!(std::io::stderr(), "plimsoll-appliance: {why}");
    ExitCode::FAILURE
}

fn run() -> Result<std::convert::Infallible, Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // Init is given all of the kernel's command line that the kernel does not know.
    let (address, has_log) = match std::process::id() {
        1 => {
            init::prepare()?;
            (SocketAddr::from((Ipv4Addr::UNSPECIFIED, 80)), true)
        }
        _ => asked(&words).ok_or_else(|| Failure(USAGE.to_owned()))?,
    };
    let log = match has_log {
        true => Some(Arc::new(CpuLog::start()?)),
        false => None,
    };
    http::serve(address, log)
}

/// The address, and whether a log is kept.
fn asked(words: &[String]) -> Option<(SocketAddr, bool)> {
    let (address, more) = words.split_first()?;
    let has_log = match more {
        [] => false,
        [flag] if flag == "--cpu-log" => true,
        _ => return None,
    };
    Some((address.parse().ok()?, has_log))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_asked_for_and_maybe_a_log() {
        let of = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            asked(&words).map(|(address, has_log)| (address.port(), has_log))
        };
        assert_eq!(of("127.0.0.1:81"), Some((81, false)));
        assert_eq!(of("0.0.0.0:81 --cpu-log"), Some((81, true)));
        for line in ["", "81", "0.0.0.0:81 --log", "0.0.0.0:81 --cpu-log more"] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
