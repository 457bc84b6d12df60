//! One run of a kind at a time, for acts that two runs would do against each other.
//!
//! It is a lock on a file in the folder of the journals, which no other user can open: nobody else
//! can take it or keep it. The kernel releases it however its owner ends.

use super::{Journals, place};
use crate::error::ControlError;
use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;

/// Held while the only run of its kind lasts.
#[derive(Debug)]
pub struct OnlyOne {
    _file: File,
}

/// What came of asking to be the only one.
#[derive(Debug)]
pub enum Asked {
    Granted(OnlyOne),
    /// By its PID; `None` if it has just begun.
    TakenBy(Option<u32>),
}

impl Journals {
    /// Asks to be the only run of a kind (`gate`) of this user, without waiting.
    ///
    /// # Errors
    /// As of [`Journals::open`], or the lock's file cannot be used.
    pub fn only_one(&self, kind: &str) -> Result<Asked, ControlError> {
        place::make(&self.dir)?;
        let path = self.dir.join(format!("{kind}.lock"));
        let failed = |source: io::Error| ControlError::file(&path, "locked", source);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).mode(0o600);
        let follow_no_link = OFlags::NOFOLLOW.bits().cast_signed();
        let opened = options.custom_flags(follow_no_link).open(&path);
        let mut file = opened.map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let written = file
                    .set_len(0)
                    .and_then(|()| write!(file, "{}", std::process::id()));
                written.map_err(failed)?;
                Ok(Asked::Granted(OnlyOne { _file: file }))
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut owner = String::new();
                let _ = file.read_to_string(&mut owner);
                Ok(Asked::TakenBy(owner.trim().parse().ok()))
            }
            Err(errno) => Err(failed(errno.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_second_is_told_of_the_first_until_that_ends() {
        let dir = tempfile::tempdir().unwrap();
        let journals = Journals::at(dir.path().join("plimsoll"));
        let first = journals.only_one("gate").unwrap();
        assert!(matches!(first, Asked::Granted(_)));
        let own = std::process::id();
        let second = journals.only_one("gate").unwrap();
        assert!(matches!(second, Asked::TakenBy(Some(pid)) if pid == own));
        let other = journals.only_one("other").unwrap();
        assert!(matches!(other, Asked::Granted(_)));
        drop(first);
        assert!(matches!(
            journals.only_one("gate").unwrap(),
            Asked::Granted(_)
        ));
    }

    /// The name of a socket, or a file that all can open, would be taken by any user.
    #[test]
    fn other_users_cannot_take_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("plimsoll");
        let journals = Journals::at(&folder);
        let _first = journals.only_one("gate").unwrap();
        let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder.clone()), 0o700);
        assert_eq!(mode(folder.join("gate.lock")), 0o600);
        let all = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(&folder, all).unwrap();
        let refused = journals.only_one("gate").unwrap_err();
        assert!(matches!(refused, ControlError::UnsafeJournal { .. }));
    }
}
