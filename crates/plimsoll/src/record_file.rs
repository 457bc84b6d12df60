//! Where a record goes: what is wrong with the file that was named, before a
//! minute is spent on anything else.

use crate::failure::Failure;
use plimsoll_record::RecordError;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

/// What makes the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maker {
    /// A run, which can be resumed.
    Run,
    /// An import, which cannot.
    Import,
}

/// Whether a new file can be made at `path`, which the user has named: it is
/// made and taken away again. Folders are not made, for a name with a mistake
/// in it would leave them behind.
///
/// # Errors
/// It is there already, its folder is not there, or what the system says.
pub(crate) fn check(path: &Path, maker: Maker) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(RecordError::IsDirectory { path: path.into() }.into());
    }
    if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        match fs::metadata(folder) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(Failure::Mistake(format!(
                    "there is no folder {} for the record; make it, or choose another file with -o",
                    folder.display()
                )));
            }
            // What else may be wrong with it shows in what follows.
            _ => {}
        }
    }
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    made.and_then(|_| fs::remove_file(path))
        .map_err(|error| cannot(path, maker, &error))
}

fn cannot(path: &Path, maker: Maker, error: &io::Error) -> Failure {
    if error.kind() == ErrorKind::AlreadyExists {
        return match maker {
            Maker::Run => RecordError::Exists { path: path.into() }.into(),
            Maker::Import => Failure::Mistake(format!(
                "{} exists already; choose another file with -o",
                path.display()
            )),
        };
    }
    let sentence = format!(
        "a record cannot be created at {}: {error}; choose another file with -o",
        path.display()
    );
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Failure::Run(sentence),
        _ => Failure::Mistake(sentence),
    }
}
