//! The JSON output and the schema that it promises to keep.

use super::sample::{
    Sample, about, copies, empty, imported, nothing_valid, plan, sweep, without_cpu,
};
use crate::Format;
use plimsoll_model::{
    CapacityStatus, DirectionVerdict, Estimate, Headroom, LevelWork, NoHeadroom, NoSpeedup,
    Provenance, RestartsFinding, RunEnd, ServiceAt, SmtFinding, SmtPlan, Workload,
};
use serde_json::{Map, Value, json};
use std::time::Duration;

const SCHEMA: &str = include_str!("../../../../docs/schema/output.schema.json");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn output(sample: &Sample) -> Value {
    serde_json::from_str(&sample.shown(Format::Json)).unwrap()
}

/// A run of which nothing is known.
fn all_null() -> Sample {
    let mut sample = sweep();
    sample.findings = empty();
    sample.plan.search = None;
    sample.provenance = Provenance::default();
    sample.requirements.clear();
    sample.ended = None;
    sample
}

/// Why there is no headroom index, and how programs are told.
const EVERY_REASON: [(NoHeadroom, &str); 6] = [
    (NoHeadroom::NoLevel, "no_level"),
    (NoHeadroom::NoValidTrial, "no_valid_trial"),
    (NoHeadroom::CpuUnreadable, "cpu_unreadable"),
    (NoHeadroom::NotSaturated, "not_saturated"),
    (NoHeadroom::CpuNeverBeyondHalf, "cpu_never_beyond_half"),
    (NoHeadroom::NoLevelNearHalf, "no_level_near_half"),
];

/// Why there is no speed-up by SMT, and how programs are told.
const EVERY_LACK: [(NoSpeedup, &str); 8] = [
    (NoSpeedup::CoresUnknown, "cores_unknown"),
    (NoSpeedup::OneThreadPerCore, "one_thread_per_core"),
    (NoSpeedup::OneThreadUsed, "one_thread_used"),
    (NoSpeedup::UnevenCores, "uneven_cores"),
    (NoSpeedup::MoreThanTwoThreads, "more_than_two_threads"),
    (NoSpeedup::NotOurs, "not_ours"),
    (NoSpeedup::LevelMissing, "level_missing"),
    (NoSpeedup::NotSaturated, "not_saturated"),
];

/// A sweep on cores of two threads whose speed-up is known.
fn with_threads() -> Sample {
    let mut sample = sweep();
    sample.findings.smt = copies().findings.smt;
    sample.findings.smt.levels.push(LevelWork {
        load_pct: 50.0,
        cpu_pct: 47.0,
        work_low_pct: 47.0,
        work_high_pct: 74.0,
        clock_ratio: Some(1.1),
    });
    sample.plan.cpus.cores = vec!["0-1".parse().unwrap(), "2-3".parse().unwrap()];
    sample.plan.smt = Some(SmtPlan {
        trials: 3,
        warm_up: Duration::from_millis(300),
        window: Duration::from_millis(600),
        budget: Duration::from_secs(10),
    });
    sample
}

fn every_sample() -> Vec<Sample> {
    let mut samples = vec![
        sweep(),
        without_cpu(),
        nothing_valid(),
        imported(),
        copies(),
        all_null(),
        with_threads(),
    ];
    for (why, _) in EVERY_LACK {
        let mut sample = sweep();
        sample.findings.smt = SmtFinding::unknown(why);
        samples.push(sample);
    }
    for service in [
        ServiceAt::Find,
        ServiceAt::Cgroup("system.slice/web.service".to_owned()),
        ServiceAt::NodeMetrics("http://web1:9100/metrics".to_owned()),
    ] {
        let mut sample = sweep();
        if let Workload::Http(http) = &mut sample.plan.workload {
            http.service = service;
        }
        samples.push(sample);
    }
    for (why, _) in EVERY_REASON {
        let mut sample = sweep();
        sample.findings.headroom = Headroom::Unknown { why };
        samples.push(sample);
    }
    for verdict in [DirectionVerdict::Different, DirectionVerdict::CannotTell] {
        let mut sample = sweep();
        let direction = sample.findings.direction.as_mut().unwrap();
        direction.verdict = verdict;
        direction.down_over_up_ratio = None;
        direction.restarts = Some(RestartsFinding {
            restarts: 3,
            trials: 12,
            between_pct: 4.0,
            within_pct: 5.0,
            between_share: Estimate::alone(0.4),
        });
        sample.plan.restart = Some("systemctl restart web".to_owned());
        samples.push(sample);
    }
    for status in [CapacityStatus::NotReached, CapacityStatus::Undecided] {
        let mut sample = sweep();
        sample.findings.capacity[0].status = status;
        sample.findings.capacity[0].confirmed = Some(false);
        sample.ended = Some(RunEnd::Failed("the disk is full".into()));
        samples.push(sample);
    }
    samples
}

