//! How a self-test reads, and the schema that its JSON promises to keep.

use super::*;
use crate::Format;
use crate::tests::shown::{Schema, as_text, is_snapshot, shown};
use plimsoll_model::{
    CpusOf, Estimate, Invalid, Measure, NoInterval, NoIntervalCode, RunToRun, RunToRunFrom, Share,
};
use serde_json::json;

fn selftest() -> Selftest {
    use SelftestVerdict::{Missed, NotMeasured, Recovered, TooWide};
    let answer =
        |service: &str, known: KnownAnswer, verdict, note: Option<SelftestNote>| SelftestAnswer {
            service: service.to_owned(),
            error_pct: known.error_pct(),
            known,
            tolerance_pct: 5.0,
            widest_pct: 5.0,
            verdict,
            trials: 7,
            invalid_trials: 1,
            notes: note.into_iter().collect(),
        };
    let capacity = |answer_rps| KnownAnswer::Capacity {
        goal: "p99<15ms".parse().unwrap(),
        truth_rps: 2000.0,
        answer_rps,
        confirmed: Some(true),
    };
    let stall = KnownAnswer::Stall {
        truth_us: 200_000.0,
        answer_us: Some(Estimate::within(199_000.0, 198_900.0, 201_000.0)),
        p999_us: Some(198_000.0),
    };
    let found = Some(Estimate::within(2040.0, 1990.0, 2100.0));
    let saturation = |answer_rps| KnownAnswer::Saturation {
        truth_rps: 2500.0,
        answer_rps,
    };
    let wide = Some(Estimate::within(2040.0, 800.0, 9000.0));
    let calibrated = Some(Estimate::within(2300.0, 2290.0, 2310.0));
    let shown = SelftestNote::Stall {
        shown: true,
        p999_us: 198_000.0,
    };
    let disturbed = SelftestNote::InvalidTrials {
        invalid: 1,
        of: 8,
        last: steal(),
    };
    Selftest {
        seed: 1,
        took_s: 57.0,
        answers: vec![
            answer("fixed", capacity(found), Recovered, None),
            answer("stall", stall, Recovered, Some(shown)),
            answer("lock", capacity(None), NotMeasured, Some(disturbed)),
            answer("pauses", capacity(wide), TooWide, None),
            answer("calibrated", saturation(calibrated), Missed, None),
        ],
        repeat: repeat((0.843, 0.771, 0.922), DifferenceVerdict::Worse, Missed),
    }
}

fn repeat(
    (value, low, high): (f64, f64, f64),
    called: DifferenceVerdict,
    verdict: SelftestVerdict,
) -> SelftestRepeat {
    SelftestRepeat {
        difference: Difference {
            name: "fixed, again".to_owned(),
            against: "fixed".to_owned(),
            goal: "p99<15ms".parse().unwrap(),
            measure: Measure::Capacity,
            ratio: Some(Estimate::within(value, low, high)),
            run_to_run: Some(RunToRun {
                from: RunToRunFrom::Assumed,
                deviation_pct: 3.0,
                degrees_of_freedom: None,
            }),
            verdict: called,
            why: None,
        },
        verdict,
    }
}

fn equal() -> SelftestRepeat {
    let called = DifferenceVerdict::Inconclusive;
    repeat((1.012, 0.925, 1.108), called, SelftestVerdict::Recovered)
}

fn not_compared() -> SelftestRepeat {
    let mut repeat = equal();
    repeat.verdict = SelftestVerdict::NotMeasured;
    repeat.difference.ratio = None;
    repeat.difference.run_to_run = None;
    repeat.difference.why = Some(NoInterval {
        code: NoIntervalCode::UnknownCapacity,
        machines: vec!["fixed, again".to_owned()],
    });
    repeat
}

fn steal() -> Invalid {
    Invalid::Steal {
        stolen: Share::new(0.05).unwrap(),
        bound: Share::new(0.02).unwrap(),
        on: CpusOf::Machine,
    }
}

fn passed() -> Selftest {
    let mut passed = selftest();
    passed.answers.truncate(2);
    passed.repeat = equal();
    passed
}

#[test]
fn self_tests_read_as_in_the_file() {
    let mut unproven = selftest();
    unproven
        .answers
        .retain(|a| a.verdict != SelftestVerdict::Missed);
    unproven.repeat = SelftestRepeat {
        verdict: SelftestVerdict::TooWide,
        ..equal()
    };
    let mut different = passed();
    different.repeat = selftest().repeat;
    let mut alone = passed();
    alone.repeat = not_compared();
    let mut quick = passed();
    quick.answers.iter_mut().for_each(|a| a.widest_pct = 50.0);
    let mut out = String::new();
    for (name, selftest) in [
        ("each verdict", selftest()),
        ("passed", passed()),
        ("nothing missed", unproven),
        ("passed with wide intervals", quick),
        ("equals called different", different),
        ("equals not compared", alone),
    ] {
        out += &format!("# {name}\n{}\n", as_text(&document(&selftest), 100));
    }
    is_snapshot("selftest/selftest-100", 100, &out);
}

const SCHEMA: &str = include_str!("../../../../docs/schema/selftest.schema.json");

fn output(selftest: &Selftest) -> serde_json::Value {
    serde_json::from_str(&shown(&document(selftest), Format::Json)).unwrap()
}

#[test]
fn the_json_keeps_to_its_schema_which_lets_nothing_else_through() {
    let schema = Schema::of(SCHEMA);
    schema.accepts(&output(&passed()));
    let wrong = [
        ("/schema_version", json!(3)),
        ("/repeat", json!(null)),
        ("/repeat/difference/verdict", json!("equal")),
        ("/answers/0/verdict", json!("maybe")),
        ("/answers/0/quantity", json!("stall")),
        ("/answers/0/answer_rps", json!(2040.0)),
        ("/answers/1/truth_us", json!(null)),
        ("/answers/1/notes/0/code", json!("maybe")),
        ("/answers/2/notes/0/last", json!("steal")),
        ("/answers/4/widest_pct", json!("5")),
    ];
    schema.refuses(&output(&selftest()), &wrong);
}

#[test]
fn programs_get_units_in_the_names() {
    let value = output(&selftest());
    assert_eq!(value["schema_version"], SCHEMA_VERSION);
    assert_eq!(value["passed"], false);
    assert_eq!(value["repeat"]["verdict"], "missed");
    assert_eq!(value["repeat"]["difference"]["ratio"]["value"], 0.843);
    assert_eq!(value["answers"][0]["quantity"], "capacity");
    assert_eq!(value["answers"][0]["truth_rps"], 2000.0);
    assert_eq!(value["answers"][1]["answer_us"]["value"], 199_000.0);
    assert_eq!(value["answers"][2]["verdict"], "not_measured");
    assert_eq!(value["answers"][3]["verdict"], "too_wide");
    assert_eq!(value["answers"][4]["quantity"], "saturation");
}
