//! How a run whose load steps reads.

use super::sample::step::stepped;
use super::{Sample, schema};
use crate::html::overlapping;
use crate::tests::pages::{chart, count, page, titles};
use crate::tests::shown::has;
use plimsoll_model::{Arm, ArmFinding, KeptUp, StepCourse, StepFinding, StepStatus};

#[test]
fn its_page_has_the_table_of_steps_and_says_which_charts_it_lacks_and_why() {
    let sample = stepped();
    let page = page(&sample);
    has(
        &page,
        &[
            "<span>With sched-idle, latency is back at once after a step</span>",
            "There is no chart of work gained and latency paid, and none of total work",
            "Not back within 3s: none (+310.0 % in the end).",
            "Steps from 20 % to 90 % of the 2,000/s",
            "Back means at most 6.2 % above the service alone",
            "/sys/fs/cgroup/cpu has no cpu.idle (Linux 5.15)",
        ],
    );
    assert!(!page.contains("Use sched-idle"), "nothing is recommended");
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
    has(section, &["back after", "cost", "settled", "worst p99"]);
    has(
        section,
        &[">not back<", ">350<", ">at once<", ">inconclusive<"],
    );
    let without = self::page(&super::sample::sample());
    assert!(!without.contains("<section id=\"step\""));
    assert!(!without.contains("There is no chart"));
}

#[test]
fn its_json_keeps_to_the_schema() {
    let output = stepped().json();
    let weight = &output["findings"]["step"][2];
    assert_eq!(weight["status"], "after");
    assert_eq!(weight["yield_time_ms"]["value"], 350.0);
    assert_eq!(weight["yield_time_ms"]["high"], serde_json::Value::Null);
    assert_eq!(output["plan"]["step"]["slot_ns"], 50_000_000);
    let wrong = [
        ("/findings/step/2/status", serde_json::json!("soon")),
        ("/findings/step/2/steps", serde_json::json!(null)),
        ("/findings/step_band_pct", serde_json::json!("6 %")),
        ("/plan/step/low_pct", serde_json::json!(null)),
    ];
    schema().refuses(&output, &wrong);
}

#[test]
fn the_chart_of_slots_has_a_panel_per_arm_and_marks_when_latency_is_back() {
    let sample = stepped();
    let page = page(&sample);
    let arms = sample.drawn.steps.len();
    assert_eq!(arms, 4);
    for size in ["wide", "narrow"] {
        let slots = chart(&page, "slots", size);
        assert_eq!(count(slots, "class=\"line course "), arms, "{size}");
        assert_eq!(count(slots, "class=\"line alone "), arms, "{size}");
        // One arm is back at once, one later; the others have no such moment.
        assert_eq!(count(slots, "class=\"knee back within\""), 2, "{size}");
        for (which, name) in [(0, "none"), (1, "weight"), (2, "sched-idle"), (3, "nice")] {
            assert_eq!(count(slots, &format!(">{name}</text>")), 1, "{name}");
            let path = slots.split("class=\"line course ").nth(which + 1).unwrap();
            let (path, _) = path.split_once("/>").unwrap();
            let points = count(path, "L") + count(path, "M");
            assert_eq!(
                points,
                sample.drawn.steps[which].slots.len(),
                "{name} {size}"
            );
        }
        let late = sample.drawn.steps.iter().flat_map(|course| &course.slots);
        let late = late.filter(|slot| slot.is_late == Some(true)).count();
        assert_eq!(count(slots, "class=\"speck late\""), late, "{size}");
        let said = match size {
            "wide" => ">back after 350 ms (250 or more)<",
            _ => ">back after 350 ms<",
        };
        has(slots, &[said]);
        assert!(slots.contains("aria-label=\"") && slots.contains("<desc"));
    }
    let title = "<h2>After a step latency is back at once with sched-idle, after 350 ms with \
                 weight, not within 3s with none; with nice it is inconclusive</h2>";
    assert!(page.contains(title), "{}", titles(&page));
    assert_eq!(overlapping(&page), Vec::<String>::new());
    let mut unwatched = stepped();
    unwatched.drawn.steps.clear();
    assert!(!self::page(&unwatched).contains("<section id=\"slots\""));
}

#[test]
fn many_arms_have_a_panel_each() {
    let mut sample = stepped();
    sample.findings.step[2].status = Some(StepStatus::AtOnce);
    let (course, found) = (
        sample.drawn.steps[1].clone(),
        sample.findings.step[2].clone(),
    );
    let arm = sample.findings.arms[1].clone();
    for which in [Arm::CpuIdle, Arm::Quota100ms, Arm::CpuSet, Arm::Resctl] {
        sample.drawn.steps.push(StepCourse {
            arm: which,
            ..course.clone()
        });
        sample.findings.step.push(StepFinding {
            arm: which,
            ..found.clone()
        });
        sample.findings.arms.push(ArmFinding {
            arm: which,
            ..arm.clone()
        });
    }
    let page = page(&sample);
    assert!(page.contains("at once with 6 arms"), "{}", titles(&page));
    assert_eq!(overlapping(&page), Vec::<String>::new());
}

#[test]
fn a_moment_that_may_lie_later_says_so() {
    let mut sample = stepped();
    let moment = |sample: &Sample| chart(&page(sample), "slots", "wide").to_owned();
    assert!(moment(&sample).contains(">back at once</text>"));
    let time = sample.findings.step[3].yield_time_ms.as_mut().unwrap();
    time.high = Some(1_300.0);
    assert!(moment(&sample).contains(">back at once (1,300 ms at most)</text>"));
}

#[test]
fn a_service_that_did_not_keep_up_alone_is_the_headline() {
    let mut sample = stepped();
    for how in [KeptUp::FellBehind, KeptUp::KeptGrowing] {
        sample.findings.step_alone = Some(how);
        let headline = "<span>The service alone did not keep up after the step</span>";
        assert!(page(&sample).contains(headline));
        schema().accepts(&sample.json());
    }
}
