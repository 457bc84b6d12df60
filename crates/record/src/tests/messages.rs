//! Errors that a test cannot provoke without another user or another file
//! system.

use crate::RecordError;
use crate::lock::flock_equals_fcntl;
use rusqlite::ffi;
use std::path::Path;

#[test]
fn io_errors_have_a_remedy() {
    use std::io::ErrorKind::*;
    for (kind, expected, mistake) in [
        (
            PermissionDenied,
            "no permission to write run.plimsoll",
            true,
        ),
        (ReadOnlyFilesystem, "read-only file system; choose", true),
        (StorageFull, "the disk is full", false),
        (QuotaExceeded, "the disk is full", false),
        (Other, "check its disk", false),
    ] {
        let e = RecordError::from_io(Path::new("run.plimsoll"), &kind.into(), "write");
        assert!(e.to_string().contains(expected), "{kind}: {e}");
        assert_eq!(e.is_mistake(), mistake, "{kind}");
    }
}

#[test]
fn sqlite_errors_have_a_remedy() {
    for (code, kept, expected) in [
        (
            ffi::SQLITE_FULL,
            5,
            "5 trials recorded before are kept in run",
        ),
        (
            ffi::SQLITE_FULL,
            0,
            "no trial yet; free some space and start",
        ),
        (ffi::SQLITE_CORRUPT, 5, "damaged"),
        (ffi::SQLITE_NOTADB, 5, "not a Plimsoll record"),
        (ffi::SQLITE_BUSY, 5, "locked by another program"),
        (ffi::SQLITE_READONLY, 5, "no permission to write"),
        (ffi::SQLITE_CANTOPEN, 5, "no permission to write"),
        (ffi::SQLITE_READONLY_DBMOVED, 5, "moved or deleted"),
        (ffi::SQLITE_IOERR_WRITE, 5, "check its disk"),
    ] {
        let e = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        let message = RecordError::from_sqlite(Path::new("run.plimsoll"), e, kept).to_string();
        assert!(message.contains(expected), "{code}: {message}");
        let resumes = (code, kept) == (ffi::SQLITE_FULL, 5);
        assert_eq!(message.contains("--resume"), resumes, "{code}: {message}");
    }
}

#[test]
fn control_characters_are_escaped() {
    let e = RecordError::NoSuchFile {
        path: "a\u{1b}[2J\u{9b}\n".into(),
    };
    assert!(!e.to_string().contains(char::is_control), "{e}");
    let long = format!("a\u{1b}[2J {}\nmore", "x".repeat(500));
    let e = RecordError::damaged(Path::new("a"), long);
    assert!(!e.to_string().contains(char::is_control), "{e}");
    assert!(e.to_string().len() < 300, "{e}");
    assert!(e.is_mistake());
}

#[test]
fn flock_equals_fcntl_on_network_file_systems_only() {
    assert!(flock_equals_fcntl(0x6969));
    assert!(!flock_equals_fcntl(0xef53)); // ext4
    assert!(!flock_equals_fcntl(0x0102_1994)); // tmpfs
}
