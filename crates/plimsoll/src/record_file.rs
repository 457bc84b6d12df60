//! Files that the user names, checked before anything else is done.

use crate::failure::Failure;
use plimsoll_host::{Root, memory_limit};
use plimsoll_record::{MemoryBudget, Record, RecordError};
use rustix::process::geteuid;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The memory for records that are read together: half of the machine's, or of the limit of the own
/// cgroup.
pub(crate) fn memory_budget() -> MemoryBudget {
    let budget = MemoryBudget::half_of_memory();
    match memory_limit(&Root::machine()) {
        Some(limit) => budget.at_most_half_of(limit),
        None => budget,
    }
}

/// Opens a record for reading.
pub(crate) fn open(path: &Path) -> Result<Record, Failure> {
    Ok(Record::open_within(path, &mut memory_budget())?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maker {
    /// A run, which can be resumed.
    Run,
    /// An import, which cannot.
    Import,
}

/// Checks that a new file can be made at `path`: it is made and removed again.
/// Folders are not made, because a mistyped name would leave them behind.
///
/// # Errors
/// The file exists, its folder does not, or the system refuses.
pub(crate) fn check(path: &Path, maker: Maker) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(RecordError::IsDirectory { path: path.into() }.into());
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    // Other faults of the folder show below.
    if let Some(folder) = folder.filter(|folder| matches!(folder.try_exists(), Ok(false))) {
        return Err(Failure::Mistake(format!(
            "there is no folder {} for the record; make it, or choose another file with -o",
            folder.display()
        )));
    }
    let mut new = OpenOptions::new();
    // As the record itself: a process that opens it now could read what is written later.
    let made = new.write(true).create_new(true).mode(0o600).open(path);
    let Err(error) = made.and_then(|_| fs::remove_file(path)) else {
        return Ok(());
    };
    let shown = path.display();
    Err(match (error.kind(), maker) {
        (ErrorKind::AlreadyExists, Maker::Run) => RecordError::Exists { path: path.into() }.into(),
        (ErrorKind::AlreadyExists, Maker::Import) => Failure::Mistake(format!(
            "{shown} exists already; choose another file with -o"
        )),
        _ => Failure::of_writing(
            &error,
            &format!("a record cannot be created at {shown}: {error}; choose another file with -o"),
        ),
    })
}

/// Refuses a folder that was not named, and that another user may have made: in /tmp all can.
///
/// # Errors
/// It is a symlink, or has an owner that is neither this user nor root, nor who runs sudo(8).
pub(crate) fn refuse_of_others(folder: &Path) -> Result<(), Failure> {
    let Ok(about) = fs::symlink_metadata(folder) else {
        return Ok(());
    };
    let own = geteuid().as_raw();
    let caller = std::env::var("SUDO_UID").ok();
    let caller = caller.filter(|_| own == 0).and_then(|uid| uid.parse().ok());
    let owners = [Some(own), Some(0), caller];
    if about.is_dir() && owners.contains(&Some(about.uid())) {
        return Ok(());
    }
    Err(Failure::Mistake(format!(
        "{} here is a link, or belongs to another user; name a file for the record with -o",
        folder.display()
    )))
}

/// Reads a table of at most `most` bytes and one more, so that a larger one is
/// noticed without reading a device to its end, which it may not have.
pub(crate) fn read_table(path: &Path, what: &str, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    read.map_err(|e| {
        let shown = path.display();
        Failure::Mistake(format!(
            "the {what} {shown} cannot be read: {e}; check the name and its permissions"
        ))
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_not_named_is_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("plimsoll-runs");
        assert!(refuse_of_others(&runs).is_ok(), "it is made");
        std::os::unix::fs::symlink(folder.path(), &runs).unwrap();
        let refused = refuse_of_others(&runs).unwrap_err();
        assert!(refused.sentence().unwrap().contains("-o"), "{refused:?}");
        fs::remove_file(&runs).unwrap();
        fs::create_dir(&runs).unwrap();
        assert!(refuse_of_others(&runs).is_ok());
    }
}
