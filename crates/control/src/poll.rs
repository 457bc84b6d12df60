//! Polls the kernel until a requested change has happened.

use crate::TIMEOUT;
use crate::error::ControlError;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Polls `done` at growing intervals until it returns `true` or [`TIMEOUT`] has
/// passed; returns its last answer.
pub(crate) fn until(
    mut done: impl FnMut() -> Result<bool, ControlError>,
) -> Result<bool, ControlError> {
    const LONGEST: Duration = Duration::from_millis(50);
    let end = Instant::now() + TIMEOUT;
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

/// The same, with an error if the time has passed.
pub(crate) fn until_or(
    done: impl FnMut() -> Result<bool, ControlError>,
    timed_out: impl FnOnce() -> ControlError,
) -> Result<(), ControlError> {
    match until(done)? {
        true => Ok(()),
        false => Err(timed_out()),
    }
}
