//! Errors of run files, each a sentence with a remedy.

use rusqlite::{ErrorCode, ffi};
use std::io;
use std::path::{Path, PathBuf};

/// Why a record could not be created, read or appended to.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(
        "{} exists already; choose another file with -o, or continue its run with --resume",
        shown(path)
    )]
    Exists { path: PathBuf },
    #[error("{} exists already; give an empty or a new directory", shown(path))]
    ExportExists { path: PathBuf },
    #[error("there is no file {}; check the name", shown(path))]
    NoSuchFile { path: PathBuf },
    #[error("{} is a directory; give a file in it", shown(path))]
    IsDirectory { path: PathBuf },
    #[error(
        "{} cannot be created because a part of its path is a file; choose another file with -o",
        shown(path)
    )]
    NotInADirectory { path: PathBuf },
    #[error(
        "{} is not a Plimsoll record: {why}; give a file that a run wrote",
        shown(path)
    )]
    NotARecord { path: PathBuf, why: &'static str },
    #[error(
        "{} was written by a newer Plimsoll (schema {schema}, this one reads up to {reads_up_to}); update Plimsoll",
        shown(path)
    )]
    Newer {
        path: PathBuf,
        schema: u32,
        reads_up_to: u32,
    },
    #[error(
        "the directory {} cannot be created; choose another one, such as one below the current directory",
        shown(path)
    )]
    NoDirectory { path: PathBuf },
    #[error(
        "{} is being written by another run; wait for it to end, or choose another file with -o",
        shown(path)
    )]
    BeingWritten { path: PathBuf },
    #[error(
        "{} is damaged or cut short ({detail}); use an intact copy, or run again with another file",
        shown(path)
    )]
    Damaged { path: PathBuf, detail: String },
    #[error("{}", disk_full(path, *kept))]
    DiskFull {
        path: PathBuf,
        /// Number of trials in the file.
        kept: u64,
    },
    #[error(
        "the disk is full, so {} could not be created; free some space, or choose a file on another disk",
        shown(path)
    )]
    NoSpace { path: PathBuf },
    #[error(
        "no permission to {doing} {}; change its permissions or its directory's, or choose another file",
        shown(path)
    )]
    PermissionDenied {
        path: PathBuf,
        /// The refused operation: "read", "write", "make".
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
    ReadOnlyFileSystem { path: PathBuf },
    /// Another program holds an SQLite lock for too long.
    #[error(
        "{} is locked by another program, such as an open sqlite3 shell; close it and retry",
        shown(path)
    )]
    Busy { path: PathBuf },
    #[error(
        "{} was moved or deleted while the run wrote to it; do not move it until the run has ended",
        shown(path)
    )]
    Gone { path: PathBuf },
    /// An append to a record that was opened for reading.
    #[error(
        "{} was opened for reading only; open it to resume its run",
        shown(path)
    )]
    OpenedForReading { path: PathBuf },
    #[error("{what} cannot be serialized into {}: {detail}", shown(path))]
    Unwritable {
        path: PathBuf,
        what: &'static str,
        detail: String,
    },
    /// Any other error of the operating system or SQLite.
    #[error(
        "{} could not be used ({detail}); check its disk, quota and permissions",
        shown(path)
    )]
    Io { path: PathBuf, detail: String },
}

impl RecordError {
    /// Whether this is a usage error, to be fixed by other arguments.
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
            detail: first_line(detail.as_ref()),
        }
    }

    /// Converts an error of the operating system; `doing` names the refused
    /// operation.
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
                detail: first_line(&e.to_string()),
            },
        }
    }

    /// Converts an error of SQLite about a file with `kept` trials.
    pub(crate) fn from_sqlite(path: &Path, e: rusqlite::Error, kept: u64) -> RecordError {
        let Some(said) = e.sqlite_error().copied() else {
            // The file is readable, but a value is invalid.
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
                why: "it is not an SQLite file",
            },
            // "no such table" and the like: not the tables of a record.
            ErrorCode::DatabaseCorrupt | ErrorCode::Unknown => RecordError::Damaged {
                path,
                detail: first_line(&e.to_string()),
            },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => RecordError::Busy { path },
            // CannotOpen comes from the journal, which is created next to the
            // file.
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => {
                RecordError::PermissionDenied {
                    path,
                    doing: "write",
                }
            }
            _ => RecordError::Io {
                path,
                detail: first_line(&e.to_string()),
            },
        }
    }
}

/// A path with control characters escaped, as they could move a terminal's
/// cursor.
fn shown(path: &Path) -> String {
    escaped(&path.to_string_lossy())
}

/// The first line, truncated; SQLite quotes whole statements.
fn first_line(said: &str) -> String {
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
                "the disk is full, and {path} contains no trial yet; free some space and start again"
            );
        }
        1 => "the 1 trial recorded before is".to_owned(),
        n => format!("the {n} trials recorded before are"),
    };
    format!(
        "the disk is full, but {recorded} kept in {path}; free some space and continue with --resume {path}"
    )
}