#[test]
fn all_that_is_put_out_keeps_to_the_schema() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    for sample in every_sample() {
        let output = output(&sample);
        let wrong: Vec<String> = validator
            .iter_errors(&output)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}\n{output:#}");
    }
}

/// What must not pass: where, and what stands there instead.
const WRONG: [(&str, &str, &str); 11] = [
    ("a number is a text", "/plan/seed", r#""42""#),
    ("a status is unknown", STATUS, r#""maybe""#),
    ("a status is one of version 1", STATUS, r#""below_lowest""#),
    ("a rate has no interval", RATE, "8400.0"),
    (
        "an interval is a text",
        RATE,
        r#"{"value": 1, "low": "0", "high": 2}"#,
    ),
    ("an interval has one end", NEAREST, "[0.8]"),
    (
        "a verdict is unknown",
        "/findings/direction/verdict",
        r#""maybe""#,
    ),
    ("the version is another one", "/schema_version", "1"),
    (
        "a reason is unknown",
        "/findings/headroom_index_missing",
        r#""bad luck""#,
    ),
    (
        "the kind of workload is unknown",
        "/plan/workload/kind",
        r#""ftp""#,
    ),
    ("a share is no share", "/plan/bounds/slip_share", "20"),
];
const STATUS: &str = "/findings/capacity/0/status";
const RATE: &str = "/findings/capacity/0/rate_rps";
const NEAREST: &str = "/findings/headroom_index/nearest_level_interval";

#[test]
fn the_schema_lets_nothing_else_through() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let good = output(&sweep());
    assert!(validator.is_valid(&good));
    for (what, at, wrong) in WRONG {
        let mut bad = good.clone();
        *bad.pointer_mut(at).unwrap() = serde_json::from_str(wrong).unwrap();
        assert!(!validator.is_valid(&bad), "{what}");
    }
    let level = "/findings/levels/0";
    let mut bad = good.clone();
    rename(&mut bad, level, "cpu_pct", "cpu_share");
    assert!(!validator.is_valid(&bad), "a unit is changed");
    let mut bad = good.clone();
    let level = bad.pointer_mut(level).unwrap().as_object_mut().unwrap();
    level.remove("achieved_rps");
    assert!(!validator.is_valid(&bad), "a value is left out");
}

fn rename(v: &mut Value, at: &str, from: &str, to: &str) {
    let object = v.pointer_mut(at).unwrap().as_object_mut().unwrap();
    let value = object.remove(from).unwrap();
    object.insert(to.to_owned(), value);
}

/// Calls `see` for each schema of an object with named properties.
fn walk(v: &Value, see: &mut dyn FnMut(&Map<String, Value>)) {
    match v {
        Value::Object(object) => {
            if object.get("properties").is_some_and(Value::is_object) && object.contains_key("type")
            {
                see(object);
            }
            object.values().for_each(|v| walk(v, see));
        }
        Value::Array(items) => items.iter().for_each(|v| walk(v, see)),
        _ => {}
    }
}

#[test]
fn every_object_is_closed_whole_and_described() {
    let mut objects = 0;
    walk(&schema(), &mut |object| {
        objects += 1;
        let properties = object["properties"].as_object().unwrap();
        let required: Vec<&str> = object["required"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_str().unwrap())
            .collect();
        let names: Vec<&str> = properties.keys().map(String::as_str).collect();
        let sorted = |mut names: Vec<&str>| {
            names.sort_unstable();
            names.join(" ")
        };
        assert_eq!(sorted(required), sorted(names));
        assert_eq!(object["additionalProperties"], Value::Bool(false));
        for (name, property) in properties {
            let described = property["description"]
                .as_str()
                .is_some_and(|d| d.len() > 3);
            assert!(described, "{name}");
        }
    });
    assert!(objects > 15, "{objects}");
}

#[test]
fn secrets_are_in_no_output() {
    let mut sample = sweep();
    if let Workload::Http(http) = &mut sample.plan.workload {
        http.url = "http://me:swordfish@localhost/".to_owned();
        http.headers
            .push(("X-Api-Key".to_owned(), "swordfish".to_owned()));
        // Shown like one whose value is in the record.
        http.omitted_headers.push("Cookie".to_owned());
    }
    let json = sample.shown(Format::Json);
    for output in [&json, &sample.text(200), &sample.shown(Format::Csv)] {
        assert!(!output.contains("swordfish"), "{output}");
        assert!(!output.contains("Bearer 12345"), "{output}");
    }
    assert_eq!(json.matches("\"(hidden)\"").count(), 3);
    assert!(!json.contains("omitted_headers"), "{json}");
    assert!(json.contains("*/*"), "{json}");
}

#[test]
fn the_kind_and_the_seed_are_where_programs_look_for_them() {
    assert_eq!(output(&sweep())["kind"], "sweep");
    assert_eq!(output(&copies())["kind"], "copies");
    let mut sample = sweep();
    sample.plan = plan(sample.plan.workload.clone());
    sample.plan.seed = u64::MAX;
    assert_eq!(output(&sample)["plan"]["seed"], u64::MAX);
    assert_eq!(output(&sample)["record"]["invalid_trials"], 3);
}

#[test]
fn an_estimate_is_a_value_with_its_ends_and_what_is_not_known_is_null() {
    let mut sample = sweep();
    sample.findings.capacity[1].rate_rps = Some(Estimate {
        value: 9100.0,
        low: Some(9100.0),
        high: None,
    });
    let findings = &output(&sample)["findings"];
    let capacity = &findings["capacity"];
    assert_eq!(
        capacity[0]["rate_rps"],
        json!({"value": 8412.0, "low": 8243.76, "high": 8601.27})
    );
    assert_eq!(capacity[0]["confirmed"], true);
    assert_eq!(capacity[0]["status"], "found");
    assert_eq!(
        capacity[1]["rate_rps"],
        json!({"value": 9100.0, "low": 9100.0, "high": null})
    );
    assert_eq!(capacity[1]["status"], "cliff");
    assert_eq!(findings["thresholds"][4]["cpu_pct"], Value::Null);
    assert_eq!(findings["thresholds"][1]["linear_cpu_pct"], 80.0);
    assert_eq!(findings["thresholds"][1]["cpu_pct"]["value"], 60.14);
}

#[test]
fn the_headroom_index_has_two_forms_or_its_reason_is_given() {
    let mut sample = sweep();
    sample.findings.headroom = about(Estimate::within(0.875, 0.85, 0.9));
    let findings = &output(&sample)["findings"];
    assert_eq!(findings["headroom_index"]["nearest_level"], 0.864);
    assert_eq!(
        findings["headroom_index"]["interpolated"],
        json!({"value": 0.875, "low": 0.85, "high": 0.9})
    );
    let promised = findings["linear_expectation_rps"].as_f64().unwrap();
    assert!((promised - 10_556.0).abs() < 1e-6, "{promised}");
    assert_eq!(findings["extra_over_half_ratio"], 0.75);
    assert_eq!(findings["headroom_index_missing"], Value::Null);
    for (why, expected) in EVERY_REASON {
        sample.findings.headroom = Headroom::Unknown { why };
        let findings = &output(&sample)["findings"];
        assert_eq!(findings["headroom_index"], Value::Null);
        assert_eq!(findings["extra_over_half_ratio"], Value::Null);
        assert_eq!(findings["headroom_index_missing"], expected);
    }
}

#[test]
fn a_speedup_is_known_with_its_rows_or_its_lack_is_told() {
    let smt = &output(&with_threads())["findings"]["smt"];
    assert_eq!(smt["speedup_ratio"]["value"], 1.271);
    assert_eq!(smt["speedup_missing"], Value::Null);
    assert_eq!(smt["two_over_one_clock_ratio"]["value"], 0.969);
    assert_eq!(smt["levels"][0]["work_high_pct"], 74.0);
    assert_eq!(
        smt["copies"][0],
        json!({"copies": 1, "work_pct": 19.67, "clock_ratio": null})
    );
    for (why, expected) in EVERY_LACK {
        let mut sample = sweep();
        sample.findings.smt = SmtFinding::unknown(why);
        let smt = &output(&sample)["findings"]["smt"];
        assert_eq!(smt["speedup_missing"], expected);
        assert_eq!(smt["speedup_ratio"], Value::Null);
    }
}
