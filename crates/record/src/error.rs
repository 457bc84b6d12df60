//! What can be wrong with a run file, each in one sentence.

use rusqlite::{ErrorCode, ffi};
use std::io;
use std::path::{Path, PathBuf};

/// Why a record could not be made, read or added to.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file to be made is there already.
    #[error(
        "{} exists already; choose another file with -o, or go on with the run in it with --resume",
        shown(path)
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file to be exported to is there already.
    #[error("{} exists already; name an empty or a new directory", shown(path))]
    ExportExists {
        /// The file.
        path: PathBuf,
    },
    /// The file to be read is not there.
    #[error("there is no file {}; check the name", shown(path))]
    NoSuchFile {
        /// The file.
        path: PathBuf,
    },
    /// A directory was named.
    #[error("{} is a directory; name a file in it", shown(path))]
    IsDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// A directory on the way to the file cannot be one.
    #[error(
        "{} cannot be made because a part of its path is a file; choose another file with -o",
        shown(path)
    )]
    NotInADirectory {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error(
        "{} is not a Plimsoll record: {why}; name a file that a run wrote",
        shown(path)
    )]
    NotARecord {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: &'static str,
    },
    /// The file has a layout of a later version.
    #[error(
        "{} was made by a newer Plimsoll (schema {schema}, this one reads up to {reads_up_to}); update Plimsoll",
        shown(path)
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        schema: u32,
        /// The latest schema that is read.
        reads_up_to: u32,
    },
    /// A directory for output cannot be made where it was asked for.
    #[error(
        "the directory {} cannot be made there; choose one that can be, such as one below here",
        shown(path)
    )]
    NoDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// Another process is adding trials to the file.
    #[error(
        "{} is being written by another run; wait for it to end, or choose another file with -o",
        shown(path)
    )]
    BeingWritten {
        /// The file.
        path: PathBuf,
    },
    /// The file lacks a part or contradicts itself.
    #[error(
        "{} is damaged or cut short ({detail}); take a copy of it that is whole, or run again into another file",
        shown(path)
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// No space for another trial.
    #[error("{}", disk_full(path, *kept))]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// How many trials are in it.
        kept: u64,
    },
    /// No space to make the file.
    #[error(
        "the disk is full, so {} could not be made; free some space, or choose a file on another disk",
        shown(path)
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
    },
    /// The file or its directory belongs to somebody else.
    #[error(
        "no permission to {doing} {}; change its permissions or its directory's, or choose another file",
        shown(path)
    )]
    PermissionDenied {
        /// The file.
        path: PathBuf,
        /// What was to be done: "read", "write", "make".
        doing: &'static str,
    },
    /// Somebody else may have written the commands that a resumed run would run.
    #[error(
        "{} {why}, and --resume runs the commands in a record; {way_out}",
        shown(path)
    )]
    NotTrusted {
        /// The file.
        path: PathBuf,
        /// Who may have written it.
        why: String,
        /// What to do about it.
        way_out: &'static str,
    },
    /// The file system takes no writes.
    #[error(
        "{} is on a read-only file system; choose a file elsewhere",
        shown(path)
    )]
    ReadOnlyFileSystem {
        /// The file.
        path: PathBuf,
    },
    /// Another program holds a lock on the file for too long.
    #[error(
        "{} is locked by another program, such as an open sqlite3 shell; close it and try again",
        shown(path)
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file went away while it was written.
    #[error(
        "{} was moved or deleted while the run wrote to it; leave it in its place until the run has ended",
        shown(path)
    )]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// Something was to be added to a record that was opened for reading.
    #[error(
        "{} was opened for reading only; open it to resume its run",
        shown(path)
    )]
    OpenedForReading {
        /// The file.
        path: PathBuf,
    },
    /// What was to be kept has no written form.
    #[error(
        "{what} has no written form and cannot be kept in {}: {detail}",
        shown(path)
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What it was.
        what: &'static str,
        /// Why not.
        detail: String,
    },
    /// Anything else that the operating system or SQLite said.
    #[error(
        "{} could not be used ({detail}); check the disk that it is on, its quota and its permissions",
        shown(path)
    )]
    Io {
        /// The file.
        path: PathBuf,
        /// What was said.
        detail: String,
    },
}

