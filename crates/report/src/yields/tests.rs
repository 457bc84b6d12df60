//! How a yield run reads, and the schema that its JSON promises to keep.

mod curve;
mod page;
pub(crate) mod sample;
mod sentences;
mod step;

use crate::Format;
use crate::tests::pages::page;
use crate::tests::shown::{Schema, has, has_not, is_snapshot};
use plimsoll_model::{Estimate, Job};
use sample::{Sample, all_beyond, nothing, one_pass, sample, undecided};
use serde_json::json;

#[test]
fn reports_are_as_in_the_files() {
    for (name, sample, width) in [
        ("yield-80", sample(), 80),
        ("yield-200", sample(), 200),
        ("yield-nothing-80", nothing(), 80),
        ("yield-beyond-80", all_beyond(), 80),
        ("yield-undecided-80", undecided(), 80),
        ("yield-one-pass-80", one_pass(), 80),
        ("yield-curve-80", self::sample::curve::curve(), 80),
        ("step-80", self::sample::step::stepped(), 80),
    ] {
        is_snapshot(&format!("yields/tests/{name}"), width, &sample.text(width));
    }
}

#[test]
fn only_columns_that_are_shown_are_explained() {
    let (narrow, wide) = (sample().text(80), sample().text(200));
    for (column, is_narrow) in [
        ("gained:", true),
        ("change:", true),
        ("waits:", false),
        ("price:", false),
    ] {
        assert_eq!(narrow.contains(column), is_narrow, "{column} {narrow}");
        has(&wide, &[column]);
    }
    let page = page(&sample());
    has(&page, &["gained: ", "price: "]);
    has_not(&page, "headroom: the part");
}

#[test]
fn a_command_and_a_reason_cannot_drive_the_terminal() {
    let mut sample = sample();
    sample.plan.sideload.job = Job::Command("echo \u{1b}[2J".to_owned());
    sample.findings.missing_arms[0].reason = "\u{1b}[2J".to_owned();
    assert!(!sample.text(80).contains('\u{1b}'));
    let json = sample.shown(Format::Json);
    assert!(!json.contains('\u{1b}'));
}

const SCHEMA: &str = include_str!("../../../../docs/schema/yield.schema.json");

fn schema() -> Schema {
    Schema::of(SCHEMA)
}

#[test]
fn the_json_keeps_to_its_schema_which_lets_nothing_else_through() {
    for sample in [nothing(), all_beyond(), undecided(), one_pass()] {
        schema().accepts(&sample.json());
    }
    let wrong = [
        ("/schema_version", json!(1)),
        ("/kind", json!("sweep")),
        ("/findings/arms/0/arm", json!("service-again")),
        ("/findings/arms/0/verdict", json!("maybe")),
        ("/findings/arms/2/cause", json!("magic")),
        ("/findings/recommended/verdict", json!("yes")),
        ("/findings/recommended/worst_case_pct", json!("much")),
        ("/findings/missing_arms/0/reason", json!(null)),
        ("/plan/sideload", json!(null)),
    ];
    schema().refuses(&sample().json(), &wrong);
}

#[test]
fn runs_that_may_end_by_time_are_doubted_beside_the_answer() {
    let mut sample = sample();
    let best = &mut sample.findings.arms[4];
    best.work_by_cpu_share = Some(Estimate::within(0.12, 0.11, 0.13));
    let json = sample.json();
    schema().accepts(&json);
    assert_eq!(
        json["findings"]["arms"][4]["work_by_cpu_share"]["value"],
        0.12
    );
    let words = "under sched-idle the job gained 38.5 % by its runs and 12.0 % by its CPU time";
    let text = sample.text(200);
    has(
        &text.split_whitespace().collect::<Vec<_>>().join(" "),
        &[words],
    );
}

#[test]
fn programs_find_what_was_promised_to_them() {
    let value = sample().json();
    assert_eq!(value["kind"], "yield");
    let arms = &value["findings"]["arms"];
    assert_eq!(arms[4]["arm"], "sched-idle");
    assert_eq!(arms[4]["work_gained_share"]["value"], 0.385);
    assert_eq!(arms[4]["latency_change_pct"]["p99"]["value"], 2.1);
    assert_eq!(arms[2]["cause"], "waiting");
    assert_eq!(arms[3]["verdict"], "cannot_tell");
    assert_eq!(arms[6]["held"]["allowed_share"], 0.21);
    assert_eq!(arms[4]["held"]["frozen_share"], serde_json::Value::Null);
    assert_eq!(arms[1]["latency_us"], serde_json::Value::Null);
    let best = &value["findings"]["recommended"];
    assert_eq!(
        (&best["arm"], &best["verdict"]),
        (&json!("sched-idle"), &json!("within"))
    );
    assert_eq!(best["worst_case_pct"], 3.5);
    let best = &undecided().json()["findings"]["recommended"];
    assert_eq!(
        (&best["arm"], &best["verdict"]),
        (&json!("cpu-idle"), &json!("cannot_tell"))
    );
    assert_eq!(best["worst_case_pct"], 32.4);
    assert_eq!(best["alike"][2]["arm"], "weight");
    assert_eq!(value["findings"]["noise_floor_pct"], 3.4);
    assert_eq!(value["plan"]["sideload"]["arms"][1], "service-again");
}
