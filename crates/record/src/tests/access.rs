//! Concurrent access to a record, and access to other files.

use super::sample::{TestDir, create, execute, read_all, trial};
use crate::{Record, RecordError, check_input, trust};
use plimsoll_model::Setting;
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::time::Duration;

#[test]
fn existing_file_is_not_overwritten() {
    let (_test_dir, path) = TestDir::with_record(1);
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
    let (test_dir, path) = TestDir::with_record(1);
    let folder = path.parent().unwrap();
    let journal = test_dir.path("run.plimsoll-wal");
    let set = |path: &Path, mode| {
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
    symlink("elsewhere", &journal).unwrap();
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
    let (test_dir, path) = TestDir::with_record(1);
    let link = test_dir.path("link.plimsoll");
    symlink(&path, &link).unwrap();
    chown(&path, Some(65534), None).unwrap();
    for name in [&path, &link] {
        let e = Record::open_for_resume(name).unwrap_err();
        assert!(e.to_string().contains("another user (UID 65534)"), "{e}");
        Record::open(name).unwrap();
    }
    chown(&path, Some(0), None).unwrap();
    let mut record = Record::open_for_resume(&link).unwrap();
    record.append(&trial(1)).unwrap();
}

#[test]
fn a_record_below_a_folder_that_others_can_exchange_is_not_resumed() {
    let (test_dir, path) = TestDir::with_record(1);
    let above = test_dir.path("run.plimsoll").parent().unwrap().to_owned();
    let (own, below) = (above.join("own"), above.join("own/run.plimsoll"));
    fs::create_dir(&own).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).unwrap();
    fs::rename(path, &below).unwrap();
    Record::open_for_resume(&below).unwrap();
    let set = |mode| fs::set_permissions(&above, fs::Permissions::from_mode(mode)).unwrap();
    set(0o777);
    let e = Record::open_for_resume(&below).unwrap_err();
    assert!(e.to_string().contains("others can exchange folders"), "{e}");
    // Of a sticky folder only owners can rename what is in it.
    set(0o1777);
    Record::open_for_resume(&below).unwrap();
    if rustix::process::geteuid().is_root() {
        set(0o755);
        chown(&above, Some(65534), None).unwrap();
        let e = Record::open_for_resume(&below).unwrap_err();
        assert!(e.to_string().contains("others can exchange folders"), "{e}");
        assert_eq!(read_all(&Record::open(&below).unwrap()), [trial(0)]);
    }
}

#[test]
fn a_library_that_others_can_write_is_refused() {
    let test_dir = TestDir::new();
    let library = test_dir.path("lib.so");
    fs::write(&library, "").unwrap();
    let set = |mode| fs::set_permissions(&library, fs::Permissions::from_mode(mode)).unwrap();
    set(0o755);
    check_input(&library).unwrap();
    set(0o757);
    let e = check_input(&library).unwrap_err();
    assert!(e.to_string().contains("can be written by others"), "{e}");
}