impl RecordError {
    /// Whether the user can mend it by giving other arguments.
    pub fn is_mistake(&self) -> bool {
        match self {
            RecordError::Exists { .. }
            | RecordError::ExportExists { .. }
            | RecordError::NoSuchFile { .. }
            | RecordError::IsDirectory { .. }
            | RecordError::NotInADirectory { .. }
            | RecordError::NotARecord { .. }
            | RecordError::Newer { .. }
            | RecordError::BeingWritten { .. }
            | RecordError::NoDirectory { .. }
            | RecordError::Damaged { .. }
            | RecordError::PermissionDenied { .. }
            | RecordError::NotTrusted { .. }
            | RecordError::ReadOnlyFileSystem { .. } => true,
            RecordError::DiskFull { .. }
            | RecordError::NoSpace { .. }
            | RecordError::Busy { .. }
            | RecordError::Gone { .. }
            | RecordError::OpenedForReading { .. }
            | RecordError::Unwritable { .. }
            | RecordError::Io { .. } => false,
        }
    }

    pub(crate) fn damaged(path: &Path, detail: impl AsRef<str>) -> RecordError {
        RecordError::Damaged {
            path: path.to_owned(),
            detail: brief(detail.as_ref()),
        }
    }

    /// What the operating system said while `doing` something with a file.
    pub(crate) fn from_io(path: &Path, e: &io::Error, doing: &'static str) -> RecordError {
        let path = path.to_owned();
        match e.kind() {
            io::ErrorKind::AlreadyExists => RecordError::Exists { path },
            io::ErrorKind::NotFound => RecordError::NoSuchFile { path },
            io::ErrorKind::IsADirectory => RecordError::IsDirectory { path },
            io::ErrorKind::NotADirectory => RecordError::NotInADirectory { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                RecordError::NoSpace { path }
            }
            io::ErrorKind::PermissionDenied => RecordError::PermissionDenied { path, doing },
            io::ErrorKind::ReadOnlyFilesystem => RecordError::ReadOnlyFileSystem { path },
            _ => RecordError::Io {
                path,
                detail: brief(&e.to_string()),
            },
        }
    }

    /// What SQLite said about a file that holds `kept` trials.
    pub(crate) fn from_sqlite(path: &Path, e: rusqlite::Error, kept: u64) -> RecordError {
        let Some(said) = e.sqlite_error().copied() else {
            // The file could be read but what it holds could not be taken.
            return RecordError::damaged(path, e.to_string());
        };
        let path = path.to_owned();
        if said.extended_code == ffi::SQLITE_READONLY_DBMOVED {
            return RecordError::Gone { path };
        }
        match said.code {
            ErrorCode::DiskFull => RecordError::DiskFull { path, kept },
            ErrorCode::NotADatabase => RecordError::NotARecord {
                path,
                why: "it is no SQLite file",
            },
            // "no such table" and the like: not the tables that we made.
            ErrorCode::DatabaseCorrupt | ErrorCode::Unknown => RecordError::Damaged {
                path,
                detail: brief(&e.to_string()),
            },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => RecordError::Busy { path },
            // CannotOpen comes from the journal, which needs a place beside
            // the file.
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => {
                RecordError::PermissionDenied {
                    path,
                    doing: "write",
                }
            }
            _ => RecordError::Io {
                path,
                detail: brief(&e.to_string()),
            },
        }
    }
}

/// A path as one line of text that cannot move the cursor of a terminal.
fn shown(path: &Path) -> String {
    escaped(&path.to_string_lossy())
}

/// The first line of what was said; SQLite quotes whole statements.
fn brief(said: &str) -> String {
    const LONGEST: usize = 120;
    let line = said.lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => escaped(&line[..end]) + "...",
        None => escaped(line),
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_control() {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

fn disk_full(path: &Path, kept: u64) -> String {
    let path = shown(path);
    let recorded = match kept {
        0 => {
            return format!(
                "the disk is full, and {path} holds no trial yet; free some space and begin again"
            );
        }
        1 => "the 1 trial recorded before is".to_owned(),
        n => format!("the {n} trials recorded before are"),
    };
    format!(
        "the disk is full, but {recorded} kept in {path}; free some space and go on with --resume {path}"
    )
}
