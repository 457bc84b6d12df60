//! How a yield run reads, and the schema that its JSON promises to keep.

mod curve;
mod page;
pub(crate) mod sample;
mod step;

use crate::Format;
use crate::tests::pages::page;
use crate::tests::shown::{Schema, has, has_not, is_snapshot};
use plimsoll_model::{Arm, Estimate, Job, JobHeld, LatencyChange, Share};
use sample::{Sample, all_beyond, nothing, sample};
use serde_json::json;
use std::time::Duration;

#[test]
fn reports_are_as_in_the_files() {
    for (name, sample, width) in [
        ("yield-80", sample(), 80),
        ("yield-200", sample(), 200),
        ("yield-nothing-80", nothing(), 80),
        ("yield-curve-80", self::sample::curve::curve(), 80),
        ("step-80", self::sample::step::stepped(), 80),
    ] {
        is_snapshot(&format!("yields/tests/{name}"), width, &sample.text(width));
    }
}

#[test]
fn a_total_that_is_surely_above_all_says_what_may_have_been_wrong() {
    let words = "A total above 100 %: each part is a share of what it did alone";
    let with_totals = |total: Estimate, is_bound: bool| {
        let mut sample = sample();
        sample.findings.rated.as_mut().unwrap().limited_by_service = !is_bound;
        let arms = sample.findings.arms.iter_mut();
        for arm in arms.filter(|arm| arm.arm.is_beside()) {
            arm.total_work_share = Some(total);
        }
        sample.flat()
    };
    for (total, is_bound, is_said) in [
        (Estimate::within(1.01, 0.99, 1.02), false, false),
        (Estimate::within(1.01, 1.004, 1.02), false, true),
        (Estimate::within(1.05, 1.004, 1.06), true, false),
        (Estimate::within(1.2, 1.15, 1.25), true, true),
        (Estimate::alone(1.05), false, false),
        (Estimate::alone(1.59), false, true),
    ] {
        let text = with_totals(total, is_bound);
        assert_eq!(
            text.contains(words),
            is_said,
            "{total:?} {is_bound}: {text}"
        );
    }
}

#[test]
fn with_few_passes_only_figures_without_an_interval_are_said_to_have_none() {
    let mut sample = sample();
    sample.findings.noise_floor_pct = None;
    has(&sample.flat(), &["fewer than 5 valid passes. "]);
    for arm in &mut sample.findings.arms {
        let alone = |e: Estimate| Estimate::alone(e.value);
        arm.price_us_per_pct = arm.price_us_per_pct.map(alone);
        arm.latency_change_pct = arm.latency_change_pct.map(|change| LatencyChange {
            p99: alone(change.p99),
            ..change
        });
    }
    let words = "fewer than 5 valid passes, so change and price have no intervals. ";
    has(&sample.flat(), &[words]);
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
fn an_arm_without_an_interval_beside_others_says_why() {
    let words = "No interval for nice: fewer than 5 passes";
    let mut sample = sample();
    has_not(&sample.flat(), "No interval for");
    let arms = sample.findings.arms.iter_mut();
    for arm in arms.filter(|arm| arm.arm == Arm::Nice) {
        arm.latency_change_pct = arm.latency_change_pct.map(|change| LatencyChange {
            p99: Estimate::alone(change.p99.value),
            ..change
        });
    }
    has(&sample.flat(), &[words]);
}

#[test]
fn the_last_sentences_say_what_to_do() {
    let text = sample().flat();
    has(
        &text,
        &[
            "Use sched-idle: the job gains 38.5 % (36.5 to 40.5) of its work",
            "p99 changes by 2.1 % (0.7 to 3.5), within p99+5%.",
            "nice: inconclusive, with more work gained. About 21 passes may decide it (--passes 21).",
            "Mechanisms unavailable on this host:   cpu-idle: /sys/fs/cgroup/cpu has no cpu.idle",
            "Noise floor of p99 (A/A): 3.4 % (95 %).",
            "2 of 56 trials are invalid, most often because the hypervisor took CPU time.",
        ],
    );
    let text = all_beyond().flat();
    has(
        &text,
        &[
            "No isolation mechanism keeps the service within p99+5%.",
            "Closest: none, +310 %, 330us of p99 for each percent of work.",
            "The cause is run delay.",
        ],
    );
    let text = nothing().flat();
    has(&text, &["Budget p99+5%: inconclusive."]);
    has(&text, &["give --rated"]);
}

#[test]
fn the_headroom_is_named_where_the_arm_leaves_one() {
    let mut sample = sample();
    sample.findings.recommended.arm = Some(Arm::Quota10ms);
    sample.findings.recommended.headroom_pct = Some(20.0);
    let text = sample.flat();
    has(&text, &["Use quota-10ms with a headroom of 20 %"]);
}

#[test]
fn notes_have_the_decisions_of_a_law_and_warn_of_trials_too_short_for_them() {
    let mut sample = sample();
    let text = sample.flat();
    let part = "koordinator: allowed 21 % of its CPUs on average, frozen 3 % of the time, throttled \
                in 62.5 % of quota periods.";
    has(&text, &[part]);
    has_not(&text, "once a second");
    let law = sample.findings.arms.last_mut().unwrap();
    law.arm = Arm::Plimsoll;
    law.held = JobHeld {
        frozen: Some(Share::ZERO),
        ..JobHeld::default()
    };
    sample.findings.recommended.arm = Some(Arm::Plimsoll);
    sample.findings.recommended.headroom_pct = Some(20.0);
    sample.plan.load.run.window = Duration::from_millis(900);
    let text = sample.flat();
    has(
        &text,
        &[
            "plimsoll: never frozen.",
            "koordinator decides once a second, so a trial of 900ms has hardly a decision",
            "Run it with: plimsoll side --headroom 20% -- COMMAND",
        ],
    );
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
    for sample in [nothing(), all_beyond()] {
        schema().accepts(&sample.json());
    }
    let wrong = [
        ("/schema_version", json!(1)),
        ("/kind", json!("sweep")),
        ("/findings/arms/0/arm", json!("service-again")),
        ("/findings/arms/0/verdict", json!("maybe")),
        ("/findings/arms/2/cause", json!("magic")),
        ("/findings/recommended/within_budget", json!("yes")),
        ("/findings/missing_arms/0/reason", json!(null)),
        ("/plan/sideload", json!(null)),
    ];
    schema().refuses(&sample().json(), &wrong);
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
    assert_eq!(value["findings"]["recommended"]["arm"], "sched-idle");
    assert_eq!(value["findings"]["noise_floor_pct"], 3.4);
    assert_eq!(value["plan"]["sideload"]["arms"][1], "service-again");
}
