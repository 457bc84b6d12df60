//! A record returns what was stored.

use super::any::any_trial;
use super::sample::{Bench, command_line, plan, provenance, read_all, requirements};
use super::sample::{create, trial};
use crate::{Record, RecordError, export_hdr};
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use plimsoll_model::{Histogram, Invalid, MachineUse, Phase, Plan, RunEnd, Trial, Verdict};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fs;
use std::time::Duration;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_trials_are_read_back_equal_and_in_order(trials in vec(any_trial(), 1..4)) {
        let bench = Bench::new();
        let mut record = bench.create("run.plimsoll");
        for trial in &trials {
            record.append(trial).unwrap();
        }
        prop_assert_eq!(&read_all(&record), &trials);
        drop(record);
        let record = Record::open(&bench.path("run.plimsoll")).unwrap();
        prop_assert_eq!(&read_all(&record), &trials);
    }
}

#[test]
fn what_was_asked_comes_back_as_it_was() {
    let bench = Bench::new();
    drop(bench.create("run.plimsoll"));
    let record = Record::open(&bench.path("run.plimsoll")).unwrap();
    assert_eq!(*record.plan(), plan());
    assert_eq!(*record.provenance(), provenance());
    assert_eq!(record.command_line(), command_line());
    assert_eq!(record.requirements(), requirements());
    assert!(record.created_unix_ms() > 1_600_000_000_000);
    assert_eq!(record.trial_count(), 0);
}

#[test]
fn what_older_records_do_not_hold_is_not_known() {
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
    assert_eq!((read.smt, read.cpus.cores.len()), (None, 0));
    let used = serde_json::to_value(&trial(0).machine).unwrap();
    let read: MachineUse = serde_json::from_value(without(used, &["clock_ratio"])).unwrap();
    assert_eq!(read.clock_ratio, None);
}

#[test]
fn a_run_that_did_not_say_how_it_ended_has_no_end() {
    let bench = Bench::new();
    let path = bench.record_of("run.plimsoll", 1);
    assert_eq!(Record::open(&path).unwrap().end(), None);
    for end in [
        RunEnd::Complete,
        RunEnd::Interrupted,
        RunEnd::Failed("the server went away; start it again".to_owned()),
    ] {
        Record::open_for_resume(&path)
            .unwrap()
            .mark_finished(&end)
            .unwrap();
        assert_eq!(Record::open(&path).unwrap().end(), Some(&end));
    }
    // A resumed run has no end.
    let mut record = Record::open_for_resume(&path).unwrap();
    record.append(&trial(1)).unwrap();
    assert_eq!(record.end(), None);
    assert_eq!(Record::open(&path).unwrap().end(), None);
}

#[test]
fn a_resumed_run_goes_on_after_the_last_trial() {
    let bench = Bench::new();
    let path = bench.record_of("run.plimsoll", 2);
    let mut record = Record::open_for_resume(&path).unwrap();
    assert_eq!(record.trial_count(), 2);
    record.append(&trial(2)).unwrap();
    assert_eq!(read_all(&record), [trial(0), trial(1), trial(2)]);
}

#[test]
fn directories_on_the_way_are_made_and_odd_names_are_names() {
    let bench = Bench::new();
    for name in [
        "a/b/run.plimsoll",
        "file:x?mode=memory",
        ":memory:",
        "with space\n",
    ] {
        let path = bench.path(name);
        create(&path).unwrap().append(&trial(0)).unwrap();
        assert_eq!(Record::open(&path).unwrap().trial_count(), 1, "{name}");
    }
}

#[test]
fn the_overview_shows_rates_and_quantiles() {
    let bench = Bench::new();
    let path = bench.record_of("run.plimsoll", 1);
    let record = Record::open(&path).unwrap();
    let sql = "SELECT achieved_rps, latency_p50_us, verdict FROM overview";
    let row = record
        .conn
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let (achieved, p50, verdict): (f64, f64, String) = row.unwrap();
    assert_eq!(achieved, 19.9);
    assert!((p50 - 100.0).abs() < 0.1, "{p50}");
    assert_eq!(verdict, "valid");
}

/// Trials at 50 %: two valid, one invalid; and one without a level.
fn mixed() -> Vec<Trial> {
    let mut invalid = trial(1);
    invalid.verdict = Verdict::Invalid(vec![Invalid::Steal {
        stolen: plimsoll_model::Share::ONE,
        bound: plimsoll_model::Share::ZERO,
    }]);
    let mut calibration = trial(2);
    calibration.spec.phase = Phase::Calibration;
    vec![trial(0), invalid, calibration, trial(3)]
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
fn an_interval_log_holds_the_valid_trials_of_a_level_for_other_tools() {
    let bench = Bench::new();
    let files = export_hdr(mixed().into_iter().map(Ok), &bench.path("logs")).unwrap();
    assert_eq!(files, [bench.path("logs/level-050.0.hlog")]);
    let log = fs::read_to_string(&files[0]).unwrap();
    assert!(
        log.starts_with("#[Histogram log format version 1.3]\n"),
        "{log}"
    );
    assert!(log.contains("nanoseconds"), "{log}");

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
fn an_export_writes_over_nothing() {
    let bench = Bench::new();
    let export = || export_hdr(mixed().into_iter().map(Ok), &bench.path("logs"));
    let files = export().unwrap();
    let before = fs::read(&files[0]).unwrap();
    let again = export().unwrap_err();
    assert!(matches!(again, RecordError::ExportExists { .. }), "{again}");
    assert_eq!(fs::read(&files[0]).unwrap(), before);
}
