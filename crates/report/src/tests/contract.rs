//! The JSON output and the schema that it promises to keep.

use super::sample::{Sample, copies, nothing_valid, plan, sweep, without_cpu};
use plimsoll_model::RunEnd;
use plimsoll_model::{
    CapacityStatus, Findings, Headroom, NoHeadroom, Provenance, ServiceAt, Workload,
};
use serde_json::{Map, Value};

const SCHEMA: &str = include_str!("../../../../docs/schema/output.schema.json");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn output(sample: &Sample) -> Value {
    serde_json::from_str(&crate::json(&sample.report()).unwrap()).unwrap()
}

/// A run of which nothing is known.
fn all_null() -> Sample {
    let mut sample = sweep();
    sample.findings = Findings {
        rated: None,
        idle_cpu_pct: None,
        light_load: None,
        levels: vec![],
        capacity: vec![],
        headroom: Headroom::Unknown {
            why: NoHeadroom::NoLevel,
        },
        copies: vec![],
    };
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

fn every_sample() -> Vec<Sample> {
    let mut samples = vec![
        sweep(),
        without_cpu(),
        nothing_valid(),
        copies(),
        all_null(),
    ];
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
    for status in [CapacityStatus::NotReached, CapacityStatus::BelowLowest] {
        let mut sample = sweep();
        sample.findings.capacity[0].status = status;
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

#[test]
fn the_schema_lets_nothing_else_through() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let good = output(&sweep());
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad
    };
    let level = "/findings/levels/0";
    for (what, bad) in [
        (
            "a unit is changed",
            changed(&|v| rename(v, level, "cpu_pct", "cpu_share")),
        ),
        (
            "a value is left out",
            changed(&|v| {
                v.pointer_mut(level)
                    .unwrap()
                    .as_object_mut()
                    .unwrap()
                    .remove("achieved_rps");
            }),
        ),
        (
            "a number is a text",
            changed(&|v| {
                *v.pointer_mut("/plan/seed").unwrap() = Value::from("42");
            }),
        ),
        (
            "a status is unknown",
            changed(&|v| {
                *v.pointer_mut("/findings/capacity/0/status").unwrap() = Value::from("maybe");
            }),
        ),
        (
            "a reason is unknown",
            changed(&|v| {
                *v.pointer_mut("/findings/headroom_index_missing").unwrap() =
                    Value::from("bad luck");
            }),
        ),
        (
            "the kind of workload is unknown",
            changed(&|v| {
                *v.pointer_mut("/plan/workload/kind").unwrap() = Value::from("ftp");
            }),
        ),
        (
            "a share is no share",
            changed(&|v| {
                *v.pointer_mut("/plan/bounds/slip_share").unwrap() = Value::from(20);
            }),
        ),
    ] {
        assert!(!validator.is_valid(&bad), "{what}");
    }
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
    }
    let json = crate::json(&sample.report()).unwrap();
    for output in [&json, &sample.text(200), &crate::csv(&sample.report())] {
        assert!(!output.contains("swordfish"), "{output}");
        assert!(!output.contains("Bearer 12345"), "{output}");
    }
    assert_eq!(json.matches("\"(hidden)\"").count(), 2);
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
fn the_headroom_index_is_a_plain_number_or_its_reason_is_given() {
    let mut sample = sweep();
    let findings = &output(&sample)["findings"];
    assert_eq!(findings["headroom_index"], 0.857);
    assert_eq!(findings["headroom_index_missing"], Value::Null);
    for (why, expected) in EVERY_REASON {
        sample.findings.headroom = Headroom::Unknown { why };
        let findings = &output(&sample)["findings"];
        assert_eq!(findings["headroom_index"], Value::Null);
        assert_eq!(findings["headroom_index_missing"], expected);
    }
}
