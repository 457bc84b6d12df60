//! The sentences of cases that the snapshots do not show.

use super::sample::{Experiment, Sample, about, copies, found, imported, sweep};
use super::shown::{has, has_not, tally};
use crate::Format;
use plimsoll_model::{
    CapacityFinding, CapacityNote, CapacityStatus, DirectionFinding, DirectionVerdict, Estimate,
    Headroom, InvalidKind, LightBasis, MissedBy, NeverCarried, NoHeadroom, RestartsFinding, RunEnd,
    Workload,
};

/// The text on one line, so that line breaks do not matter.
fn said<P: Experiment>(sample: &Sample<P>) -> String {
    sample.text(200).replace('\n', " ")
}

fn with_capacity(finding: CapacityFinding) -> String {
    let mut sample = sweep();
    sample.findings.capacity = vec![finding];
    said(&sample)
}

#[test]
fn a_capacity_is_told_with_its_interval_and_whether_it_was_confirmed() {
    let told = "carries 12,350/s (95 % interval 12,100 to 12,600) within the goal p99<10ms (99 % \
                of the requests answered within 10ms)";
    for (confirmed, end) in [
        (
            Some(true),
            "; confirmed by a longer trial at the lower end. ",
        ),
        (
            Some(false),
            ", but a longer trial at the lower end missed it. ",
        ),
        (None, ". At 12,350/s CPU use is 76.0 % (74.1 to 78.0)."),
    ] {
        let text = with_capacity(CapacityFinding {
            rate_rps: Some(Estimate::within(12_345.0, 12_100.0, 12_600.0)),
            confirmed,
            ..found("p99<10ms", 12_345.0, Some(76.0))
        });
        assert!(text.contains(&format!("{told}{end}")), "{text}");
    }
}

#[test]
fn a_cliff_is_told_with_the_loads_on_both_sides() {
    let text = with_capacity(CapacityFinding {
        status: CapacityStatus::Cliff,
        rate_rps: Some(Estimate::within(12_300.0, 12_300.0, 12_450.0)),
        confirmed: Some(true),
        ..found("p99<10ms", 0.0, None)
    });
    has(
        &text,
        &[
            "carries 12,300/s within the goal p99<10ms",
            " and misses it by far at 12,450/s: a cliff; confirmed by a longer trial at that rate.",
        ],
    );
}

#[test]
fn a_capacity_that_lies_somewhere_between_two_levels_is_not_told_as_certain() {
    let text = with_capacity(CapacityFinding {
        rate_rps: Some(Estimate::within(8_000.0, 8_000.0, 10_000.0)),
        ..found("p99<10ms", 0.0, None)
    });
    let expected = "carries 8,000/s, perhaps up to 10,000/s, within the goal";
    has(&text, &[expected]);
    has_not(&text, "95 %");
}

#[test]
fn a_figure_without_an_interval_says_why() {
    let alone = CapacityFinding {
        rate_rps: Some(Estimate::alone(12_345.0)),
        cpu_pct: Some(Estimate::alone(76.0)),
        ..found("p99<10ms", 0.0, None)
    };
    let text = with_capacity(alone.clone());
    has(
        &text,
        &[
            "12,345/s (no interval: the trials near it are too few or too scattered) within",
            "76.0 % (no interval: too few trials).",
        ],
    );
    let mut sample = imported();
    sample.findings.capacity = vec![alone];
    let text = said(&sample);
    has(
        &text,
        &[
            "The machine carries 12,345/s (no interval: the rows near it are too few or too",
            "76.0 % (no interval: too few rows).",
        ],
    );
}

#[test]
fn a_note_is_a_sentence_of_its_own() {
    let text = with_capacity(CapacityFinding {
        note: Some(CapacityNote::Light {
            basis: LightBasis::LevelsByLoadAlone,
            up_to_load_pct: 20.0,
        }),
        confirmed: Some(true),
        ..found("p99<10ms", 8_000.0, None)
    });
    let expected = "lower end. CPU use is not known; levels up to 20 % load stand for light load. ";
    has(&text, &[expected]);
}

#[test]
fn a_capacity_that_was_not_reached_is_only_a_lower_bound() {
    let at_least = Estimate {
        value: 9100.0,
        low: Some(9100.0),
        high: None,
    };
    let text = with_capacity(CapacityFinding {
        status: CapacityStatus::NotReached,
        rate_rps: Some(at_least),
        ..found("p99.9<1s", 9100.0, None)
    });
    has(
        &text,
        &["carries at least 9,100/s within the goal p99.9<1s (99.9 % of"],
    );
    has(&text, &["a lower bound: that was the highest load tried"]);
    has(&text, &["CPU use at that rate is not known:"]);
}

