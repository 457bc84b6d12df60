//! A truncated or overwritten file is an error and never a panic.

use super::sample::{TestDir, execute, read_all, trial};
use crate::cell::LONGEST;
use crate::{Record, RecordError};
use plimsoll_model::{MAX_CPU, Plan, Setting, Trial};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn read(path: &Path) -> Result<Vec<Trial>, RecordError> {
    let record = Record::open(path)?;
    record.plan::<Plan>()?;
    record.trials()?.collect()
}

#[test]
fn truncation_is_an_error() {
    let test_dir = TestDir::new();
    let whole = fs::read(test_dir.record_of("run.plimsoll", 3)).unwrap();
    let path = test_dir.path("cut.plimsoll");
    let near_the_head = 0..200;
    let pages = (0..whole.len()).step_by(509);
    for length in near_the_head.chain(pages).chain([whole.len() - 1]) {
        fs::write(&path, &whole[..length]).unwrap();
        let resumed = Record::open_for_resume(&path).map(|record| read_all(&record));
        for result in [read(&path), resumed] {
            let message = result.expect_err("a part is missing").to_string();
            assert!(!message.contains('\n'), "{length}: {message}");
            assert!(message.contains("cut.plimsoll"), "{length}: {message}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn overwritten_bytes_do_not_panic(
        at in any::<prop::sample::Index>(), garbage in prop::collection::vec(any::<u8>(), 1..300),
    ) {
        let (_test_dir, path) = TestDir::with_record(1);
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        let end = (at + garbage.len()).min(bytes.len());
        bytes[at..end].copy_from_slice(&garbage[..end - at]);
        fs::write(&path, bytes).unwrap();
        if let Err(e) = read(&path) {
            prop_assert!(!e.to_string().contains('\n'), "{}", e);
        }
    }
}

/// A change, and the column that is named.
const INVALID: &[(&str, &str)] = &[
    ("UPDATE trial SET load_pct = 900", "load_pct"),
    (
        r#"UPDATE trial SET setting_json = '{"offer":{"rate_rps":"fast"}}'"#,
        "setting_json",
    ),
    ("UPDATE trial SET setting_json = '{'", "setting_json"),
    ("UPDATE trial SET outcome_json = '1'", "outcome_json"),
    ("UPDATE trial SET completed = -1", "completed"),
    ("UPDATE trial SET window_ns = 'long'", "window_ns"),
    ("UPDATE trial SET window_ns = 0", "window_ns"),
    ("UPDATE trial SET asked_window_ns = 0", "asked_window_ns"),
    ("UPDATE trial SET took_ns = 9000000000000000000", "took_ns"),
    (
        "UPDATE trial SET limit_ns = 9000000000000000000",
        "limit_ns",
    ),
    ("UPDATE trial SET attempt = 4294967295", "attempt"),
    ("UPDATE trial SET pass = 4294967296", "pass"),
    (
        "INSERT INTO second VALUES (1, 1, 9000000000000000000, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)",
        "at_ns",
    ),
    (
        "INSERT INTO second VALUES (1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 9000000000000000000, 0, 0)",
        "p99_ns",
    ),
    ("UPDATE trial SET setting_json = '[]'", "setting_json"),
    ("UPDATE trial SET outcome_json = '[]'", "outcome_json"),
    ("UPDATE trial SET machine_json = ' []'", "machine_json"),
    ("UPDATE trial SET service_json = '[]'", "service_json"),
    ("UPDATE trial SET reasons_json = '{}'", "reasons_json"),
    ("UPDATE run SET plan_json = '[]'", "plan_json"),
    ("UPDATE run SET provenance_json = '[]'", "provenance_json"),
    (
        "UPDATE run SET requirements_json = '{}'",
        "requirements_json",
    ),
    ("UPDATE trial SET seed = 'x'", "seed"),
    (
        "UPDATE trial SET reasons_json = \
             '[{\"why\":\"steal\",\"stolen_share\":1.0,\"bound_share\":0.0}]'",
        "verdict",
    ),
    ("UPDATE trial SET machine_json = '{}'", "machine_json"),
    ("UPDATE histogram SET count = 5", "values instead of 5"),
    ("UPDATE histogram SET v2 = x'00'", "truncated"),
    ("DELETE FROM histogram WHERE kind = 'slip'", "no rows"),
    ("DELETE FROM run", "no rows"),
    ("UPDATE run SET plan_json = '{'", "plan_json"),
    ("UPDATE run SET seed = '-1'", "seed"),
    (
        "UPDATE run SET plan_json = json_set(plan_json, '$.seed', -1)",
        "plan_json",
    ),
    ("DROP VIEW overview; DROP TABLE second", "second"),
];

#[test]
fn invalid_values_are_refused_with_their_column() {
    for (change, named) in INVALID {
        let (_test_dir, path) = TestDir::with_record(1);
        execute(&path, change);
        let e = read(&path).expect_err(change);
        assert!(matches!(e, RecordError::Damaged { .. }), "{change}: {e}");
        assert!(e.to_string().contains(named), "{change}: {e}");
    }
}

#[test]
fn missing_trial_is_an_error() {
    let (_test_dir, path) = TestDir::with_record(3);
    let delete = "PRAGMA foreign_keys = OFF; DELETE FROM trial WHERE id = 2";
    execute(&path, delete);
    let record = Record::open(&path).unwrap();
    let mut trials = record.trials::<Setting, ()>().unwrap();
    assert_eq!(trials.next().unwrap().unwrap(), trial(0));
    let e = trials.next().unwrap().unwrap_err();
    assert!(e.to_string().contains("trial 2"), "{e}");
    assert!(trials.next().is_none());
}

/// Values from other hosts, and from experiments, are not checked by their types.
#[test]
fn a_trial_that_could_not_be_read_back_is_not_written() {
    let (test_dir, mut record) = TestDir::with_new_record();
    record.append(&trial(0)).unwrap();
    let with_cpu = |cpu| {
        let mut trial = trial(1);
        trial.machine.service_cpus = [cpu].into_iter().collect();
        trial
    };
    let mut endless = trial(1);
    endless.took = 2 * LONGEST;
    for unreadable in [with_cpu(MAX_CPU + 1), endless] {
        let e = record.append(&unreadable).unwrap_err();
        assert!(matches!(e, RecordError::Unreadable { .. }), "{e}");
        assert!(!e.is_mistake());
        let reader = Record::open(&test_dir.path("run.plimsoll")).unwrap();
        assert_eq!(read_all(&reader), [trial(0)]);
    }
    let highest = with_cpu(MAX_CPU);
    record.append(&highest).unwrap();
    assert_eq!(read_all(&record), [trial(0), highest]);
}
