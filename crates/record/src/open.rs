//! Files and connections: from a path to an open database.

use crate::{RecordError, schema, trust};
use rusqlite::{Connection, MAIN_DB, OpenFlags};
use rustix::fs::{FlockOperation, OFlags, fcntl_lock};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A record may hold secrets. SQLite gives its journal the mode of the database.
const PRIVATE: u32 = 0o600;

/// The most that is read, which takes as much memory. A trial has some 10 KB.
const LARGEST: u64 = (256 << 20) + 1;

/// Between two attempts to lock.
const PAUSE: Duration = Duration::from_millis(5);

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

/// Opens a file for reading, and refuses what SQLite would misjudge or wait for.
fn open_to_read(path: &Path) -> Result<File, RecordError> {
    let fail = |e: io::Error| match e.kind() {
        // A file with a name below it: to a reader, that is no such file.
        ErrorKind::NotADirectory => RecordError::NoSuchFile { path: path.into() },
        _ => RecordError::from_io(path, &e, "read"),
    };
    // Before it is opened, because to open a device may do something.
    check_kind(path, &fs::metadata(path).map_err(fail)?)?;
    let mut options = OpenOptions::new();
    // Another user may exchange it for a pipe meanwhile.
    let options = options
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path).map_err(fail)?;
    check_kind(path, &file.metadata().map_err(fail)?)?;
    let mut head = [0; 20];
    let read = file.read_exact_at(&mut head, 0);
    // The versions of the file format: 2 is write-ahead logging.
    if read.is_ok() && head[18..].contains(&2) {
        let why = "another program has set it to write-ahead logging, and reading would leave files \
                   beside it; undo that with `PRAGMA journal_mode=delete`";
        return Err(RecordError::not_a_record(path, why));
    }
    Ok(file)
}

fn check_kind(path: &Path, about: &Metadata) -> Result<(), RecordError> {
    if about.is_dir() {
        return Err(RecordError::IsDirectory { path: path.into() });
    }
    let why = match about.len() {
        _ if !about.is_file() => "it is a device or a pipe",
        0 => "it is empty",
        LARGEST.. => "it has more than 256 MiB",
        _ => return Ok(()),
    };
    Err(RecordError::not_a_record(path, why))
}

/// A file that no other user could have written or can replace, open for writing, and its
/// path without symlinks.
pub(crate) fn open_trusted(path: &Path) -> Result<(File, PathBuf), RecordError> {
    drop(open_to_read(path)?);
    let fail = |e: io::Error| RecordError::from_io(path, &e, "write");
    let resolved = fs::canonicalize(path).map_err(fail)?;
    // First the folders: then nobody else can give the path to another file.
    trust::check_folders(&resolved, path)?;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(&resolved)
        .map_err(fail)?;
    trust::check_file(&file.metadata().map_err(fail)?, &resolved, path)?;
    Ok((file, resolved))
}

/// A connection to the file of a path, with the settings of every connection.
pub(crate) fn connect(path: &Path) -> Result<Connection, RecordError> {
    // An absolute path is never taken for a URI or for a database in memory.
    let absolute = std::path::absolute(path).map_err(|e| RecordError::from_io(path, &e, "read"))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let bytes = fs::metadata(path).map_or(0, |about| about.len());
    Connection::open_with_flags(absolute, flags)
        .and_then(|mut conn| schema::configure(&mut conn, bytes).map(|()| conn))
        .map_err(|e| match e.sqlite_error_code() {
            Some(rusqlite::ErrorCode::CannotOpen) => RecordError::denied(path, "read"),
            _ => RecordError::from_sqlite(path, e, 0),
        })
}

/// A file as it is now, in memory, and its length.
///
/// SQLite gets the bytes of one open file, and no path: it would open a journal beside
/// that path, and apply it to what it finds there. Another user can exchange both
/// meanwhile.
pub(crate) fn read_into_memory(path: &Path) -> Result<(Connection, u64), RecordError> {
    if let Some(whole) = read_whole(path)? {
        return Ok(whole);
    }
    roll_back(path)?;
    read_whole(path)?.ok_or_else(|| RecordError::Busy { path: path.into() })
}

/// `None` if the file was left in the middle of a write.
fn read_whole(path: &Path) -> Result<Option<(Connection, u64)>, RecordError> {
    let file = open_to_read(path)?;
    lock_to_read(&file, path)?;
    let fail = |e: io::Error| RecordError::from_io(path, &e, "read");
    if has_journal(path).map_err(fail)? {
        return Ok(None);
    }
    let about = file.metadata().map_err(fail)?;
    check_kind(path, &about)?;
    let bytes = about.len();
    let read = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut conn = Connection::open_in_memory_with_flags(flags)?;
        conn.deserialize_read_exact(MAIN_DB, &file, bytes as usize, true)?;
        schema::configure(&mut conn, bytes)?;
        Ok(conn)
    };
    let conn = read().map_err(|e: rusqlite::Error| match e.sqlite_error_code() {
        Some(rusqlite::ErrorCode::CannotOpen) => {
            RecordError::damaged(path, "it became shorter while it was read")
        }
        _ => RecordError::from_sqlite(path, e, 0),
    })?;
    Ok(Some((conn, bytes)))
}

/// Keeps SQLite of other processes from writing, until the file is closed.
fn lock_to_read(file: &File, path: &Path) -> Result<(), RecordError> {
    let end = Instant::now() + schema::BUSY;
    loop {
        match fcntl_lock(file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => return Ok(()),
            // A commit takes milliseconds.
            Err(Errno::AGAIN | Errno::ACCESS) if Instant::now() < end => sleep(PAUSE),
            Err(Errno::AGAIN | Errno::ACCESS) => {
                return Err(RecordError::Busy { path: path.into() });
            }
            Err(errno) => return Err(RecordError::from_io(path, &errno.into(), "lock")),
        }
    }
}

/// Whether SQLite would find a journal beside the file. No run writes while this is asked.
fn has_journal(path: &Path) -> io::Result<bool> {
    let mut name = fs::canonicalize(path)?.into_os_string();
    name.push(trust::JOURNAL);
    match fs::symlink_metadata(name) {
        Ok(about) => Ok(about.len() > 0),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// Undoes what a run that was killed within a commit has written of it, if nobody else can
/// have made the journal that says how.
fn roll_back(path: &Path) -> Result<(), RecordError> {
    let (_file, resolved) = open_trusted(path).map_err(|e| match e {
        RecordError::NotTrusted { path, why, way_out } => {
            RecordError::HalfWritten { path, why, way_out }
        }
        other => other,
    })?;
    let conn = connect(&resolved)?;
    conn.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0))
        .map(drop)
        .map_err(|e| RecordError::from_sqlite(path, e, 0))
}