#[test]
fn a_goal_missed_because_throughput_fell_behind_says_so() {
    let missed_by = Some(MissedBy::FellBehind {
        offered_rps: 12_000.0,
        achieved_rps: 9_000.0,
    });
    let why = "Throughput is the limit: of 12,000/s offered, 9,000/s were answered, although what \
               was answered met the goal.";
    for status in [CapacityStatus::Found, CapacityStatus::Undecided] {
        let text = with_capacity(CapacityFinding {
            status,
            missed_by,
            ..found("errors<1%", 9100.0, None)
        });
        has(&text, &[why]);
    }
}

#[test]
fn a_goal_that_too_few_requests_show_says_how_many_do() {
    let text = |status, note| {
        with_capacity(CapacityFinding {
            status,
            note: Some(note),
            ..found("p99.999999<1s", 9100.0, None)
        })
    };
    let (needed, most) = (299_573_225.0, 1_234_567.0);
    let note = CapacityNote::TooFewRequestsAtLoad { needed, most };
    has(
        &text(CapacityStatus::Undecided, note),
        &[
            "inconclusive. This goal takes 3.00e8 requests at a load; the longest at which it was \
             met has 1.23e6. Measure longer (--duration), or choose a lower percentile.",
        ],
    );
    let note = CapacityNote::TooFewRequestsAbove { needed, most };
    has(
        &text(CapacityStatus::NotReached, note),
        &[
            "a lower bound: that was the highest load with enough requests. This goal takes 3.00e8 \
             requests at a load; the higher ones at which it was met have 1.23e6 at most.",
        ],
    );
}

#[test]
fn an_undecided_goal_says_why() {
    let text = with_capacity(CapacityFinding {
        status: CapacityStatus::Undecided,
        rate_rps: None,
        note: Some(CapacityNote::NoTrialCounts),
        ..found("cpu<80%", 0.0, Some(50.0))
    });
    has(
        &text,
        &[
            "goal cpu<80% (CPU use below 80 %): inconclusive. There is no valid trial under load",
            "CPU use at the capacity is not known either.",
        ],
    );
}

#[test]
fn a_relative_goal_tells_the_limit_that_it_came_to() {
    let text = with_capacity(CapacityFinding {
        limit_us: Some(8200.0),
        ..found("p99<2x", 100.0, None)
    });
    has(&text, &["within 8.2ms, 2 times their time at light load"]);
}

#[test]
fn a_limit_taken_at_more_than_light_load_says_so_within_the_promise() {
    let text = with_capacity(CapacityFinding {
        limit_us: Some(8200.0),
        note: Some(CapacityNote::Light {
            basis: LightBasis::LowestLevel,
            up_to_load_pct: 50.0,
        }),
        ..found("p99<2x", 100.0, None)
    });
    has(
        &text,
        &[
            "within 8.2ms, 2 times their time at up to 50 % load",
            "so the limit is laxer",
        ],
    );
}

#[test]
fn what_cpu_use_is_worth_is_said_as_far_as_the_interval_lets_it() {
    let within = Estimate::within;
    for (index, expected) in [
        (within(0.857, 0.83, 0.89), "so plan with less than"),
        (within(0.97, 0.945, 0.99), "so plan with less than"),
        (within(1.14, 1.1, 1.18), "so there is more room"),
        (within(0.98, 0.96, 0.99), "so CPU use is linear in the load"),
        (within(1.0, 0.94, 1.03), "so CPU use is linear in the load"),
        (within(1.0, 0.9, 1.1), "not significantly different from 1"),
        (within(0.9, 0.8, 1.01), "not significantly different from 1"),
        (Estimate::alone(0.86), "which points to less room"),
        (Estimate::alone(1.14), "which points to more room"),
        (Estimate::alone(1.0), "not significantly different from 1"),
    ] {
        let mut sample = sweep();
        sample.findings.headroom = about(index);
        sample.findings.capacity.clear();
        let text = said(&sample);
        assert!(text.contains(expected), "{index:?}: {text}");
    }
}

