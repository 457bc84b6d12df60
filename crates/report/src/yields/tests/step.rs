//! How a run whose load steps reads.

use super::page::page;
use super::{Sample, sample, validator};
use crate::html::overlapping;
use crate::tests::pages::{chart, count};
use plimsoll_model::{Arm, Estimate, LoadLevel, StepFinding, StepPlan, StepStatus};
use std::time::Duration;

fn found(arm: Arm, status: StepStatus, time_ms: Option<Estimate>, cost: f64) -> StepFinding {
    let around = |value: f64, by: f64| Estimate::within(value, value - by, value + by);
    StepFinding {
        arm,
        steps: 16,
        status: Some(status),
        yield_time_ms: time_ms,
        cost_request_seconds: Some(around(cost, 0.2)),
        settled_change_pct: Some(around(cost * 10.0, 1.5)),
        worst_slot_p99_us: Some(around(4_000.0 + cost * 1_000.0, 300.0)),
    }
}

/// Work gained is not known where the job is not run alone, and no budget says
/// anything of a mixture of two loads.
fn as_with_steps(sample: &mut Sample) {
    let side = sample.plan.sideload.as_mut().unwrap();
    side.arms.retain(|arm| arm.has_service());
    sample.findings.arms.retain(|found| found.arm.has_service());
    for found in &mut sample.findings.arms {
        found.verdict = None;
        found.passes_to_tell = None;
        if found.arm.has_job() {
            found.work_gained_share = None;
            found.total_work_share = None;
            found.price_us_per_pct = None;
        }
    }
}

/// The same service with a step: one arm of each kind.
fn stepped() -> Sample {
    let mut sample = sample();
    as_with_steps(&mut sample);
    sample.plan.step = Some(StepPlan {
        low: LoadLevel::percent(20.0).unwrap(),
        high: LoadLevel::percent(90.0).unwrap(),
        before: Duration::from_secs(2),
        after: Duration::from_secs(3),
        steps: 2,
        slot: Duration::from_millis(50),
    });
    let findings = &mut sample.findings;
    findings.recommended.arm = None;
    findings.recommended.within_budget = None;
    findings.recommended.undecided.clear();
    let after = Estimate {
        high: None,
        ..Estimate::within(350.0, 250.0, 450.0)
    };
    findings.step = vec![
        StepFinding {
            status: None,
            cost_request_seconds: None,
            settled_change_pct: None,
            ..found(Arm::ServiceAlone, StepStatus::AtOnce, None, 0.0)
        },
        found(Arm::None, StepStatus::NotWithinWindow, None, 31.0),
        found(Arm::Weight, StepStatus::After, Some(after), 2.4),
        found(
            Arm::SchedIdle,
            StepStatus::AtOnce,
            Some(Estimate::within(0.0, 0.0, 50.0)),
            0.1,
        ),
        found(Arm::Nice, StepStatus::CannotTell, None, 1.0),
    ];
    findings.step_band_pct = Some(6.2);
    findings.step_slot_ms = Some(50.0);
    sample
}

#[test]
fn a_run_with_steps_reads_as_it_should() {
    let text = stepped().text(80);
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/yields/tests/step-80.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(file, &text).unwrap();
        return;
    }
    let expected = include_str!("step-80.txt");
    assert!(text == expected, "got\n{text}\ninstead of\n{expected}");
}

#[test]
fn the_answer_is_the_arm_that_costs_least_of_those_that_yield() {
    let mut sample = stepped();
    let holds = |sample: &Sample, parts: &[&str]| {
        let text = sample.flat();
        for part in parts {
            assert!(text.contains(part), "'{part}' is missing: {text}");
        }
    };
    holds(
        &sample,
        &[
            "sched-idle yields at the least cost: latency is back at once, within 50ms",
            "Not back within 3s: none (+310.0 % in the end).",
            "Steps from 20 % to 90 % of the 2,000/s that the service carries alone",
        ],
    );
    sample.findings.step.remove(3);
    holds(&sample, &["latency is back after 350 ms (250 or more)"]);
    sample.findings.step.remove(2);
    holds(&sample, &["It cannot be told when latency is back"]);
    sample.findings.step.pop();
    holds(&sample, &["Held in none of these ways", "--headroom"]);
}

#[test]
fn its_page_has_the_table_of_steps_and_says_which_charts_it_lacks_and_why() {
    let sample = stepped();
    let page = page(&sample).replace('\u{a0}', " ");
    for words in [
        "<span>With the job held by sched-idle, latency is back at once after a step</span>",
        "There is no chart of work gained and latency paid, and none of all work",
        "Not back within 3s: none (+310.0 % in the end).",
        "Steps from 20 % to 90 % of the 2,000/s",
        "Back is what lies no more than 6.2 % above the service alone",
        "/sys/fs/cgroup/cpu has no cpu.idle (Linux 5.15)",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("Hold the job by"), "nothing is recommended");
    for id in ["paid", "total"] {
        assert!(!page.contains(&format!("<section id=\"{id}\"")), "{id}");
    }
    assert!(count(chart(&page, "latency", "wide"), "class=\"pt ") > 0);
    assert_eq!(overlapping(&page), Vec::<String>::new());
    let (_, section) = page.split_once("<section id=\"step\"").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    assert_eq!(
        count(section, "<tr"),
        1 + sample.findings.step.len(),
        "{section}"
    );
    for column in ["back after", "cost", "settled", "worst p99"] {
        assert!(section.contains(column), "{column}: {section}");
    }
    for cell in [">not back<", ">350<", ">at once<", ">cannot tell<"] {
        assert!(section.contains(cell), "{cell}: {section}");
    }
    let without = super::page::page(&super::sample());
    assert!(!without.contains("<section id=\"step\""));
    assert!(!without.contains("There is no chart"));
}

#[test]
fn the_headline_of_a_page_is_the_answer() {
    let mut sample = stepped();
    sample.findings.step.remove(3);
    assert!(
        page(&sample).contains("With the job held by weight, latency is back 350 ms after a step")
    );
    sample.findings.step.remove(2);
    assert!(page(&sample).contains("<span>It cannot be told when latency is back"));
    sample.findings.step.pop();
    let none = page(&sample).replace('\u{a0}', " ");
    assert!(none.contains("<span>Held in none of these ways does the job let latency come back"));
    sample.findings.step.clear();
    assert!(page(&sample).contains("<span>It cannot be told when latency is back"));
}

#[test]
fn its_json_keeps_to_the_schema() {
    let output = stepped().json();
    let wrong: Vec<String> = validator()
        .iter_errors(&output)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let weight = &output["findings"]["step"][2];
    assert_eq!(weight["status"], "after");
    assert_eq!(weight["yield_time_ms"]["value"], 350.0);
    assert_eq!(weight["yield_time_ms"]["high"], serde_json::Value::Null);
    assert_eq!(output["plan"]["step"]["slot_ns"], 50_000_000);
    for (at, wrong) in [
        ("/findings/step/2/status", serde_json::json!("soon")),
        ("/findings/step/2/steps", serde_json::Value::Null),
        ("/findings/step_band_pct", serde_json::json!("6 %")),
        ("/plan/step/low_pct", serde_json::Value::Null),
    ] {
        let mut bad = output.clone();
        *bad.pointer_mut(at).unwrap() = wrong;
        assert!(!validator().is_valid(&bad), "{at}");
    }
}
