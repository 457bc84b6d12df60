//! Files and connections: from a path to an open database.

use crate::{RecordError, schema};
use rusqlite::{Connection, OpenFlags, ffi};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// A record may hold secrets. SQLite gives its journal the mode of the database.
const PRIVATE: u32 = 0o600;

/// Makes the file, which must not be there, and the directories above it.
pub(crate) fn new_file(path: &Path) -> Result<File, RecordError> {
    let fail = |e| RecordError::from_io(path, &e, "make");
    if path.is_dir() {
        return Err(RecordError::IsDirectory { path: path.into() });
    }
    if let Some(above) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o755).create(above);
        made.map_err(|e| match e.kind() {
            // What exists already is a file where a directory has to be.
            ErrorKind::AlreadyExists => RecordError::NotInADirectory { path: path.into() },
            _ => fail(e),
        })?;
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(PRIVATE)
        .open(path)
        .map_err(fail)
}

/// Refuses what SQLite would open and then misjudge, or wait for.
pub(crate) fn check_kind(path: &Path) -> Result<(), RecordError> {
    let about = fs::metadata(path).map_err(|e| match e.kind() {
        // A file with a name below it: to a reader, that is no such file.
        ErrorKind::NotADirectory => RecordError::NoSuchFile { path: path.into() },
        _ => RecordError::from_io(path, &e, "read"),
    })?;
    if about.is_dir() {
        return Err(RecordError::IsDirectory { path: path.into() });
    }
    if !about.is_file() {
        return Err(RecordError::not_a_record(path, "it is a device or a pipe"));
    }
    if about.len() == 0 {
        return Err(RecordError::not_a_record(path, "it is empty"));
    }
    let mut head = [0; 20];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    // The versions of the file format: 2 is write-ahead logging.
    if read.is_ok() && head[18..].contains(&2) {
        let why = "another program has set it to write-ahead logging, and reading would leave files \
                   beside it; undo that with `PRAGMA journal_mode=delete`";
        return Err(RecordError::not_a_record(path, why));
    }
    Ok(())
}

/// A connection with the settings of every connection.
pub(crate) fn connect(path: &Path, access: OpenFlags) -> Result<Connection, RecordError> {
    // An absolute path is never taken for a URI or for a database in memory.
    let absolute = std::path::absolute(path).map_err(|e| RecordError::from_io(path, &e, "read"))?;
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let bytes = fs::metadata(path).map_or(0, |about| about.len());
    Connection::open_with_flags(absolute, flags)
        .and_then(|mut conn| schema::configure(&mut conn, bytes).map(|()| conn))
        .map_err(|e| match e.sqlite_error_code() {
            Some(rusqlite::ErrorCode::CannotOpen) => RecordError::denied(path, "read"),
            _ => RecordError::from_sqlite(path, e, 0),
        })
}

/// A connection for reading.
///
/// A run that was killed within a commit leaves a journal, and the first to
/// open the file has to roll it back, which needs permission to write; without
/// a journal, permission to read is enough.
pub(crate) fn connect_to_read(path: &Path) -> Result<Connection, RecordError> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let probe = conn.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0));
    let needs_rollback = probe.is_err_and(|e| {
        e.sqlite_error()
            .is_some_and(|error| error.extended_code == ffi::SQLITE_READONLY_ROLLBACK)
    });
    if !needs_rollback {
        return Ok(conn);
    }
    drop(conn);
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}