#[test]
fn room_that_the_goal_does_not_let_be_used_is_not_called_room() {
    for (index, expected) in [
        (
            Estimate::within(1.14, 1.1, 1.18),
            "so there is more capacity",
        ),
        (Estimate::alone(1.14), "which points to more capacity"),
    ] {
        let mut sample = sweep();
        sample.findings.headroom = about(index);
        let text = said(&sample);
        let expected = format!("{expected} than the idle time suggests, but not within the goal");
        assert!(text.contains(&expected), "{index:?}: {text}");

        sample.findings.capacity = vec![found("p99<10ms", 9_100.0, Some(76.0))];
        let text = said(&sample);
        has_not(&text, "not within the goal");
    }
}

#[test]
fn why_cpu_use_cannot_be_judged_is_said_as_it_was_found() {
    for (why, expected) in [
        (NoHeadroom::NoLevel, "no load level was measured."),
        (NoHeadroom::NoValidTrial, "no level has a valid trial."),
        (NoHeadroom::CpuUnreadable, "CPU use could not be read."),
        (NoHeadroom::NotSaturated, "the service was not saturated."),
        (
            NoHeadroom::CpuNeverBeyondHalf,
            "CPU use never exceeded 50 %: something else saturates first",
        ),
        (
            NoHeadroom::NoLevelNearHalf,
            "no level came near 50 % CPU use; ask for one that does with --levels.",
        ),
    ] {
        // The table of this sample tells all: only the reason may speak.
        let mut sample = sweep();
        sample.findings.headroom = Headroom::Unknown { why };
        let expected = format!("The headroom index is not known: {expected}");
        let text = said(&sample);
        assert!(text.contains(&expected), "{why:?}: {text}");
    }
}

#[test]
fn the_figures_of_the_headroom_sentence_agree() {
    let mut sample = sweep();
    sample.findings.headroom = about(Estimate::within(0.875, 0.84, 0.91));
    let text = said(&sample);
    has(
        &text,
        &[
            "about 5,200/s (5,000 to 5,420); linear extrapolation",
            "predicts 10,400/s at 100 %",
            "at any level is 9,100/s (9,039 to 9,170), 75 % (68 to 82) more than at 50 %",
            "index 0.88 (0.84 to 0.91) [by the level nearest to 50 % CPU use, at 47.0 %: 0.86, 0.82 to",
        ],
    );
}

#[test]
fn levels_that_do_not_reach_down_to_half_leave_the_nearest_one() {
    let mut sample = sweep();
    let Headroom::Known(index) = &mut sample.findings.headroom else {
        panic!("the sweep has an index");
    };
    index.nearest_cpu_pct = 55.0;
    index.interpolated_ratio = None;
    index.half_rate_rps = None;
    index.extra_over_half_ratio = None;
    let text = said(&sample);
    has(
        &text,
        &[
            "from the level nearest to 50 % CPU use, at 55.0 %, predicts 10,780/s",
            "headroom index 0.85 (0.82 to 0.87), so plan with less",
        ],
    );
}

#[test]
fn the_thresholds_come_to_one_sentence_on_the_safe_side() {
    let text = said(&sweep());
    let expected = "Scale-out threshold for 20 % headroom below 8,410/s: 58 % CPU use; at 80 % (linear \
                    rule) the load is already 5 % (3 to 8) above that rate.";
    has(&text, &[expected]);
    let mut sample = sweep();
    sample
        .findings
        .thresholds
        .retain(|row| row.headroom_pct >= 30.0);
    let text = said(&sample);
    let expected = "Scale-out threshold for 30 % headroom below 8,410/s: 50 % CPU use; at 70 % (linear \
                    rule) the headroom is 9 % (6 to 11).";
    has(&text, &[expected]);
    sample
        .findings
        .thresholds
        .retain(|row| row.headroom_pct >= 50.0);
    let text = said(&sample);
    has(&text, &["CPU use was not measured near it."]);
    sample.findings.thresholds.clear();
    assert!(!said(&sample).contains("Scale-out"));
}

#[test]
fn what_grows_faster_than_the_load_is_told_three_times_at_most() {
    let mut sample = sweep();
    let text = said(&sample);
    has(
        &text,
        &[
            "Per request, waiting for a CPU rose from 4.25 to 31.0 us between 1,000/s and 9,100/s \
         (slope 0.90, 0.70 to 1.00).",
            "Per request, context switches rose from 1.20 to 3.40 between 1,000/s and 9,100/s (slope \
         0.47, 0.36 to 0.57).",
        ],
    );
    let hint = sample.findings.hints[0].clone();
    sample.findings.hints = vec![hint; 5];
    assert_eq!(said(&sample).matches("Per request,").count(), 3);
}

