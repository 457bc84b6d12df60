//! The process is killed, or the disk is full.

use super::old;
use super::sample::{TestDir, create, plan, read_all, seconds, trial};
use crate::{Record, RecordError, legacy};
use plimsoll_model::{RunEnd, Setting, Trial};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A cache of one page spills into the file before the commit.
const SPILL: &str = "PRAGMA cache_size = 1; PRAGMA cache_spill = 1;";

/// A copy of the record and its journal as they are now on the disk.
fn copy(test_dir: &TestDir) -> PathBuf {
    for ending in ["", "-journal"] {
        let [from, to] = ["run", "killed"].map(|name| format!("{name}.plimsoll{ending}"));
        fs::copy(test_dir.path(&from), test_dir.path(&to)).unwrap();
    }
    test_dir.path("killed.plimsoll")
}

/// The disk content after a run with two trials was killed while writing a
/// third: some of its pages are in the file, the old ones in the journal.
fn killed_while_appending(test_dir: &TestDir) -> PathBuf {
    let path = test_dir.record_of("run.plimsoll", 2);
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(&format!(
        "{SPILL} BEGIN IMMEDIATE;
         UPDATE trial SET completed = 0;
         UPDATE histogram SET v2 = zeroblob(9000);
         INSERT INTO second SELECT id, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM trial;",
    ))
    .unwrap();
    copy(test_dir)
}

/// The same while a record of version 1 is brought up to date.
fn killed_while_updating(test_dir: &TestDir) -> PathBuf {
    let path = test_dir.path("run.plimsoll");
    old::write(&path, 1, &plan(), &[trial(0), trial(1)]);
    let mut conn = Connection::open(&path).unwrap();
    conn.execute_batch(SPILL).unwrap();
    legacy::replace_tables(&conn, true).unwrap();
    let tx = conn.transaction().unwrap();
    legacy::update(&tx).unwrap();
    copy(test_dir)
}

#[test]
fn a_killed_run_keeps_its_trials_and_resumes() {
    let sql = "SELECT count(*) FROM pragma_table_info('trial') WHERE name = 'setting'";
    for (killed, old_columns) in [
        (killed_while_appending as fn(&TestDir) -> PathBuf, 0),
        (killed_while_updating, 1),
    ] {
        let test_dir = TestDir::new();
        let path = killed(&test_dir);
        let record = Record::open(&path).unwrap();
        assert_eq!(read_all(&record), [trial(0), trial(1)]);
        assert_eq!(record.end(), None);
        let columns: Result<i64, _> = record.conn.query_row(sql, [], |row| row.get(0));
        assert_eq!(columns, Ok(old_columns));
        drop(record);
        let mut record = Record::open_for_resume(&path).unwrap();
        record.append(&trial(2)).unwrap();
        assert_eq!(read_all(&record), [trial(0), trial(1), trial(2)]);
    }
}

#[test]
fn a_journal_that_others_may_have_made_is_not_applied() {
    let test_dir = TestDir::new();
    let path = killed_while_appending(&test_dir);
    let files = ["killed.plimsoll", "killed.plimsoll-journal"].map(|name| test_dir.path(name));
    let bytes = || files.clone().map(|file| fs::read(file).unwrap());
    let before = bytes();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let e = Record::open(&path).unwrap_err();
    assert!(matches!(e, RecordError::HalfWritten { .. }), "{e}");
    assert!(
        e.is_mistake() && e.to_string().contains("chmod go-w"),
        "{e}"
    );
    assert_eq!(bytes(), before, "reading has written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(
        read_all(&Record::open(&path).unwrap()),
        [trial(0), trial(1)]
    );
    assert!(!files[1].exists());
}

#[test]
fn recovery_depends_on_the_journal() {
    // Otherwise the test above would show nothing.
    for killed in [killed_while_appending, killed_while_updating] {
        let test_dir = TestDir::new();
        let path = killed(&test_dir);
        fs::remove_file(test_dir.path("killed.plimsoll-journal")).unwrap();
        let trials = Record::open(&path).and_then(|r| r.trials::<Setting, ()>()?.collect());
        assert!(trials.map_or(true, |t: Vec<Trial>| t != [trial(0), trial(1)]));
    }
}

#[test]
fn full_disk_keeps_trials_and_allows_a_retry() {
    let (test_dir, mut record) = TestDir::with_new_record();
    record.append(&trial(0)).unwrap();
    let pages = record
        .conn
        .pragma_query_value(None, "page_count", |r| r.get(0));
    let pages: i64 = pages.unwrap();
    let limit = |record: &Record, pages: i64| {
        let conn = &record.conn;
        conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
            .unwrap();
    };
    limit(&record, pages);
    let long = Trial {
        seconds: seconds(500),
        ..trial(1)
    };
    let e = record.append(&long).unwrap_err();
    assert!(matches!(e, RecordError::DiskFull { kept: 1, .. }), "{e}");
    assert!(!e.is_mistake());
    let message = e.to_string();
    let expected = "the 1 trial recorded before is kept";
    assert!(message.contains(expected), "{message}");
    let reader = Record::open(&test_dir.path("run.plimsoll")).unwrap();
    assert_eq!(read_all(&reader), [trial(0)]);
    record.mark_finished(&RunEnd::Failed(message)).unwrap();

    limit(&record, pages * 10);
    record.append(&long).unwrap();
    assert_eq!(read_all(&record), [trial(0), long]);
}

#[test]
fn deleted_file_is_detected() {
    let (test_dir, mut record) = TestDir::with_new_record();
    let [from, to] = ["run.plimsoll", "elsewhere.plimsoll"].map(|name| test_dir.path(name));
    fs::rename(from, to).unwrap();
    let e = record.append(&trial(0)).unwrap_err();
    assert!(matches!(e, RecordError::Gone { .. }), "{e}");
}

#[test]
fn failed_create_leaves_no_file() {
    let test_dir = TestDir::new();
    let journal = test_dir.path("run.plimsoll-journal");
    // SQLite cannot create its journal where a directory has its name.
    fs::create_dir(&journal).unwrap();
    assert!(create(&test_dir.path("run.plimsoll")).is_err());
    assert!(!test_dir.path("run.plimsoll").exists());
}
