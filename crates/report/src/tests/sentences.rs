//! The sentences of cases that the snapshots do not show.

use super::sample::{Sample, copies, found, sweep, told};
use plimsoll_model::{
    CapacityFinding, CapacityStatus, Headroom, NoHeadroom, Rate, RunEnd, Verdict, Workload,
};

/// The text on one line, so that line breaks do not matter.
fn said(sample: &Sample) -> String {
    sample.text(200).replace('\n', " ")
}

fn with_capacity(finding: CapacityFinding) -> String {
    let mut sample = sweep();
    sample.findings.capacity = vec![finding];
    said(&sample)
}

#[test]
fn a_capacity_that_was_not_reached_is_only_a_lower_bound() {
    let text = with_capacity(CapacityFinding {
        status: CapacityStatus::NotReached,
        ..found("p99.9<1s", 9100.0, None)
    });
    assert!(
        text.contains("carries at least 9,100/s within the goal p99.9<1s (99.9 % of"),
        "{text}"
    );
    assert!(
        text.contains("how much more it carries is not known"),
        "{text}"
    );
    assert!(
        text.contains("CPU use at that rate is not known."),
        "{text}"
    );
}

#[test]
fn a_goal_that_no_load_keeps_has_no_rate() {
    let text = with_capacity(CapacityFinding {
        status: CapacityStatus::BelowLowest,
        rate_rps: None,
        cpu_pct: None,
        ..found("p50<1us", 0.0, None)
    });
    assert!(
        text.contains("keeps the goal p50<1us (half of the requests"),
        "{text}"
    );
    assert!(text.contains("at no load that was tried"), "{text}");
    assert!(text.contains("at the lowest, 1,000/s."), "{text}");
    assert!(
        text.contains("Without such a rate there is no CPU use"),
        "{text}"
    );
}

#[test]
fn an_undecided_goal_says_why() {
    let text = with_capacity(CapacityFinding {
        status: CapacityStatus::Undecided,
        rate_rps: None,
        note: Some("no level has a valid trial".to_owned()),
        ..found("cpu<80%", 0.0, Some(50.0))
    });
    assert!(
        text.contains("goal cpu<80% (CPU use below 80 %) cannot be told (no level has a valid"),
        "{text}"
    );
}

#[test]
fn a_relative_goal_tells_the_limit_that_it_came_to() {
    let text = with_capacity(CapacityFinding {
        limit_us: Some(8200.0),
        ..found("p99<2x", 100.0, None)
    });
    assert!(
        text.contains("within 8.2ms, 2 times their time at light load"),
        "{text}"
    );
}

#[test]
fn what_cpu_use_is_worth_is_said_either_way() {
    for (index, expected) in [
        (0.857, "(headroom index 0.86), so plan with less than"),
        (
            1.0,
            "(headroom index 1.00), so here CPU use tells the truth",
        ),
        (1.14, "(headroom index 1.14), so there is more room"),
    ] {
        let mut sample = sweep();
        sample.findings.headroom = told(index);
        let text = said(&sample);
        assert!(text.contains(expected), "{index}: {text}");
    }
}

#[test]
fn why_cpu_use_cannot_be_judged_is_said_as_it_was_found() {
    for (why, expected) in [
        (NoHeadroom::NoLevel, "no load level was measured."),
        (
            NoHeadroom::NoValidTrial,
            "no level has a trial that counts.",
        ),
        (NoHeadroom::CpuUnreadable, "CPU use could not be read."),
        (
            NoHeadroom::NotSaturated,
            "the service was not driven to its end.",
        ),
        (
            NoHeadroom::CpuNeverBeyondHalf,
            "CPU use never got beyond 50 %: something else is at its end first",
        ),
        (
            NoHeadroom::NoLevelNearHalf,
            "no level came near 50 % CPU use; ask for one that does with --levels.",
        ),
    ] {
        // The table of this sample tells all: only the reason may speak.
        let mut sample = sweep();
        sample.findings.headroom = Headroom::Unknown { why };
        let expected = format!("How far CPU use tells the truth here is not known: {expected}");
        let text = said(&sample);
        assert!(text.contains(&expected), "{why:?}: {text}");
    }
}

#[test]
fn the_three_figures_of_the_headroom_sentence_agree() {
    let mut sample = sweep();
    sample.findings.headroom = told(0.875);
    let text = said(&sample);
    assert!(text.contains("about 5,200/s; if"), "{text}");
    assert!(text.contains("would carry 10,400/s at 100 %"), "{text}");
    assert!(text.contains("at any level is 9,100/s"), "{text}");
}

#[test]
fn one_of_a_kind_is_told_in_the_singular() {
    let mut sample = copies();
    let row = &mut sample.findings.copies[0];
    (row.trials, row.invalid_trials) = (0, 1);
    sample.trials = crate::TrialTally::default();
    sample.trials.add(&Verdict::Valid);
    sample.provenance.topology.online = "0".parse().unwrap();
    let text = said(&sample);
    for expected in [
        "AMD EPYC 9B14, 1 CPU, kvm",
        "No trial with 1 copy counts; its row shows the disturbed one.",
        "The only trial counts.",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let row = &mut sample.findings.copies[1];
    (row.trials, row.invalid_trials) = (0, 2);
    let text = said(&sample);
    let expected = "No trial with 4 copies counts; its row shows the disturbed ones.";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_generator_at_its_limit_is_not_sold_as_the_service() {
    let mut sample = sweep();
    let rated = sample.findings.rated.as_mut().unwrap();
    rated.limited_by_service = false;
    let text = said(&sample);
    assert!(
        text.contains("the load generator reached, not the service"),
        "{text}"
    );
    sample.plan.calibration.rated = Rate::per_second(10_000.0);
    assert!(said(&sample).contains("100 % load is 10,000/s, as was given."));
}

#[test]
fn how_a_run_ended_is_said_unless_it_is_complete() {
    for (ended, expected) in [
        (
            Some(RunEnd::Interrupted),
            "The run was stopped before its plan was done",
        ),
        (
            Some(RunEnd::Failed("the server is gone.".into())),
            "The run failed: the server is gone. ",
        ),
        (None, "it was killed, or still goes on"),
    ] {
        let mut sample = sweep();
        assert!(!said(&sample).contains(expected));
        sample.ended = ended;
        assert!(said(&sample).contains(expected), "{}", said(&sample));
    }
}

#[test]
fn without_goals_or_levels_the_report_says_so() {
    let mut sample = sweep();
    sample.findings.capacity.clear();
    sample.findings.levels.clear();
    sample.trials = crate::TrialTally::default();
    let text = said(&sample);
    for expected in [
        "No goal was given",
        "No load level was measured",
        "No trial was made",
    ] {
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn nothing_from_outside_reaches_the_terminal_as_it_is() {
    let bad = "a\u{1b}[2J\u{9b}\u{202e}\nb".to_owned();
    let mut sample = sweep();
    if let Workload::Http(http) = &mut sample.plan.workload {
        http.url.clone_from(&bad);
    }
    sample.provenance.hostname = Some(bad.clone());
    sample.provenance.kernel = Some(bad.clone());
    sample.requirements[1].name.clone_from(&bad);
    sample.findings.capacity[0].note = Some(bad.clone());
    sample.findings.levels[2].invalid_reasons = vec![bad];
    let outputs = [
        sample.text(100),
        crate::csv(&sample.report()),
        crate::json(&sample.report()).unwrap(),
    ];
    for output in outputs {
        let left = output.replace("\r\n", "").replace('\n', "");
        assert!(!left.contains(crate::escape::is_unsafe), "{output:?}");
    }
}