#[test]
fn the_way_to_a_load_is_told_loudly_only_if_it_matters() {
    let different = DirectionFinding {
        down_over_up_ratio: Some(Estimate::within(1.4, 1.21, 1.63)),
        levels: 5,
        verdict: DirectionVerdict::Different,
        restarts: None,
    };
    for (finding, expected) in [
        (
            different.clone(),
            "p99 after a higher load is 1.40 (1.21 to 1.63) times that after a lower one, over 5",
        ),
        (
            DirectionFinding {
                verdict: DirectionVerdict::Inconclusive,
                levels: 0,
                down_over_up_ratio: None,
                restarts: None,
            },
            "Hysteresis: inconclusive.",
        ),
    ] {
        let mut sample = sweep();
        sample.findings.direction = Some(finding);
        has(&said(&sample), &[expected]);
    }
    let mut sample = imported();
    sample.findings.direction = Some(different);
    let text = said(&sample);
    assert!(!text.contains("Hysteresis"), "rows have no order: {text}");
}

#[test]
fn what_comes_from_restarts_is_told_with_its_interval() {
    let mut sample = sweep();
    let direction = sample.findings.direction.as_mut().unwrap();
    direction.restarts = Some(RestartsFinding {
        restarts: 4,
        trials: 40,
        between_pct: 12.34,
        within_pct: 5.0,
        between_share: Estimate::within(0.86, 0.41, 0.97),
    });
    let expected = "Variance of p99 from restarts: 86 % (41 to 97) (scatter between 4 starts 12.3 %, \
                    between trials of one start 5.00 %).";
    has(&said(&sample), &[expected]);
}

#[test]
fn an_imported_table_shows_one_latency_and_no_generator() {
    let text = imported().text(200);
    let head = text.lines().nth(3).unwrap();
    let names: Vec<&str> = head.split_whitespace().collect();
    assert_eq!(names, ["load", "rate", "CPU", "CPU", "latency", "rows"]);
}

#[test]
fn one_of_a_kind_is_told_in_the_singular() {
    let mut sample = copies();
    let row = &mut sample.findings.copies[0];
    (row.trials, row.invalid_trials) = (0, 1);
    sample.trials = tally(1, 0);
    sample.provenance.topology.online = "0".parse().unwrap();
    let text = said(&sample);
    has(
        &text,
        &[
            "AMD EPYC 9B14, 1 CPU, kvm",
            "No valid trial with 1 copy; its row shows the disturbed one.",
            "The only trial is valid.",
        ],
    );
    let row = &mut sample.findings.copies[1];
    (row.trials, row.invalid_trials) = (0, 2);
    let text = said(&sample);
    let expected = "No valid trial with 4 copies; its row shows the disturbed ones.";
    has(&text, &[expected]);
}

#[test]
fn a_generator_at_its_limit_is_not_sold_as_the_service() {
    let mut sample = sweep();
    let rated = sample.findings.rated.as_mut().unwrap();
    rated.limited_by_service = false;
    let text = said(&sample);
    has(&text, &["the load generator saturated first"]);
    sample.findings.rated.as_mut().unwrap().disturbed = true;
    assert!(said(&sample).contains("no valid trial shows the service saturated"));
    sample.findings.rated.as_mut().unwrap().given = true;
    assert!(said(&sample).contains("100 % load is 10,000/s, as given."));
}

#[test]
fn a_rate_that_was_given_far_too_high_says_so() {
    let mut sample = sweep();
    let rated = sample.findings.rated.as_mut().unwrap();
    rated.given = true;
    rated.never_carried = Some(NeverCarried {
        lowest_offered_rps: 50_000.0,
        most_achieved_rps: 1_000.0,
    });
    let text = said(&sample);
    has(
        &text,
        &["far more than", "50,000/s", "1,000/s", "Leave --rated out"],
    );
}

#[test]
fn a_wide_interval_is_not_to_be_acted_on() {
    let wide = CapacityFinding {
        rate_rps: Some(Estimate::within(5_700.0, 4_100.0, 18_000.0)),
        ..found("p99<10ms", 5_700.0, None)
    };
    let text = with_capacity(wide);
    has(&text, &["The interval is wide: sweep again"]);
    assert!(!with_capacity(found("p99<10ms", 8_000.0, None)).contains("is wide"));
}

