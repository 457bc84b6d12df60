//! A record returns what was stored.

use super::any::{any_copies_trial, any_trial, any_yield_trial};
use super::sample::{TestDir, command_line, copies_plan, create, create_for, plan, provenance};
use super::sample::{invalid_trial, read_all, requirements, trial, yield_plan};
use super::{Stored, is_read};
use crate::{Record, RecordError, export_hdr};
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use plimsoll_model::{
    CopiesPlan, Histogram, MachineUse, Outcome, Phase, Plan, Requirement, RunEnd, Trial,
    TrialSetting, YieldPlan,
};
use proptest::collection::vec;
use proptest::prelude::*;
use rusqlite::{Connection, Row};
use std::fs;
use std::time::Duration;

/// Reads the trials of a new record, before and after it is closed.
fn written_and_read<P: Stored, S: TrialSetting + Stored, O: Stored>(
    experiment: &str,
    plan: &P,
    trials: &[Trial<S, O>],
) {
    let test_dir = TestDir::new();
    let path = test_dir.path("run.plimsoll");
    let mut record = create_for(&path, experiment, plan).unwrap();
    for trial in trials {
        record.append(trial).unwrap();
    }
    is_read(&record, experiment, plan, trials);
    drop(record);
    is_read(&Record::open(&path).unwrap(), experiment, plan, trials);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_trials_are_read_back_equal_and_in_order(trials in vec(any_trial(), 1..4)) {
        written_and_read("sweep", &plan(), &trials);
    }

    #[test]
    fn any_yield_trials_are_read_back_equal(trials in vec(any_yield_trial(), 1..4)) {
        written_and_read("yield", &yield_plan(), &trials);
    }

    #[test]
    fn any_copies_trials_are_read_back_equal(trials in vec(any_copies_trial(), 1..4)) {
        written_and_read("copies", &copies_plan(), &trials);
    }
}

#[test]
fn the_run_is_read_back_equal() {
    let test_dir = TestDir::new();
    drop(test_dir.create("run.plimsoll"));
    let record = Record::open(&test_dir.path("run.plimsoll")).unwrap();
    assert_eq!(record.experiment(), "sweep");
    assert_eq!(record.run.workload, "GET http://localhost:8080/");
    assert_eq!(record.plan::<Plan>().unwrap(), plan());
    assert!(record.plan::<YieldPlan>().is_err() && record.plan::<CopiesPlan>().is_err());
    assert_eq!(*record.provenance(), provenance());
    assert_eq!(record.command_line(), command_line());
    assert_eq!(record.requirements(), requirements());
    assert!(record.created_unix_ms() > 1_600_000_000_000);
    assert_eq!(record.trials, 0);
}

#[test]
fn fields_missing_in_old_records_are_none() {
    fn without(mut value: serde_json::Value, keys: &[&str]) -> serde_json::Value {
        let object = value.as_object_mut().unwrap();
        for key in keys {
            object.remove(*key).unwrap();
        }
        value
    }
    let mut asked = without(serde_json::to_value(plan()).unwrap(), &["smt"]);
    asked["cpus"] = without(asked["cpus"].take(), &["cores"]);
    let read: Plan = serde_json::from_value(asked).unwrap();
    assert_eq!((read.smt, read.run.cpus.cores.len()), (None, 0));
    let used = serde_json::to_value(&trial(0).machine).unwrap();
    let read: MachineUse = serde_json::from_value(without(used, &["clock_ratio"])).unwrap();
    assert_eq!(read.clock_ratio, None);
}

#[test]
fn requirements_that_are_found_later_are_added() {
    let (_test_dir, path) = TestDir::with_record(1);
    let later = Requirement {
        name: Requirement::NO_OTHER_CLIENTS.to_owned(),
        outcome: Outcome::Missed {
            lost: "another connection is open".to_owned(),
            remedy: "end it".to_owned(),
        },
    };
    let mut record = Record::open_for_resume(&path).unwrap();
    record.add_requirements([later.clone()]).unwrap();
    drop(record);
    let mut read = Record::open(&path).unwrap();
    assert_eq!(
        read.requirements().split_last(),
        Some((&later, &requirements()[..]))
    );
    assert!(read.add_requirements([]).is_err());
}

#[test]
fn run_without_recorded_end_has_none() {
    let (_test_dir, path) = TestDir::with_record(1);
    assert_eq!(Record::open(&path).unwrap().end(), None);
    let failed = RunEnd::Failed("the server went away; start it again".to_owned());
    for end in [RunEnd::Complete, RunEnd::Interrupted, failed] {
        let mut record = Record::open_for_resume(&path).unwrap();
        record.mark_finished(&end).unwrap();
        drop(record);
        assert_eq!(Record::open(&path).unwrap().end(), Some(&end));
    }
    // A resumed run has no end.
    let mut record = Record::open_for_resume(&path).unwrap();
    record.append(&trial(1)).unwrap();
    assert_eq!(record.end(), None);
    assert_eq!(Record::open(&path).unwrap().end(), None);
}

