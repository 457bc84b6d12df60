//! Errors of run files, each a sentence with a remedy.

use crate::untrusted;
use plimsoll_model::safe;
use rusqlite::{ErrorCode, ffi};
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// A path, displayed with control characters escaped, as they could move a
/// terminal's cursor.
#[derive(Debug, Clone)]
pub struct PrintablePath(PathBuf);

impl<P: AsRef<Path> + ?Sized> From<&P> for PrintablePath {
    fn from(path: &P) -> PrintablePath {
        PrintablePath(path.as_ref().to_owned())
    }
}

impl fmt::Display for PrintablePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&safe(&self.0.to_string_lossy()))
    }
}

/// Why a record could not be created, read or appended to.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(
        "{path} exists already; choose another file with -o, or continue its run with --resume"
    )]
    Exists { path: PrintablePath },
    #[error("{path} exists already; give an empty or a new directory")]
    ExportExists { path: PrintablePath },
    #[error("there is no file {path}; check the name")]
    NoSuchFile { path: PrintablePath },
    #[error("{path} is a directory; give a file in it")]
    IsDirectory { path: PrintablePath },
    #[error(
        "{path} cannot be created because a part of its path is a file; choose another file with -o"
    )]
    NotInADirectory { path: PrintablePath },
    #[error("{path} is not a Plimsoll record: {why}; give a file that a run wrote")]
    NotARecord {
        path: PrintablePath,
        why: &'static str,
    },
    #[error(
        "{path} has so many trials that they take {needs_mib} MiB, and of half of this machine's memory {left_mib} MiB are left; read it on a larger machine, or fewer records at a time"
    )]
    TooManyTrials {
        path: PrintablePath,
        needs_mib: u64,
        left_mib: u64,
    },
    #[error(
        "{path} was written by a newer Plimsoll (schema {schema}, this one reads up to {reads_up_to}); update Plimsoll"
    )]
    Newer {
        path: PrintablePath,
        schema: u32,
        reads_up_to: u32,
    },
    #[error(
        "the directory {path} cannot be created; choose another one, such as one below the current directory"
    )]
    NoDirectory { path: PrintablePath },
    #[error(
        "{path} is being written by another run; wait for it to end, or choose another file with -o"
    )]
    BeingWritten { path: PrintablePath },
    #[error(
        "{path} is damaged or cut short ({detail}); use an intact copy, or run again with another file"
    )]
    Damaged { path: PrintablePath, detail: String },
    #[error("{}", disk_full(path, *kept))]
    DiskFull {
        path: PrintablePath,
        /// Number of trials in the file.
        kept: u64,
    },
    #[error(
        "the disk is full, so {path} could not be created; free some space, or choose a file on another disk"
    )]
    NoSpace { path: PrintablePath },
    #[error(
        "no permission to {doing} {path}; change its permissions or its directory's, or choose another file"
    )]
    PermissionDenied {
        path: PrintablePath,
        /// The refused operation: "read", "write", "make".
        doing: &'static str,
    },
    /// Somebody else may have written the commands that a resumed run would run.
    #[error("{path} {why}, and --resume runs the commands that it finds there; {way_out}")]
    NotTrusted {
        path: PrintablePath,
        /// Who may have written it.
        why: String,
        /// What to do about it.
        way_out: &'static str,
    },
    /// Another user has made the file in which SQLite keeps what it may have to undo.
    #[error(
        "another user has made {path}-journal, by which they could read and change the record; choose a folder that only you can write to (-o)"
    )]
    JournalOfOthers { path: PrintablePath },
    /// Another user may have made the journal that says how to undo what was half written.
    #[error(
        "{path} was left in the middle of a write, and what the journal beside it says is done only where nobody else can have made it, but {path} {why}; {way_out}, with its journal"
    )]
    HalfWritten {
        path: PrintablePath,
        why: String,
        way_out: &'static str,
    },
    #[error("{path} is on a read-only file system; choose a file elsewhere")]
    ReadOnlyFileSystem { path: PrintablePath },
    /// Another program holds an SQLite lock for too long.
    #[error(
        "{path} is locked by another program, such as an open sqlite3 shell; close it and retry"
    )]
    Busy { path: PrintablePath },
    #[error(
        "{path} was moved or deleted while the run wrote to it; do not move it until the run has ended"
    )]
    Gone { path: PrintablePath },
    /// An append to a record that was opened for reading.
    #[error("{path} was opened for reading only; open it to resume its run")]
    OpenedForReading { path: PrintablePath },
    /// What was about to be written could not be read back.
    #[error(
        "a trial was not added to {path}, because no reader accepts it ({detail}); the trials before \
         it are kept, so check what the run reads from other hosts, and --resume it"
    )]
    Unreadable { path: PrintablePath, detail: String },
    #[error("a value cannot be serialized into {path}: {detail}")]
    Unwritable { path: PrintablePath, detail: String },
    #[error("{path} could not be used ({detail}); check its disk, quota and permissions")]
    Io { path: PrintablePath, detail: String },
}

