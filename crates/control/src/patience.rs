//! Waiting for the kernel to finish what it was told.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a group may take to stand still or to become empty.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Asks `done` again and again, ever more rarely, until it says yes or
/// [`PATIENCE`] has passed; says what it said last.
///
/// # Errors
/// What `done` says.
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
