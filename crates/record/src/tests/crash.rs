//! The process is killed, or the disk is full.

use super::old;
use super::sample::{TestDir, plan, read_all, seconds, trial};
use crate::{Record, RecordError, legacy};
use plimsoll_model::{RunEnd, Setting, Trial};
use rusqlite::Connection;
use std::fs;
use std::path::PathBuf;

/// The disk content after a run with two trials was killed while writing a
/// third: some of its pages are in the file, the old ones in the journal.
fn killed(test_dir: &TestDir) -> PathBuf {
    let path = test_dir.record_of("run.plimsoll", 2);
    let record = Record::open_for_resume(&path).unwrap();
    // A cache of one page spills into the file before the commit.
    record
        .conn
        .execute_batch(
            "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE;
         UPDATE trial SET completed = 0;
         UPDATE histogram SET v2 = zeroblob(9000);
         INSERT INTO second SELECT id, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM trial;",
        )
        .unwrap();
    let copy = test_dir.path("killed.plimsoll");
    fs::copy(&path, &copy).unwrap();
    fs::copy(
        test_dir.path("run.plimsoll-journal"),
        test_dir.path("killed.plimsoll-journal"),
    )
    .unwrap();
    copy
}

#[test]
fn a_killed_run_keeps_its_trials_for_a_reader() {
    let test_dir = TestDir::new();
    let path = killed(&test_dir);
    let record = Record::open(&path).unwrap();
    assert_eq!(read_all(&record), [trial(0), trial(1)]);
    assert_eq!(record.end(), None);
}

#[test]
fn killed_run_resumes_after_its_last_trial() {
    let test_dir = TestDir::new();
    let mut record = Record::open_for_resume(&killed(&test_dir)).unwrap();
    record.append(&trial(2)).unwrap();
    assert_eq!(read_all(&record), [trial(0), trial(1), trial(2)]);
}

#[test]
fn recovery_depends_on_the_journal() {
    // Checks that the two tests above depend on the journal.
    let test_dir = TestDir::new();
    let path = killed(&test_dir);
    fs::remove_file(test_dir.path("killed.plimsoll-journal")).unwrap();
    let record = Record::open(&path);
    let trials = record.and_then(|r| r.trials::<Setting, ()>()?.collect::<Result<Vec<_>, _>>());
    assert!(trials.map_or(true, |t| t != [trial(0), trial(1)]));
}

#[test]
fn full_disk_keeps_trials_and_allows_a_retry() {
    let test_dir = TestDir::new();
    let mut record = test_dir.create("run.plimsoll");
    record.append(&trial(0)).unwrap();
    let pages: i64 = record
        .conn
        .pragma_query_value(None, "page_count", |r| r.get(0))
        .unwrap();
    record
        .conn
        .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
        .unwrap();

    let long = long_trial();
    let e = record.append(&long).unwrap_err();
    assert!(matches!(e, RecordError::DiskFull { kept: 1, .. }), "{e}");
    assert!(!e.is_mistake());
    assert!(
        e.to_string()
            .contains("the 1 trial recorded before is kept"),
        "{e}"
    );
    assert_eq!(
        read_all(&Record::open(&test_dir.path("run.plimsoll")).unwrap()),
        [trial(0)]
    );
    record
        .mark_finished(&RunEnd::Failed(e.to_string()))
        .unwrap();

    record
        .conn
        .pragma_update_and_check(None, "max_page_count", pages * 10, |_| Ok(()))
        .unwrap();
    record.append(&long).unwrap();
    assert_eq!(read_all(&record), [trial(0), long]);
}

/// A trial that needs its own pages.
fn long_trial() -> Trial {
    Trial {
        seconds: seconds(500),
        ..trial(1)
    }
}

#[test]
fn deleted_file_is_detected() {
    let test_dir = TestDir::new();
    let mut record = test_dir.create("run.plimsoll");
    fs::rename(
        test_dir.path("run.plimsoll"),
        test_dir.path("elsewhere.plimsoll"),
    )
    .unwrap();
    let e = record.append(&trial(0)).unwrap_err();
    assert!(matches!(e, RecordError::Gone { .. }), "{e}");
}

#[test]
fn failed_create_leaves_no_file() {
    let test_dir = TestDir::new();
    let journal = test_dir.path("run.plimsoll-journal");
    // SQLite cannot create its journal where a directory has its name.
    fs::create_dir(&journal).unwrap();
    let made = super::sample::create(&test_dir.path("run.plimsoll"));
    assert!(made.is_err());
    assert!(!test_dir.path("run.plimsoll").exists());
}

/// What is on the disk when a program is killed while it brings a record of
/// version 1 up to date.
fn killed_while_updated(test_dir: &TestDir) -> PathBuf {
    let path = test_dir.path("run.plimsoll");
    old::write(&path, 1, &plan(), &[trial(0), trial(1)]);
    let mut conn = Connection::open(&path).unwrap();
    // A cache of one page spills into the file before the commit.
    conn.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1")
        .unwrap();
    legacy::replace_tables(&conn, true).unwrap();
    let tx = conn.transaction().unwrap();
    legacy::update(&tx).unwrap();
    for ending in ["", "-journal"] {
        fs::copy(
            test_dir.path(&format!("run.plimsoll{ending}")),
            test_dir.path(&format!("killed.plimsoll{ending}")),
        )
        .unwrap();
    }
    test_dir.path("killed.plimsoll")
}

#[test]
fn a_program_that_is_killed_while_it_updates_a_record_leaves_the_old_one() {
    let test_dir = TestDir::new();
    let path = killed_while_updated(&test_dir);
    let record = Record::open(&path).unwrap();
    assert_eq!(read_all(&record), [trial(0), trial(1)]);
    let has_old_layout = "SELECT user_version = 1 FROM pragma_user_version
                          JOIN pragma_table_info('trial') WHERE name = 'setting'";
    let is_old = record.conn.query_row(has_old_layout, [], |row| row.get(0));
    assert_eq!(is_old, Ok(true));
    drop(record);
    let mut record = Record::open_for_resume(&path).unwrap();
    record.append(&trial(2)).unwrap();
    assert_eq!(read_all(&record), [trial(0), trial(1), trial(2)]);
}

#[test]
fn without_its_journal_a_record_that_was_being_updated_is_not_the_old_one() {
    // Otherwise the test above would show nothing.
    let test_dir = TestDir::new();
    let path = killed_while_updated(&test_dir);
    let old = fs::read(test_dir.path("run.plimsoll"));
    assert!(fs::read(&path).unwrap() != old.unwrap());
    fs::remove_file(test_dir.path("killed.plimsoll-journal")).unwrap();
    let trials = Record::open(&path).and_then(|r| r.trials::<Setting, ()>()?.collect());
    assert!(trials.map_or(true, |t: Vec<Trial>| t != [trial(0), trial(1)]));
}