#[test]
fn other_files_are_not_records() {
    let test_dir = TestDir::new();
    execute(&test_dir.path("other.db"), "CREATE TABLE t (x)");
    fs::write(test_dir.path("notes.txt"), "notes\n".repeat(200)).unwrap();
    fs::write(test_dir.path("empty"), "").unwrap();
    for (name, expected) in [
        ("other.db", "another program's"),
        ("notes.txt", "not an SQLite file"),
        ("empty", "empty"),
        ("/dev/null", "a device or a pipe"),
    ] {
        let path = test_dir.path(name);
        for opened in [Record::open(&path), Record::open_for_resume(&path)] {
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
    let below = file.join("run.plimsoll");
    let missing = test_dir.path("missing");
    for (opened, expected) in [
        (Record::open(dir), "is a directory"),
        (create(dir), "is a directory"),
        (create(&below), "a part of its path is a file"),
        (Record::open(&below), "there is no file"),
        (Record::open_for_resume(&missing), "there is no file"),
    ] {
        let e = opened.unwrap_err();
        assert!(e.to_string().contains(expected), "{expected}: {e}");
    }
    assert!(!missing.exists());
}

#[test]
fn newer_schema_is_refused() {
    let (_test_dir, path) = TestDir::with_record(1);
    execute(&path, "PRAGMA user_version = 10");
    let e = Record::open(&path).unwrap_err();
    assert!(matches!(e, RecordError::Newer { schema: 10, .. }), "{e}");
    let message = e.to_string();
    let expected = "(schema 10, this one reads up to 4); update Plimsoll";
    assert!(message.contains(expected), "{message}");
    execute(&path, "PRAGMA user_version = 0");
    let e = Record::open(&path).unwrap_err();
    assert!(matches!(e, RecordError::Damaged { .. }), "{e}");
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
    let (test_dir, mut record) = TestDir::with_new_record();
    record.append(&trial(0)).unwrap();
    execute(
        &test_dir.path("run.plimsoll"),
        "CREATE TEMP TABLE one AS SELECT * FROM trial WHERE id = 1;
         UPDATE one SET id = 2;
         INSERT INTO trial SELECT * FROM one",
    );
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
    assert_eq!(
        read_all(&reader),
        [trial(0)],
        "as it was when it was opened"
    );
    let later = Record::open(&test_dir.path("run.plimsoll")).unwrap();
    assert_eq!(read_all(&later), [trial(0), trial(1)]);
    // Closing the reader must not release the file for a second writer.
    drop(trials);
    drop(reader);
    let second = Record::open_for_resume(&test_dir.path("run.plimsoll"));
    assert!(matches!(second, Err(RecordError::BeingWritten { .. })));
}

#[test]
fn a_reader_cannot_write() {
    let (_test_dir, path) = TestDir::with_record(1);
    let mut reader = Record::open(&path).unwrap();
    let e = reader.append(&trial(1)).unwrap_err();
    assert!(matches!(e, RecordError::OpenedForReading { .. }), "{e}");
    assert!(reader.conn.execute("DELETE FROM trial", []).is_err());
}

/// In a folder such as /tmp a free name could be taken by another user between two commits.
#[test]
fn the_journal_keeps_its_name_while_a_run_writes_and_is_gone_afterwards() {
    let (test_dir, mut record) = TestDir::with_new_record();
    let journal = test_dir.path("run.plimsoll-journal");
    let about = || fs::metadata(&journal).map(|about| (about.ino(), about.len()));
    let made = about().unwrap();
    assert_eq!(made.1, 0, "what it held is undone by nobody");
    for n in 0..3 {
        record.append(&trial(n)).unwrap();
        assert_eq!(about().unwrap(), made);
    }
    let reader = Record::open(&test_dir.path("run.plimsoll")).unwrap();
    assert_eq!(read_all(&reader), [trial(0), trial(1), trial(2)]);
    drop(record);
    let names = fs::read_dir(journal.parent().unwrap()).unwrap();
    assert_eq!(names.count(), 1);
}

/// Such files of another user would be taken for pages of the record, or for memory that is shared.
#[test]
fn nothing_is_taken_from_files_that_others_put_beside_a_record() {
    let (test_dir, mut record) = TestDir::with_new_record();
    let used = "SELECT sqlite_compileoption_used('OMIT_WAL')";
    let used: bool = record.conn.query_row(used, [], |row| row.get(0)).unwrap();
    assert!(used, "LIBSQLITE3_FLAGS in .cargo/config.toml");
    record.append(&trial(0)).unwrap();
    let wal = test_dir.path("run.plimsoll-wal");
    let shm = test_dir.path("run.plimsoll-shm");
    fs::write(&wal, [0x37; 8192]).unwrap();
    fs::write(&shm, "short").unwrap();
    record.append(&trial(1)).unwrap();
    assert_eq!(fs::read(&wal).unwrap(), [0x37; 8192]);
    fs::remove_file(&wal).unwrap();
    fs::create_dir(&wal).unwrap();
    record.append(&trial(2)).unwrap();
    assert!(wal.is_dir());
    assert_eq!(fs::read(&shm).unwrap(), b"short");
    let reader = Record::open(&test_dir.path("run.plimsoll")).unwrap();
    assert_eq!(read_all(&reader), [trial(0), trial(1), trial(2)]);
}

#[test]
fn a_journal_of_another_user_is_refused() {
    let test_dir = TestDir::new();
    let path = test_dir.path("run.plimsoll");
    let journal = test_dir.path("run.plimsoll-journal");
    fs::write(&journal, "").unwrap();
    trust::check_journal(&path).unwrap();
    let refused = || {
        let e = trust::check_journal(&path).unwrap_err();
        assert!(matches!(e, RecordError::JournalOfOthers { .. }), "{e}");
        assert!(e.to_string().contains("-o"), "{e}");
    };
    fs::hard_link(&journal, test_dir.path("elsewhere")).unwrap();
    refused();
    fs::remove_file(&journal).unwrap();
    symlink("elsewhere", &journal).unwrap();
    refused();
    // Only root can give files away.
    if rustix::process::geteuid().is_root() {
        fs::remove_file(&journal).unwrap();
        fs::write(&journal, "").unwrap();
        chown(&journal, Some(65534), None).unwrap();
        refused();
    }
}

#[test]
fn locked_file_is_reported_and_can_be_retried() {
    let (test_dir, mut record) = TestDir::with_new_record();
    record.conn.busy_timeout(Duration::ZERO).unwrap();
    let shell = Connection::open(test_dir.path("run.plimsoll")).unwrap();
    shell.execute_batch("BEGIN; SELECT * FROM run").unwrap();
    let e = record.append(&trial(0)).unwrap_err();
    assert!(matches!(e, RecordError::Busy { .. }), "{e}");
    assert_eq!(record.trials, 0);
    drop(shell);
    record.append(&trial(0)).unwrap();
    assert_eq!(read_all(&record), [trial(0)]);
}
