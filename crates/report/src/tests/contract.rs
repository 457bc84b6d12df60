//! The JSON output and the schema that it promises to keep.

use super::sample::{
    Sample, about, copies, empty, imported, imported_copies, nothing_valid, plan, sweep,
    without_cpu,
};
use super::shown::{Schema, has, has_not};
use crate::Format;
use plimsoll_model::{
    CapacityStatus, DirectionVerdict, Estimate, Headroom, LevelWork, NoHeadroom, NoSpeedup,
    Provenance, RestartsFinding, RunEnd, ServiceAt, SmtFinding, SmtPlan, Workload,
};
use serde_json::{Map, Value, json};
use std::time::Duration;

const SCHEMA: &str = include_str!("../../../../docs/schema/output.schema.json");

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
    sample.plan.run.cpus.cores = vec!["0-1".parse().unwrap(), "2-3".parse().unwrap()];
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
    for verdict in [DirectionVerdict::Different, DirectionVerdict::Inconclusive] {
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
    let schema = Schema::of(SCHEMA);
    every_sample()
        .iter()
        .for_each(|sample| schema.accepts(&sample.json()));
    for mut sample in [copies(), imported_copies()] {
        schema.accepts(&sample.json());
        sample.findings.smt = SmtFinding::unknown(NoSpeedup::LevelMissing);
        sample.findings.copies.clear();
        sample.ended = None;
        schema.accepts(&sample.json());
    }
}

#[test]
fn the_schema_lets_nothing_else_through() {
    let wrong = [
        ("/plan/seed", json!("42")),
        ("/findings/capacity/0/status", json!("maybe")),
        ("/findings/capacity/0/status", json!("below_lowest")),
        ("/findings/capacity/0/rate_rps", json!(8400.0)),
        (
            "/findings/capacity/0/rate_rps",
            json!({"value": 1, "low": "0", "high": 2}),
        ),
        (
            "/findings/headroom_index/nearest_level_interval",
            json!([0.8]),
        ),
        ("/findings/direction/verdict", json!("maybe")),
        ("/schema_version", json!(2)),
        ("/findings/headroom_index_missing", json!("bad luck")),
        ("/findings/levels/2/invalid_reasons/0", json!("steal")),
        ("/plan/workload/kind", json!("ftp")),
        ("/plan/bounds/slip_share", json!("20")),
        ("/kind", json!("copies")),
        ("/plan/workload/kind", json!("copies")),
    ];
    Schema::of(SCHEMA).refuses(&sweep().json(), &wrong);
    let wrong = [
        ("/plan/seed", json!("42")),
        ("/plan/copies/0", json!("1")),
        ("/plan/workload/kind", json!("http")),
        ("/plan/bounds/slip_share", json!("20")),
        ("/findings/copies/0/seconds", json!(null)),
        ("/findings/smt/speedup_missing", json!("bad luck")),
        ("/schema_version", json!(2)),
        ("/kind", json!("sweep")),
    ];
    Schema::of(SCHEMA).refuses(&copies().json(), &wrong);
}

/// Calls `see` for each schema of an object with named properties. One that is a choice within
/// another is closed by that.
fn walk(v: &Value, is_part: bool, see: &mut dyn FnMut(&Map<String, Value>, bool)) {
    match v {
        Value::Object(object) => {
            let has_properties = object.get("properties").is_some_and(Value::is_object);
            if has_properties {
                see(object, is_part);
            }
            for (key, v) in object {
                let is_choice = ["oneOf", "anyOf"].contains(&key.as_str());
                walk(v, is_choice && (is_part || has_properties), see);
            }
        }
        Value::Array(items) => items.iter().for_each(|v| walk(v, is_part, see)),
        _ => {}
    }
}

