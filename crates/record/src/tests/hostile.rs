//! A record made to harm its readers is refused in one sentence, and within bounded work.

use super::sample::{TestDir, execute, read_all};
use crate::{MemoryBudget, Record, RecordError};
use plimsoll_model::{Plan, Trial};
use std::os::unix::fs::FileExt;
use std::path::Path;

fn read(path: &Path) -> Result<Vec<Trial>, RecordError> {
    let record = Record::open(path)?;
    record.plan::<Plan>()?;
    record.trials()?.collect()
}

/// A record changed by SQL.
fn changed(sql: &str) -> (TestDir, std::path::PathBuf) {
    let (test_dir, path) = TestDir::with_record(1);
    execute(&path, sql);
    (test_dir, path)
}

#[test]
fn what_no_run_makes_is_refused() {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    let columns = "1 AS id, 'sweep' AS experiment, 'x' AS workload, i AS seed";
    let view_of = |table: &str| {
        format!(
            "PRAGMA foreign_keys = OFF; DROP VIEW overview; DROP TABLE {table};
             CREATE VIEW {table} AS {endless} SELECT {columns} FROM n WHERE i < 0"
        )
    };
    for sql in [
        &view_of("run"),
        &view_of("trial"),
        &view_of("second"),
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER more AFTER INSERT ON trial BEGIN DELETE FROM trial; END",
        "CREATE TABLE more (x)",
        "CREATE INDEX more ON trial (hex(phase))",
        "ALTER TABLE trial ADD COLUMN more AS (hex(zeroblob(400000000)))",
        "DROP VIEW overview; DROP TABLE second; PRAGMA writable_schema = ON;
         INSERT INTO sqlite_schema VALUES
         ('table', 'second', 'second', 0, 'CREATE VIRTUAL TABLE second USING fts5(trial)')",
    ] {
        let (_test_dir, path) = changed(sql);
        for result in [
            read(&path),
            Record::open_for_resume(&path).map(|r| read_all(&r)),
        ] {
            let e = result.expect_err(sql);
            assert!(matches!(e, RecordError::NotARecord { .. }), "{sql}: {e}");
            assert!(
                e.is_mistake() && !e.to_string().contains('\n'),
                "{sql}: {e}"
            );
        }
    }
}

#[test]
fn an_overview_of_another_kind_is_never_run() {
    let (_test_dir, path) = changed(
        "DROP VIEW overview; CREATE VIEW overview AS
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n",
    );
    assert_eq!(read(&path).unwrap().len(), 1);
}

#[test]
fn a_constraint_of_the_file_is_not_evaluated() {
    let check = "CHECK (length(hex(zeroblob(400000000 + at_ns))) > 0)";
    let (_test_dir, path) = changed(&format!(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (measured IN (0, 1))', '{check}')
         WHERE name = 'second'"
    ));
    assert_eq!(read(&path).unwrap().len(), 1);
}

#[test]
fn records_that_together_need_more_than_half_of_the_memory_are_refused() {
    let (_test_dir, path) = TestDir::with_record(2);
    let conn = rusqlite::Connection::open(&path).unwrap();
    // Four histograms of 340 KiB each time.
    let mut budget = MemoryBudget(2 * 4 * (340 << 10));
    budget.take(&conn, &path).unwrap();
    budget.take(&conn, &path).unwrap();
    let e = budget.take(&conn, &path).unwrap_err();
    assert!(e.to_string().contains("take 1 MiB"), "{e}");
    assert!(e.to_string().contains("0 MiB are left"), "{e}");
    assert!(e.is_mistake(), "{e}");
}

#[test]
fn a_value_of_any_length_costs_bounded_memory() {
    for sql in [
        "UPDATE histogram SET v2 = zeroblob(40000000) WHERE kind = 'latency'",
        "UPDATE trial SET machine_json = CAST(zeroblob(40000000) AS TEXT)",
        "UPDATE run SET plan_json = hex(zeroblob(20000000))",
    ] {
        let (_test_dir, path) = changed(sql);
        let e = read(&path).expect_err(sql);
        assert!(matches!(e, RecordError::Damaged { .. }), "{sql}: {e}");
        assert!(e.to_string().contains("longer than 32 MiB"), "{sql}: {e}");
    }
}

#[test]
fn reading_is_ended_when_it_takes_more_work_than_a_record_can() {
    let (_test_dir, path) = TestDir::with_record(1);
    let record = Record::open(&path).unwrap();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                   SELECT i FROM n WHERE i < 0";
    let ended = record.conn.query_row(endless, [], |_| Ok(()));
    let e = RecordError::from_sqlite(&path, ended.unwrap_err(), 0);
    assert!(e.to_string().contains("more work"), "{e}");
    assert!(e.is_mistake(), "{e}");
}

#[test]
fn counts_that_cannot_be_added_are_refused() {
    for column in ["intended", "completed", "unfinished", "errors_status"] {
        let (_test_dir, path) =
            changed(&format!("UPDATE trial SET {column} = 9223372036854775807"));
        let e = read(&path).expect_err(column);
        assert!(e.to_string().contains(column), "{e}");
    }
}

#[test]
fn a_record_whose_reading_would_leave_files_is_refused() {
    let (test_dir, path) = changed("SELECT 1");
    // The versions of the format that write-ahead logging has; this SQLite cannot make such a file.
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[2, 2], 18).unwrap();
    let e = read(&path).unwrap_err();
    assert!(e.to_string().contains("write-ahead"), "{e}");
    drop((test_dir, path));
}
