//! Concurrent access to a record, and access to other files.

use super::sample::{TestDir, create, read_all, trial};
use crate::{Record, RecordError};
use plimsoll_model::{SCHEMA_VERSION, Setting};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

#[test]
fn existing_file_is_not_overwritten() {
    let test_dir = TestDir::new();
    let path = test_dir.record_of("run.plimsoll", 1);
    let before = fs::read(&path).unwrap();
    assert!(matches!(create(&path), Err(RecordError::Exists { .. })));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_record_and_its_journal_are_for_their_owner_alone() {
    let test_dir = TestDir::new();
    let record = test_dir.create("run.plimsoll");
    let begun = "BEGIN IMMEDIATE; UPDATE run SET seed = '1'";
    record.conn.execute_batch(begun).unwrap();
    for name in ["run.plimsoll", "run.plimsoll-journal"] {
        let about = fs::metadata(test_dir.path(name)).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_record_that_others_can_write_is_read_but_not_resumed() {
    let test_dir = TestDir::new();
    let path = test_dir.record_of("run.plimsoll", 1);
    let folder = path.parent().unwrap();
    let journal = test_dir.path("run.plimsoll-wal");
    let set = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let refused = |words: &str| {
        let e = Record::open_for_resume(&path).unwrap_err();
        assert!(matches!(e, RecordError::NotTrusted { .. }), "{e}");
        assert!(e.is_mistake() && e.to_string().contains(words), "{e}");
        Record::open(&path).unwrap();
    };
    set(&path, 0o620);
    refused("can be written by others (mode 0620)");
    set(&path, 0o600);
    set(folder, 0o1777);
    refused("move it to a folder");
    set(folder, 0o755);
    std::os::unix::fs::symlink("elsewhere", &journal).unwrap();
    let e = Record::open_for_resume(&path).unwrap_err();
    assert!(e.to_string().contains("-wal beside it"), "{e}");
    fs::remove_file(&journal).unwrap();
    Record::open_for_resume(&path).unwrap();
}

#[test]
fn a_record_of_another_user_is_read_but_not_resumed() {
    // Only root can give files away. The rule itself is tested in `trust`.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let test_dir = TestDir::new();
    let path = test_dir.record_of("run.plimsoll", 1);
    let link = test_dir.path("link.plimsoll");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
    for name in [&path, &link] {
        let e = Record::open_for_resume(name).unwrap_err();
        assert!(e.to_string().contains("another user (UID 65534)"), "{e}");
        Record::open(name).unwrap();
    }
    std::os::unix::fs::chown(&path, Some(0), None).unwrap();
    let mut record = Record::open_for_resume(&link).unwrap();
    record.append(&trial(1)).unwrap();
}

#[test]
fn what_is_no_record_is_told_from_what_is_damaged() {
    let test_dir = TestDir::new();
    let other = test_dir.path("other.db");
    Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE t (x)")
        .unwrap();
    let text = test_dir.path("notes.txt");
    fs::write(&text, "notes\n".repeat(200)).unwrap();
    let empty = test_dir.path("empty");
    fs::write(&empty, "").unwrap();
    for (path, expected) in [
        (&other, "another program's"),
        (&text, "not an SQLite file"),
        (&empty, "empty"),
    ] {
        for opened in [Record::open(path), Record::open_for_resume(path)] {
            let e = opened.unwrap_err();
            assert!(matches!(e, RecordError::NotARecord { .. }), "{e}");
            assert!(e.to_string().contains(expected), "{e}");
        }
    }
}

#[test]
fn unsuitable_paths_are_described() {
    let test_dir = TestDir::new();
    let file = test_dir.record_of("run.plimsoll", 0);
    let dir = file.parent().unwrap();
    assert!(matches!(
        Record::open(dir),
        Err(RecordError::IsDirectory { .. })
    ));
    assert!(matches!(create(dir), Err(RecordError::IsDirectory { .. })));
    let below = file.join("run.plimsoll");
    assert!(matches!(
        create(&below),
        Err(RecordError::NotInADirectory { .. })
    ));
    assert!(matches!(
        Record::open(&below),
        Err(RecordError::NoSuchFile { .. })
    ));
    let device = Record::open("/dev/null".as_ref());
    assert!(matches!(device, Err(RecordError::NotARecord { .. })));
    let missing = test_dir.path("missing");
    assert!(matches!(
        Record::open_for_resume(&missing),
        Err(RecordError::NoSuchFile { .. })
    ));
    assert!(!missing.exists());
}

#[test]
fn newer_schema_is_refused() {
    let test_dir = TestDir::new();
    let path = test_dir.record_of("run.plimsoll", 1);
    let version = |n: u32| {
        let conn = Connection::open(&path).unwrap();
        conn.pragma_update(None, "user_version", n).unwrap();
    };
    version(SCHEMA_VERSION + 6);
    let e = Record::open(&path).unwrap_err();
    assert!(matches!(e, RecordError::Newer { schema, .. } if schema == SCHEMA_VERSION + 6));
    assert!(
        e.to_string()
            .contains("(schema 10, this one reads up to 4); update Plimsoll"),
        "{e}"
    );
    version(0);
    assert!(matches!(
        Record::open(&path),
        Err(RecordError::Damaged { .. })
    ));
}

#[test]
fn second_writer_is_refused_while_the_first_is_open() {
    let test_dir = TestDir::new();
    let first = test_dir.create("run.plimsoll");
    let path = test_dir.path("run.plimsoll");
    let e = Record::open_for_resume(&path).unwrap_err();
    assert!(matches!(e, RecordError::BeingWritten { .. }), "{e}");
    drop(first);
    Record::open_for_resume(&path).unwrap();
}

#[test]
fn without_locks_a_second_writer_fails_by_trial_number() {
    let test_dir = TestDir::new();
    let mut record = test_dir.create("run.plimsoll");
    let other = Connection::open(test_dir.path("run.plimsoll")).unwrap();
    record.append(&trial(0)).unwrap();
    other
        .execute_batch(
            "CREATE TEMP TABLE one AS SELECT * FROM trial WHERE id = 1;
             UPDATE one SET id = 2;
             INSERT INTO trial SELECT * FROM one",
        )
        .unwrap();
    let e = record.append(&trial(1)).unwrap_err();
    assert!(matches!(e, RecordError::BeingWritten { .. }), "{e}");
}

#[test]
fn readers_work_while_a_run_writes() {
    let test_dir = TestDir::new();
    let mut writer = test_dir.create("run.plimsoll");
    writer.append(&trial(0)).unwrap();
    let reader = Record::open(&test_dir.path("run.plimsoll")).unwrap();
    let mut trials = reader.trials::<Setting, ()>().unwrap();
    assert_eq!(trials.next().unwrap().unwrap(), trial(0));
    writer.append(&trial(1)).unwrap();
    assert!(trials.next().is_none());
    assert_eq!(read_all(&reader), [trial(0), trial(1)]);
    // Closing the reader must not release the file for a second writer.
    drop(trials);
    drop(reader);
    let second = Record::open_for_resume(&test_dir.path("run.plimsoll"));
    assert!(matches!(second, Err(RecordError::BeingWritten { .. })));
}

#[test]
fn a_reader_cannot_write() {
    let test_dir = TestDir::new();
    let path = test_dir.record_of("run.plimsoll", 1);
    let mut reader = Record::open(&path).unwrap();
    let e = reader.append(&trial(1)).unwrap_err();
    assert!(matches!(e, RecordError::OpenedForReading { .. }), "{e}");
    assert!(reader.conn.execute("DELETE FROM trial", []).is_err());
}

#[test]
fn no_side_files_remain_after_a_commit() {
    let test_dir = TestDir::new();
    let mut record = test_dir.create("run.plimsoll");
    record.append(&trial(0)).unwrap();
    let dir = test_dir.path("run.plimsoll").parent().unwrap().to_owned();
    assert_eq!(fs::read_dir(dir).unwrap().count(), 1);
    let copy = test_dir.path("copy.plimsoll");
    fs::copy(test_dir.path("run.plimsoll"), &copy).unwrap();
    assert_eq!(read_all(&Record::open(&copy).unwrap()), [trial(0)]);
}

#[test]
fn locked_file_is_reported_and_can_be_retried() {
    let test_dir = TestDir::new();
    let mut record = test_dir.create("run.plimsoll");
    record.conn.busy_timeout(Duration::ZERO).unwrap();
    let shell = Connection::open(test_dir.path("run.plimsoll")).unwrap();
    shell.execute_batch("BEGIN; SELECT * FROM run").unwrap();
    let e = record.append(&trial(0)).unwrap_err();
    assert!(matches!(e, RecordError::Busy { .. }), "{e}");
    assert_eq!(record.trial_count(), 0);
    drop(shell);
    record.append(&trial(0)).unwrap();
    assert_eq!(read_all(&record), [trial(0)]);
}
