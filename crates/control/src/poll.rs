//! Polls the kernel until a requested change has happened.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Maximum time for a group to freeze or to become empty.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Polls `done` at growing intervals until it returns `true` or [`PATIENCE`] has
/// passed; returns its last answer.
///
/// # Errors
/// Any error of `done`.
pub(crate) fn until<E>(mut done: impl FnMut() -> Result<bool, E>) -> Result<bool, E> {
    const LONGEST: Duration = Duration::from_millis(50);
    let end = Instant::now() + PATIENCE;
    let mut pause = Duration::from_micros(100);
    loop {
        if done()? {
            return Ok(true);
        }
        if Instant::now() >= end {
            return Ok(false);
        }
        sleep(pause);
        pause = (pause * 2).min(LONGEST);
    }
}
