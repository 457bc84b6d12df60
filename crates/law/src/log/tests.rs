//! Every log entry conforms to `docs/schema/decisions.schema.json`.

use super::*;
use crate::{Guard, Headroom, Koordinator, Missing, Plimsoll, Reading, ResctlDemo};
use plimsoll_model::{CpuTime, CpuUse, Share};
use serde_json::{Value, json};
use std::time::Duration;

const SCHEMA: &str = include_str!("../../../../docs/schema/decisions.schema.json");

fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&serde_json::from_str(SCHEMA).unwrap()).unwrap()
}

fn value(entry: &Entry) -> Value {
    serde_json::from_str(&entry.to_line().unwrap()).unwrap()
}

fn sample() -> Sample {
    let guard = |reading| Guard {
        name: "p99_ms of http://a/".to_owned(),
        reading,
    };
    let why = "nobody is there".to_owned();
    Sample {
        at: Duration::from_millis(1500),
        period: Duration::from_millis(500),
        cpus: 2,
        machine: Some(CpuUse::default()),
        sideload: Some(CpuTime(Duration::from_millis(3))),
        gives_way: true,
        guards: vec![
            guard(Reading::of(9.5, 10.0)),
            guard(Reading::of(10.5, 10.0)),
            guard(Reading::Unknown { why }),
        ],
    }
}

fn reasons() -> Vec<Reason> {
    let share = Share::new(0.05).unwrap();
    let [room, others, left, headroom, margin, needed, change, least] = [share; 8];
    let remaining = Duration::from_secs(2);
    let mut all = vec![
        Reason::ServiceNeedsCpu { left, headroom },
        Reason::LessRoom { room, others },
        Reason::Grows { room, share },
        Reason::Steady { room },
        Reason::Settling { room, remaining },
        Reason::Held { remaining },
        Reason::Thaws { room },
        Reason::GuardOver {
            guard: "psi_cpu_pct".to_owned(),
            value: 21.5,
            limit: 20.0,
        },
        Reason::Overload { margin, needed },
        Reason::Follows { share },
        Reason::Unchanged { change, least },
    ];
    let name = "psi_cpu_pct".to_owned();
    let why = "it has been read only once".to_owned();
    let missing = [
        Missing::Period,
        Missing::Machine,
        Missing::Stuck,
        Missing::Sideload,
        Missing::Guard { name, why },
    ];
    all.extend(missing.into_iter().map(|missing| Reason::Blind {
        missing,
        periods: 3,
        freezes_after: None,
    }));
    all
}

/// Each law at its start and after some samples, and each reason.
fn entries() -> Vec<Entry> {
    let headroom = Headroom::default();
    let laws = [
        Law::Plimsoll(Plimsoll::new(headroom)),
        Law::ResctlDemo(ResctlDemo::new(headroom)),
        Law::Koordinator(Koordinator::new(headroom)),
    ];
    let mut unread = sample();
    (unread.machine, unread.sideload) = (None, None);
    let mut all = Vec::new();
    for law in laws {
        let mut state = law.start();
        for sample in [sample(), unread.clone(), sample()] {
            all.push(Entry::Begin {
                law: law.clone(),
                state: state.clone(),
            });
            let decision = law.decide(&state, &sample);
            all.push(Entry::of(&sample, &decision));
            state = decision.state;
        }
    }
    let share = Share::new(0.5).unwrap();
    all.extend(reasons().into_iter().map(|reason| Entry::Decision {
        sample: sample(),
        action: Action::Run { share },
        reason,
    }));
    all
}

#[test]
fn every_entry_conforms_to_the_schema() {
    let validator = validator();
    for entry in entries() {
        let value = value(&entry);
        let wrong: Vec<String> = validator
            .iter_errors(&value)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}\n{value:#}");
    }
}

#[test]
fn schema_rejects_other_values() {
    let validator = validator();
    let all = entries();
    let (begin, decision) = (value(&all[0]), value(&all[1]));
    assert!(validator.is_valid(&begin) && validator.is_valid(&decision));
    for (good, at, wrong) in [
        (&begin, "/entry", json!("start")),
        (&begin, "/law/law", json!("prayer")),
        (&begin, "/law/headroom_share", json!(20)),
        (&begin, "/law/parameters/settle_ns", json!(1.5)),
        (&begin, "/state/of", json!("koordinator")),
        (&decision, "/action", json!({"action": "killed"})),
        (&decision, "/reason", json!({"why": "no reason"})),
        (&decision, "/sample/cpus", json!(-1)),
        (&decision, "/sample/guards/0/reading/state", json!("good")),
        (&decision, "/sample/guards/2/reading/why", Value::Null),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(at).unwrap() = wrong;
        assert!(!validator.is_valid(&bad), "{at}");
    }
    for part in ["/sample", "/sample/machine", "/sample/guards/0"] {
        let keys: Vec<String> = {
            let part = decision.pointer(part).unwrap().as_object().unwrap();
            part.keys().cloned().collect()
        };
        for key in keys {
            let mut bad = decision.clone();
            let object = bad.pointer_mut(part).unwrap().as_object_mut().unwrap();
            object.remove(&key);
            assert!(!validator.is_valid(&bad), "{key} is left out of {part}");
        }
    }
}