#[test]
fn a_load_of_more_than_twice_the_capacity_is_not_written_out() {
    let mut sample = sweep();
    let row = &mut sample.findings.thresholds[0];
    row.linear_headroom_pct = Some(Estimate::within(-300.0, -730.4, 40.2));
    has(&said(&sample), &["below -100 to 40"]);
    sample.findings.thresholds[0].linear_headroom_pct =
        Some(Estimate::within(-300.0, -730.0, -150.0));
    has(&said(&sample), &["below -100 "]);
}

#[test]
fn how_a_run_ended_is_said_unless_it_is_complete() {
    for (ended, expected) in [
        (
            Some(RunEnd::Interrupted),
            "The run was interrupted: the results come from the trials until then. Resume it with: plimsoll sweep --resume run.plimsoll",
        ),
        (
            Some(RunEnd::Failed("the server is gone.".into())),
            "The run failed: the server is gone. ",
        ),
        (
            None,
            "The record has no end: the run was killed or is still running.",
        ),
    ] {
        let mut sample = sweep();
        assert!(!said(&sample).contains(expected));
        sample.ended = ended;
        has(&said(&sample), &[expected]);
    }
}

#[test]
fn without_goals_or_levels_the_report_says_so() {
    let mut sample = sweep();
    sample.findings.capacity.clear();
    sample.findings.levels.clear();
    sample.trials = tally(0, 0);
    let text = said(&sample);
    has(
        &text,
        &[
            "No goal was given",
            "No load level was measured",
            "No trial was made",
        ],
    );
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
    sample.findings.levels[2].invalid_reasons = vec![bad];
    let outputs = [
        sample.text(100),
        sample.shown(Format::Csv),
        sample.shown(Format::Json),
    ];
    for output in outputs {
        let left = output.replace("\r\n", "").replace('\n', "");
        assert!(!left.contains(crate::escape::is_unsafe), "{output:?}");
    }
}

#[test]
fn what_the_live_view_took_is_told_when_it_is_no_trifle() {
    let drawn = |pct| {
        let mut sample = sweep();
        sample.trials.view_pct = Some(pct);
        said(&sample)
    };
    let told = "Drawing the live view took 1.4 % of one CPU";
    assert!(drawn(1.4).contains(told), "{}", drawn(1.4));
    assert!(!drawn(1.0).contains("live view"));
    assert!(!said(&sweep()).contains("live view"));
}

#[test]
fn a_goal_on_cpu_use_is_not_followed_by_a_cpu_use_beyond_it() {
    let mut sample = sweep();
    sample.findings.capacity = vec![found("cpu<50%", 8_412.0, Some(50.0))];
    let text = said(&sample);
    has(&text, &["CPU use reaches what that goal allows"]);
    has_not(&text, "CPU use is 50");
    let charts = sample.with_charts(80, crate::chart::Charset::Ascii);
    let title = "Latency against load; cpu<50% is kept up to";
    has(&charts, &[title]);
}

#[test]
fn a_look_at_the_idle_machine_that_does_not_count_says_why() {
    let mut sample = sweep();
    sample.findings.idle_cpu_pct = None;
    assert!(
        !said(&sample).contains("CPU use without load"),
        "nobody looked"
    );
    sample.trials.idle_invalid = Some(InvalidKind::Steal);
    let text = said(&sample);
    let expected = "without load is not known: the trial without load is invalid, because the \
                    hypervisor took CPU time.";
    has(&text, &[expected]);
}

#[test]
fn light_load_that_comes_from_calibration_is_said_once() {
    let mut sample = sweep();
    let light = sample.findings.light_load.as_mut().unwrap();
    light.basis = LightBasis::Calibration;
    let relative = found("p99<2x", 8_000.0, None);
    sample.findings.capacity = vec![relative.clone()];
    let words = "trials of the calibration up to";
    assert_eq!(said(&sample).matches(words).count(), 1);
    sample.findings.capacity = vec![CapacityFinding {
        note: Some(CapacityNote::Light {
            basis: LightBasis::Calibration,
            up_to_load_pct: 20.0,
        }),
        ..relative
    }];
    assert_eq!(said(&sample).matches(words).count(), 1);
    sample.findings.capacity = vec![found("p99<10ms", 8_000.0, None)];
    assert_eq!(
        said(&sample).matches(words).count(),
        0,
        "no limit hangs on it"
    );
}
