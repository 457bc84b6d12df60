//! Connections and the limit on open files.

use crate::LoadError;
use rustix::process::{Resource, getrlimit};

/// Files reserved for the rest of the process: standard streams, record,
/// sensors.
const RESERVED: u64 = 64;
/// Files per generator thread besides connections: epoll and a timer.
const PER_THREAD: u64 = 2;

/// The most connections that this process may open besides so many generator
/// threads.
pub fn possible_connections(threads: usize) -> u32 {
    let soft = getrlimit(Resource::Nofile).current;
    let files = soft.map_or(u64::MAX, |soft| possible(soft, threads));
    u32::try_from(files).unwrap_or(u32::MAX)
}

fn possible(soft: u64, threads: usize) -> u64 {
    soft.saturating_sub(others(threads))
}

fn others(threads: usize) -> u64 {
    RESERVED + PER_THREAD * threads as u64
}

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
    let possible = possible(soft, threads);
    if u64::from(connections) <= possible {
        return Ok(());
    }
    let needed = others(threads) + u64::from(connections);
    let raise = match hard {
        Some(hard) if hard < needed => {
            format!(
                "have the administrator raise the hard limit from {hard} (as root: ulimit -n {needed})"
            )
        }
        _ => format!("raise the limit with: ulimit -n {needed}"),
    };
    let fewer = match possible {
        0 => String::new(),
        n => format!("{n} are possible, so use fewer (--connections, or --max-connections), or "),
    };
    LoadError::mistake(format!(
        "{connections} connections need more open files than this process may have ({soft}); {fewer}{raise}"
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
        assert!(soft.contains("958 are possible"), "{soft}");
        assert!(soft.contains("ulimit -n 2066"), "{soft}");
        let hard = message(5000, 1024, Some(4096)).unwrap();
        assert!(hard.contains("administrator"), "{hard}");
        // No fewer connections would help.
        let none = message(128, 64, Some(64)).unwrap();
        assert!(
            none.contains("ulimit -n 194") && !none.contains("fewer"),
            "{none}"
        );
    }
}
