//! Reads and writes cgroup files, with errors that name the file.
//!
//! This module does not know what a file means.

use crate::error::ControlError;
use rustix::io::Errno;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

/// Writes a value in one call, as the kernel requires. Does not create the file.
pub(crate) fn write(path: &Path, value: &str, hint: &'static str) -> Result<(), ControlError> {
    OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|mut file| file.write_all(value.as_bytes()))
        .map_err(|source| explain(path, value, source, hint))
}

pub(crate) fn read(path: &Path) -> Result<String, ControlError> {
    fs::read_to_string(path).map_err(|source| match is_absent(&source) {
        true => absent(path),
        false => ControlError::file(path, "read", source),
    })
}

/// The value that is all of a file.
pub(crate) fn parse<T: FromStr>(path: &Path) -> Result<T, ControlError> {
    let text = read(path)?;
    let found = text.trim();
    found.parse().map_err(|_| ControlError::Malformed {
        path: path.to_owned(),
        found: found.to_owned(),
    })
}

/// The number after `key` in a file of lines `KEY NUMBER`; `None` if this kernel
/// does not have the key.
pub(crate) fn keyed(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == key)
        .and_then(|(_, number)| number.trim().parse().ok())
}

/// Whether the error means that a group or a process does not exist.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOENT | Errno::NODEV | Errno::SRCH | Errno::NOTDIR)
    )
}

/// Whether the error means that this user lacks permission.
pub(crate) fn is_denied(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS)
    )
}

fn explain(path: &Path, value: &str, source: io::Error, hint: &'static str) -> ControlError {
    if is_absent(&source) {
        return absent(path);
    }
    let path = path.to_owned();
    if is_denied(&source) {
        return ControlError::Denied { path };
    }
    ControlError::Refused {
        path,
        value: value.to_owned(),
        source,
        hint,
    }
}

fn absent(path: &Path) -> ControlError {
    match path.parent().map(Path::to_owned) {
        Some(folder) if !folder.join("cgroup.procs").exists() => ControlError::Gone { folder },
        _ => ControlError::NoController {
            path: path.to_owned(),
        },
    }
}