impl RecordError {
    /// Whether this is a usage error, to be fixed by other arguments.
    pub fn is_mistake(&self) -> bool {
        !matches!(
            self,
            RecordError::DiskFull { .. }
                | RecordError::NoSpace { .. }
                | RecordError::Busy { .. }
                | RecordError::Gone { .. }
                | RecordError::OpenedForReading { .. }
                | RecordError::Unreadable { .. }
                | RecordError::Unwritable { .. }
                | RecordError::Io { .. }
        )
    }

    pub(crate) fn damaged(path: &Path, detail: impl AsRef<str>) -> RecordError {
        RecordError::Damaged {
            path: path.into(),
            detail: first_line(detail.as_ref()),
        }
    }

    pub(crate) fn not_a_record(path: &Path, why: &'static str) -> RecordError {
        let path = path.into();
        RecordError::NotARecord { path, why }
    }

    pub(crate) fn unwritable(path: &Path, detail: impl fmt::Display) -> RecordError {
        RecordError::Unwritable {
            path: path.into(),
            detail: detail.to_string(),
        }
    }

    /// The same of a trial that is not written yet: the record is not damaged.
    pub(crate) fn of_an_append(self) -> RecordError {
        match self {
            RecordError::Damaged { path, detail } => RecordError::Unreadable { path, detail },
            other => other,
        }
    }

    pub(crate) fn denied(path: &Path, doing: &'static str) -> RecordError {
        let path = path.into();
        RecordError::PermissionDenied { path, doing }
    }

    fn other(path: &Path, error: &impl fmt::Display) -> RecordError {
        RecordError::Io {
            path: path.into(),
            detail: first_line(&error.to_string()),
        }
    }

    /// Converts an error of the operating system; `doing` names the refused
    /// operation.
    pub(crate) fn from_io(path: &Path, e: &io::Error, doing: &'static str) -> RecordError {
        use io::ErrorKind::*;
        match e.kind() {
            AlreadyExists => RecordError::Exists { path: path.into() },
            NotFound => RecordError::NoSuchFile { path: path.into() },
            IsADirectory => RecordError::IsDirectory { path: path.into() },
            NotADirectory => RecordError::NotInADirectory { path: path.into() },
            StorageFull | QuotaExceeded => RecordError::NoSpace { path: path.into() },
            PermissionDenied => RecordError::denied(path, doing),
            ReadOnlyFilesystem => RecordError::ReadOnlyFileSystem { path: path.into() },
            _ => RecordError::other(path, e),
        }
    }

    /// Converts an error of SQLite about a file with `kept` trials.
    pub(crate) fn from_sqlite(path: &Path, e: rusqlite::Error, kept: u64) -> RecordError {
        if let rusqlite::Error::ToSqlConversionFailure(detail) = e {
            return RecordError::unwritable(path, detail);
        }
        let Some(code) = e.sqlite_error() else {
            // The file is readable, but a value is invalid.
            return RecordError::damaged(path, e.to_string());
        };
        if code.extended_code == ffi::SQLITE_READONLY_DBMOVED {
            return RecordError::Gone { path: path.into() };
        }
        match code.code {
            ErrorCode::TooBig => {
                let most = untrusted::LONGEST_VALUE >> 20;
                RecordError::damaged(path, format!("it has a value longer than {most} MiB"))
            }
            ErrorCode::OperationInterrupted => {
                RecordError::damaged(path, "reading it takes more work than one of its size can")
            }
            ErrorCode::DiskFull => {
                let path = path.into();
                RecordError::DiskFull { path, kept }
            }
            ErrorCode::NotADatabase => RecordError::not_a_record(path, "it is not an SQLite file"),
            // "no such table" and the like: not the tables of a record.
            ErrorCode::DatabaseCorrupt | ErrorCode::Unknown => {
                RecordError::damaged(path, e.to_string())
            }
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                RecordError::Busy { path: path.into() }
            }
            // CannotOpen comes from the journal, which is created next to the
            // file.
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => {
                RecordError::denied(path, "write")
            }
            _ => RecordError::other(path, &e),
        }
    }
}

/// The first line, truncated; SQLite quotes whole statements.
fn first_line(message: &str) -> String {
    const LONGEST: usize = 120;
    let line = message.lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => safe(&line[..end]) + "...",
        None => safe(line),
    }
}

fn disk_full(path: &PrintablePath, kept: u64) -> String {
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
