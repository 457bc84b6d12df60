//! Records of versions 1 to 3 are read as they are, and brought up to date
//! before a trial is added.

use super::any::{any_copies_trial, any_trial, any_yield_trial};
use super::old;
use super::sample::{TestDir, copies_plan, execute, plan, read_all, trial, yield_plan};
use super::{Stored, is_read};
use crate::{Record, RecordError};
use plimsoll_model::{
    CopiesOutcome, CopiesPlan, CopiesSetting, Phase, Plan, SCHEMA_VERSION, Setting, Trial,
    TrialSetting, YieldOutcome, YieldPlan, YieldSetting,
};
use proptest::collection::vec;
use proptest::prelude::*;
use rusqlite::Connection;
use std::fs;
use std::path::Path;

fn version(path: &Path) -> u32 {
    let conn = Connection::open(path).unwrap();
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap()
}

/// A trial without what a version has no column for.
fn as_of<S, O>(version: u32, mut trial: Trial<S, O>) -> Trial<S, O> {
    if version < 3 {
        trial.work.steps = Vec::new();
    }
    if version < 2 {
        trial.spec.limit = None;
        // The first files of version 1 have a CHECK that knows these only.
        trial.spec.phase = match trial.spec.phase {
            Phase::Idle | Phase::Calibration | Phase::Level { .. } => trial.spec.phase,
            _ => Phase::Level { level: None },
        };
    }
    trial
}

/// No version had a number of connections by trial.
fn without_connections(mut trial: Trial) -> Trial {
    if let Setting::Offer { connections, .. } = &mut trial.spec.setting {
        *connections = None;
    }
    trial
}

/// Reads a record of an old version, resumes it, adds a trial and reads it
/// again.
fn is_carried_over<P: Stored, S: TrialSetting + Stored, O: Stored>(
    version_then: u32,
    experiment: &str,
    plan: &P,
    trials: Vec<Trial<S, O>>,
    more: Trial<S, O>,
) {
    let mut trials: Vec<_> = trials.into_iter().map(|t| as_of(version_then, t)).collect();
    let test_dir = TestDir::new();
    let path = test_dir.path("run.plimsoll");
    old::write(&path, version_then, plan, &trials);
    let bytes = fs::read(&path).unwrap();
    is_read(&Record::open(&path).unwrap(), experiment, plan, &trials);
    let is_unchanged = fs::read(&path).unwrap() == bytes;
    assert!(is_unchanged, "reading changed the file");

    let mut record = Record::open_for_resume(&path).unwrap();
    is_read(&record, experiment, plan, &trials);
    record.append(&more).unwrap();
    trials.push(more);
    drop(record);
    is_read(&Record::open(&path).unwrap(), experiment, plan, &trials);
    has_the_layout_of_a_new_record(&path, &trials);
}

