//! Checks the limit on open files.

use crate::LoadError;
use rustix::process::{Resource, getrlimit};

/// Files reserved for the rest of the process: standard streams, record,
/// sensors.
const RESERVED: u64 = 64;
/// Files per generator thread besides connections: epoll and a timer.
const PER_THREAD: u64 = 2;

/// Checks this process' limit on open files.
pub(super) fn check_open_files(connections: u32, threads: usize) -> Result<(), LoadError> {
    let limit = getrlimit(Resource::Nofile);
    check(connections, threads, limit.current, limit.maximum)
}

fn check(
    connections: u32,
    threads: usize,
    soft: Option<u64>,
    hard: Option<u64>,
) -> Result<(), LoadError> {
    // `None` means unlimited.
    let Some(soft) = soft else { return Ok(()) };
    let others = RESERVED + PER_THREAD * threads as u64;
    let possible = soft.saturating_sub(others);
    if u64::from(connections) <= possible {
        return Ok(());
    }
    let needed = others + u64::from(connections);
    let raise = match hard {
        Some(hard) if hard < needed => {
            format!("ask the administrator to raise the hard limit from {hard} to {needed}")
        }
        _ => format!("raise the limit with: ulimit -n {needed}"),
    };
    LoadError::mistake(format!(
        "{connections} connections need more open files than this process may have ({soft}): \
         {possible} connections are possible; use fewer with --connections, or {raise}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(connections: u32, soft: u64, hard: Option<u64>) -> Option<String> {
        let result = check(connections, 1, Some(soft), hard);
        result.err().map(|e| e.to_string())
    }

    #[test]
    fn connections_up_to_the_limit_are_allowed() {
        assert_eq!(message(934, 1000, None), None);
        assert!(message(935, 1000, None).is_some());
        assert!(check(u32::MAX, 1, None, None).is_ok());
    }

    #[test]
    fn remedy_depends_on_the_hard_limit() {
        let soft = message(2000, 1024, Some(4096)).unwrap();
        assert!(soft.contains("958 connections are possible"), "{soft}");
        assert!(soft.contains("ulimit -n 2066"), "{soft}");
        let hard = message(5000, 1024, Some(4096)).unwrap();
        assert!(hard.contains("administrator"), "{hard}");
    }
}