#[test]
fn resumed_run_appends_after_the_last_trial() {
    let (_test_dir, path) = TestDir::with_record(2);
    let mut record = Record::open_for_resume(&path).unwrap();
    assert_eq!(record.trials, 2);
    record.append(&trial(2)).unwrap();
    assert_eq!(read_all(&record), [trial(0), trial(1), trial(2)]);
}

#[test]
fn parent_directories_are_created_and_odd_names_work() {
    let test_dir = TestDir::new();
    let names = [
        "a/b/run.plimsoll",
        "file:x?mode=memory",
        ":memory:",
        "with space\n",
    ];
    for name in names {
        let path = test_dir.path(name);
        create(&path).unwrap().append(&trial(0)).unwrap();
        assert_eq!(Record::open(&path).unwrap().trials, 1, "{name}");
    }
}

#[test]
fn the_overview_shows_rates_and_quantiles() {
    let (_test_dir, path) = TestDir::with_record(1);
    let shell = Connection::open(&path).unwrap();
    let sql = "SELECT achieved_rps, latency_p50_us, verdict FROM overview";
    let columns = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let row = shell.query_row(sql, [], columns);
    let (achieved, p50, verdict): (f64, f64, String) = row.unwrap();
    assert_eq!(achieved, 19.9);
    assert!((p50 - 100.0).abs() < 0.1, "{p50}");
    assert_eq!(verdict, "valid");
}

/// Trials at 50 %: two valid, one invalid; and one without a level.
fn mixed() -> Vec<Trial> {
    let mut calibration = trial(2);
    calibration.spec.phase = Phase::Calibration;
    vec![trial(0), invalid_trial(1), calibration, trial(3)]
}

/// Base64 decoder (RFC 4648, section 4).
fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for c in text.trim_end_matches('=').chars() {
        bits = (bits << 6 | DIGITS.find(c).unwrap() as u32) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

#[test]
fn interval_log_has_the_valid_trials_of_a_level() {
    let test_dir = TestDir::new();
    let files = export_hdr(mixed().into_iter().map(Ok), &test_dir.path("logs")).unwrap();
    assert_eq!(files, [test_dir.path("logs/level-050.0.hlog")]);
    let log = fs::read_to_string(&files[0]).unwrap();
    let head = "#[Histogram log format version 1.3]\n";
    assert!(
        log.starts_with(head) && log.contains("nanoseconds"),
        "{log}"
    );

    let mut found = Vec::new();
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        match entry.unwrap() {
            LogEntry::StartTime(at) => assert_eq!(at, Duration::from_millis(1_700_000_001_500)),
            LogEntry::BaseTime(_) => panic!("timestamps are absolute"),
            LogEntry::Interval(interval) => {
                let blob = from_base64(interval.encoded_histogram());
                let hdr = Deserializer::new()
                    .deserialize::<u64, _>(&mut &blob[..])
                    .unwrap();
                assert_eq!(interval.duration(), Duration::from_secs(10));
                let tag = interval.tag().unwrap().to_string();
                found.push((tag, Histogram::from_hdr(&hdr)));
            }
        }
    }
    let expected = [trial(0), trial(3)].into_iter().flat_map(|t| {
        [
            ("latency".to_owned(), t.work.latency),
            ("slip".to_owned(), t.work.slip),
        ]
    });
    assert!(found.into_iter().eq(expected));
}

#[test]
fn trials_without_a_level_are_in_a_log_of_their_setting() {
    let test_dir = TestDir::new();
    let at = |nth: u32, setting: &str| {
        let mut trial = trial(nth).with(setting.to_owned(), ());
        trial.spec.phase = Phase::Level { level: None };
        trial
    };
    let trials = [at(0, "a"), at(3, "b"), at(0, "a")].map(Ok);
    let files = export_hdr(trials, &test_dir.path("logs")).unwrap();
    let named = |name| test_dir.path(name);
    assert_eq!(
        files,
        [named("logs/setting-1.hlog"), named("logs/setting-2.hlog")]
    );
    let log = fs::read_to_string(&files[0]).unwrap();
    assert!(log.contains("#Setting: \"a\"\n"), "{log}");
    assert_eq!(log.matches("Tag=latency").count(), 2, "{log}");
}

#[test]
fn export_does_not_overwrite() {
    let test_dir = TestDir::new();
    let export = || export_hdr(mixed().into_iter().map(Ok), &test_dir.path("logs"));
    let files = export().unwrap();
    let before = fs::read(&files[0]).unwrap();
    let again = export().unwrap_err();
    assert!(matches!(again, RecordError::ExportExists { .. }), "{again}");
    assert_eq!(fs::read(&files[0]).unwrap(), before);
}