fn has_the_layout_of_a_new_record<S: TrialSetting, O>(path: &Path, trials: &[Trial<S, O>]) {
    assert_eq!(version(path), SCHEMA_VERSION);
    let conn = Connection::open(path).unwrap();
    let test_dir = TestDir::new();
    let new = test_dir.create("new.plimsoll");
    let layout = |conn: &Connection| -> Vec<(String, String, Option<String>)> {
        let sql = "SELECT m.name, c.name, (SELECT \"table\" FROM pragma_foreign_key_list(m.name))
                   FROM sqlite_schema AS m, pragma_table_info(m.name) AS c ORDER BY 1, 2";
        let mut statement = conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(layout(&conn), layout(&new.conn));
    let mut broken = conn.prepare("PRAGMA foreign_key_check").unwrap();
    assert!(!broken.exists([]).unwrap());
    for (id, trial) in (1i64..).zip(trials) {
        let sql = "SELECT asked_rps FROM overview WHERE id = ?";
        let asked = trial.spec.setting.rate().map(|rate| rate.get());
        assert_eq!(conn.query_row(sql, [id], |row| row.get(0)), Ok(asked));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_sweep_of_any_version_is_carried_over(
        version in 1u32..=3, trials in vec(any_trial(), 0..4), more in any_trial(),
    ) {
        let trials = trials.into_iter().map(without_connections).collect();
        is_carried_over(version, "sweep", &plan(), trials, more);
    }

    #[test]
    fn a_run_of_copies_of_any_version_is_carried_over(
        version in 1u32..=3, trials in vec(any_copies_trial(), 0..4), more in any_copies_trial(),
    ) {
        is_carried_over(version, "copies", &copies_plan(), trials, more);
    }

    #[test]
    fn a_yield_is_carried_over(
        trials in vec(any_yield_trial(), 0..4), more in any_yield_trial(),
    ) {
        is_carried_over(3, "yield", &yield_plan(), trials, more);
    }
}

#[test]
fn invalid_values_are_refused_with_their_column() {
    for (change, named) in [
        ("UPDATE trial SET asked_rps = -1", "asked_rps"),
        ("UPDATE trial SET asked_rps = NULL", "asked_rps"),
        ("UPDATE trial SET copy_times_ns_json = ''", "copy_times"),
        ("UPDATE run SET plan_json = '{'", "plan_json"),
        ("DELETE FROM run", "no rows"),
    ] {
        for open in [Record::open, Record::open_for_resume] {
            let test_dir = TestDir::new();
            let path = test_dir.path("run.plimsoll");
            old::write(&path, 3, &plan(), &[trial(0)]);
            execute(&path, change);
            let read = || open(&path)?.trials::<Setting, ()>()?.collect();
            let e: Result<Vec<_>, RecordError> = read();
            let e = e.expect_err(change);
            assert!(matches!(e, RecordError::Damaged { .. }), "{change}: {e}");
            assert!(e.to_string().contains(named), "{change}: {e}");
        }
    }
}

/// Each trial's old columns, by SQL and by reading it; then the same once the
/// record is brought up to date.
fn columns_are_read<P: Stored, S: TrialSetting + Stored, O: Stored>(path: &Path, experiment: &str) {
    let record = Record::open(path).unwrap();
    let trials: Vec<Trial<S, O>> = read_all(&record);
    for (id, trial) in (1i64..).zip(&trials) {
        for (column, value) in old::cells(version(path), trial) {
            let sql = format!("SELECT {column} FROM trial WHERE id = ?");
            let cell = record.conn.query_row(&sql, [id], |row| row.get(0));
            assert_eq!(cell, Ok(value), "trial {id}: {column}");
        }
    }
    let test_dir = TestDir::new();
    let copy = test_dir.path("copy.plimsoll");
    fs::copy(path, &copy).unwrap();
    let resumed = Record::open_for_resume(&copy).unwrap();
    is_read(&resumed, experiment, &record.plan::<P>().unwrap(), &trials);
    has_the_layout_of_a_new_record(&copy, &trials);
}

#[test]
fn the_examples_of_old_versions_are_read() {
    // Name, version, experiment, trials, the first and the last rate.
    let examples = [
        ("graviton3", 1, "sweep", 15, 49_336.0, 736_860.0),
        ("intel-smt", 1, "sweep", 12, 49_516.0, 591_411.0),
        ("yield", 3, "yield", 117, 1000.0, 1222.8),
        ("linux-build", 3, "yield", 8, 1194.0, 1194.0),
        ("linux-defconfig", 3, "yield", 10, 1000.0, 1210.8),
        ("nginx-build", 3, "yield", 32, 30_000.0, 30_000.0),
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (name, version_then, experiment, trials, first, last) in examples {
        let path = root.join(name).with_extension("plimsoll");
        let record = Record::open(&path).unwrap();
        let rate = |order: &str| -> f64 {
            let sql = format!("SELECT asked_rps FROM trial ORDER BY id {order} LIMIT 1");
            record.conn.query_row(&sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(version(&path), version_then, "{name}");
        assert_eq!(record.experiment(), experiment, "{name}");
        assert_eq!(record.trials, trials, "{name}");
        assert_eq!((rate("ASC"), rate("DESC")), (first, last), "{name}");
        match experiment {
            "sweep" => columns_are_read::<Plan, Setting, ()>(&path, experiment),
            _ => columns_are_read::<YieldPlan, YieldSetting, YieldOutcome>(&path, experiment),
        }
    }
}

#[test]
fn an_imported_table_of_copies_is_a_run_of_copies() {
    let test_dir = TestDir::new();
    let path = test_dir.path("run.plimsoll");
    let imported = serde_json::json!({
        "workload": {"kind": "imported", "name": "m5", "rows": "copies", "cpus": 8, "note": null},
        "copies": [1, 2],
    });
    let no_trials: &[Trial<CopiesSetting, CopiesOutcome>] = &[];
    old::write(&path, 1, &imported, no_trials);
    let record = Record::open(&path).unwrap();
    assert_eq!(record.experiment(), "copies");
    assert_eq!(record.plan::<CopiesPlan>().unwrap().numbers, [1, 2]);
}