/// With these, nothing can be renamed, left out or added unnoticed.
#[test]
fn every_object_is_closed_whole_and_described() {
    // Left out where a run has none.
    const OPTIONAL: [&str; 18] = [
        "expected_text",
        "files",
        "first_answer_bytes",
        "grpc",
        "headrooms_share",
        "http2_streams",
        "left_out",
        "logins",
        "max_connections",
        "memory",
        "omitted_body_bytes",
        "pace",
        "requests",
        "requests_per_connection",
        "service_warm_up",
        "step",
        "tls",
        "wait_policy",
    ];
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema");
    let mut objects = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let schema = std::fs::read_to_string(&path).unwrap();
        walk(
            &serde_json::from_str(&schema).unwrap(),
            false,
            &mut |object, is_part| {
                objects += 1;
                let properties = object["properties"].as_object().unwrap();
                let is_required = |name: &&str| {
                    object["required"]
                        .as_array()
                        .unwrap()
                        .contains(&json!(name))
                };
                let names = properties.keys().map(String::as_str);
                let left_out: Vec<&str> = names
                    .filter(|name| !is_required(name) && !OPTIONAL.contains(name))
                    .collect();
                assert_eq!(left_out, [""; 0], "{}", path.display());
                let has = |key| object.get(key) == Some(&Value::Bool(false));
                let is_closed = has("additionalProperties") || has("unevaluatedProperties");
                assert_eq!(is_closed, !is_part, "{}: {properties:?}", path.display());
                for (name, property) in properties {
                    let is_described = ["description", "$ref", "anyOf", "const"]
                        .iter()
                        .any(|key| property.get(key).is_some());
                    // The only field of a choice is described by that.
                    let is_choice = properties.len() == 1 && object.contains_key("description");
                    assert!(is_described || is_choice, "{}: {name}", path.display());
                }
            },
        );
    }
    assert!(objects > 150, "{objects}");
}

#[test]
fn secrets_are_in_no_output() {
    let mut sample = sweep();
    if let Workload::Http(http) = &mut sample.plan.workload {
        http.url = "http://me:swordfish@localhost/?key=swordfish".to_owned();
        http.body = b"swordfish".to_vec();
        http.headers
            .push(("X-Api-Key".to_owned(), "swordfish".to_owned()));
        // Shown like one whose value is in the record.
        http.omitted_headers.push("Cookie".to_owned());
    }
    let json = sample.shown(Format::Json);
    for output in [&json, &sample.text(200), &sample.shown(Format::Csv)] {
        has_not(output, "swordfish");
        has_not(output, "Bearer 12345");
    }
    assert_eq!(json.matches("\"(hidden)\"").count(), 3);
    has_not(&json, "omitted_headers");
    assert_eq!(sample.json()["plan"]["workload"]["body"], json!([]));
    assert_eq!(sample.json()["plan"]["workload"]["omitted_body_bytes"], 9);
    has(&json, &["*/*"]);
}

#[test]
fn the_kind_and_the_seed_are_where_programs_look_for_them() {
    assert_eq!(sweep().json()["kind"], "sweep");
    assert_eq!(copies().json()["kind"], "copies");
    assert_eq!(copies().json()["plan"]["copies"], json!([1, 4, 8]));
    assert_eq!(copies().json()["plan"]["seed"], 42);
    let mut sample = sweep();
    sample.plan = plan(sample.plan.workload.clone());
    sample.plan.run.seed = u64::MAX;
    assert_eq!(sample.json()["plan"]["seed"], u64::MAX);
    assert_eq!(sample.json()["record"]["invalid_trials"], 3);
}

#[test]
fn an_estimate_is_a_value_with_its_ends_and_what_is_not_known_is_null() {
    let mut sample = sweep();
    sample.findings.capacity[1].rate_rps = Some(Estimate {
        value: 9100.0,
        low: Some(9100.0),
        high: None,
    });
    let findings = &sample.json()["findings"];
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
    let findings = &sample.json()["findings"];
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
        let findings = &sample.json()["findings"];
        assert_eq!(findings["headroom_index"], Value::Null);
        assert_eq!(findings["extra_over_half_ratio"], Value::Null);
        assert_eq!(findings["headroom_index_missing"], expected);
    }
}

#[test]
fn a_speedup_is_known_with_its_rows_or_its_lack_is_told() {
    let smt = &with_threads().json()["findings"]["smt"];
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
        let smt = &sample.json()["findings"]["smt"];
        assert_eq!(smt["speedup_missing"], expected);
        assert_eq!(smt["speedup_ratio"], Value::Null);
    }
}
