//! The sentences of cases that the snapshots do not show.

use super::sample::{Sample, about, copies, found, imported, sweep};
use super::shown::{has, has_not, tally};
use crate::Format;
use crate::chart::Charset;
use plimsoll_model::{
    CapacityFinding, CapacityNote, CapacityStatus, DirectionFinding, DirectionVerdict, Estimate,
    Headroom, InvalidKind, LightBasis, MissedBy, NeverCarried, NoHeadroom, RatedRate,
    RestartsFinding, TriedAt, Workload,
};

/// What is said of a sample that was changed.
fn said_of(mut sample: Sample, change: impl FnOnce(&mut Sample)) -> String {
    change(&mut sample);
    sample.flat()
}

fn with_capacity(finding: CapacityFinding) -> String {
    said_of(sweep(), |sample| sample.findings.capacity = vec![finding])
}

/// A capacity within p99<10ms.
fn p99(low: f64, value: f64, high: f64) -> CapacityFinding {
    CapacityFinding {
        rate_rps: Some(Estimate::within(value, low, high)),
        ..found("p99<10ms", value, Some(76.0))
    }
}

#[test]
fn a_capacity_has_its_interval_and_whether_it_was_confirmed() {
    let told = "carries 12,350/s (95 % interval 12,100 to 12,600) within the goal p99<10ms (99 % of \
                the requests answered within 10ms)";
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
            confirmed,
            ..p99(12_100.0, 12_345.0, 12_600.0)
        });
        has(&text, &[&format!("{told}{end}")]);
        has_not(&text, "is wide");
    }
    let wide = with_capacity(p99(4_100.0, 5_700.0, 18_000.0));
    has(&wide, &["The interval is wide: sweep again"]);
    let between = with_capacity(p99(8_000.0, 8_000.0, 10_000.0));
    has(
        &between,
        &["carries 8,000/s, perhaps up to 10,000/s, within the goal"],
    );
    has_not(&between, "95 %");
}

#[test]
fn a_capacity_without_an_interval_says_what_it_is_instead() {
    let cliff = CapacityFinding {
        status: CapacityStatus::Cliff,
        confirmed: Some(true),
        ..p99(12_300.0, 12_300.0, 12_450.0)
    };
    let at_least = Estimate {
        high: None,
        ..Estimate::within(9_100.0, 9_100.0, 9_100.0)
    };
    let not_reached = CapacityFinding {
        status: CapacityStatus::NotReached,
        rate_rps: Some(at_least),
        ..found("p99.9<1s", 9100.0, None)
    };
    let undecided = CapacityFinding {
        status: CapacityStatus::Undecided,
        rate_rps: None,
        note: Some(CapacityNote::NoTrialCounts),
        ..found("cpu<80%", 0.0, Some(50.0))
    };
    for (finding, words) in [
        (
            cliff,
            &[
                "carries 12,300/s within the goal p99<10ms",
                " and misses it by far at 12,450/s: a cliff; confirmed by a longer trial at that rate.",
            ][..],
        ),
        (
            not_reached,
            &[
                "carries at least 9,100/s within the goal p99.9<1s (99.9 % of",
                "a lower bound: that was the highest load with valid trials",
                "CPU use at that rate is not known:",
            ],
        ),
        (
            undecided,
            &[
                "goal cpu<80% (CPU use below 80 %): inconclusive. There is no valid trial under load",
                "CPU use at the capacity is not known either.",
            ],
        ),
    ] {
        has(&with_capacity(finding), words);
    }
}

#[test]
fn a_figure_without_an_interval_says_why() {
    let alone = CapacityFinding {
        rate_rps: Some(Estimate::alone(12_345.0)),
        cpu_pct: Some(Estimate::alone(76.0)),
        ..found("p99<10ms", 0.0, None)
    };
    for (sample, who, trials) in [
        (sweep(), "The service", "trials"),
        (imported(), "The machine", "rows"),
    ] {
        let text = said_of(sample, |s| s.findings.capacity = vec![alone.clone()]);
        let rate = format!(
            "{who} carries 12,345/s (no interval: the {trials} near it are too few or too scattered)"
        );
        let cpu = format!("76.0 % (no interval: too few {trials}).");
        has(&text, &[&rate, &cpu]);
    }
}

#[test]
fn a_table_is_not_said_to_have_percentiles_or_trials() {
    let finding = |status, note| CapacityFinding {
        status,
        note: Some(note),
        limit_us: Some(2_010.0),
        ..found("p99<2x", 345_138.0, None)
    };
    let at = |rate_rps, kept| TriedAt {
        rate_rps,
        kept,
        of: 2,
    };
    let (low, high) = (at(345_138.0, 2), at(591_411.0, 1));
    let lowest_rps = 49_516.0;
    for (status, note, words) in [
        (
            CapacityStatus::NotReached,
            CapacityNote::Disagree { low, high },
            "within the goal p99<2x (latency below 2.01ms, 2 times that at light load), a lower \
             bound: that was the end of the table. Rows at the same load disagree: the goal was",
        ),
        (
            CapacityStatus::Found,
            CapacityNote::NothingBetween { low, high },
            "Met 2 of 2 times at 345,138/s and 1 of 2 times at 591,411/s; no rows between. CPU use at \
             that rate is not known: no row near it has it.",
        ),
        (
            CapacityStatus::Undecided,
            CapacityNote::MissedAtLowest { lowest_rps },
            "inconclusive. Missed already at 49,516/s, the lowest rate of the table.",
        ),
        (
            CapacityStatus::Undecided,
            CapacityNote::NoTrialCounts,
            "inconclusive. There is no row under load.",
        ),
    ] {
        let text = said_of(imported(), |sample| {
            sample.findings.capacity = vec![finding(status, note)];
        });
        has(&text, &[words]);
        has_not(&text, "trial");
        has_not(&text, "of the requests");
    }
}

#[test]
fn a_limit_relative_to_light_load_says_what_it_came_to_and_what_light_load_was() {
    let relative = |note| CapacityFinding {
        limit_us: Some(8200.0),
        note,
        ..found("p99<2x", 100.0, None)
    };
    let light = |basis, up_to_load_pct| {
        Some(CapacityNote::Light {
            basis,
            up_to_load_pct,
        })
    };
    let own = CapacityFinding {
        note: light(LightBasis::LevelsByLoadAlone, 20.0),
        confirmed: Some(true),
        ..found("p99<10ms", 8_000.0, None)
    };
    for (finding, words) in [
        (
            relative(None),
            vec!["within 8.2ms, 2 times their time at light load"],
        ),
        (
            relative(light(LightBasis::LowestLevel, 50.0)),
            vec![
                "within 8.2ms, 2 times their time at up to 50 % load",
                "so the limit is laxer",
            ],
        ),
        (
            own,
            vec!["lower end. CPU use is not known; levels up to 20 % load stand for light load. "],
        ),
    ] {
        has(&with_capacity(finding), &words);
    }
    let words = "trials of the calibration up to";
    let from_calibration = |finding| {
        let text = said_of(sweep(), |sample| {
            let light = sample.findings.light_load.as_mut().unwrap();
            light.basis = LightBasis::Calibration;
            sample.findings.capacity = vec![finding];
        });
        text.matches(words).count()
    };
    let noted = relative(light(LightBasis::Calibration, 20.0));
    assert_eq!(from_calibration(relative(None)), 1);
    assert_eq!(from_calibration(noted), 1, "once");
    let absolute = found("p99<10ms", 8_000.0, None);
    assert_eq!(from_calibration(absolute), 0, "no limit depends on it");
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
        let text = sample.flat();
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
        let text = sample.flat();
        let expected = format!("{expected} than the idle time suggests, but not within the goal");
        assert!(text.contains(&expected), "{index:?}: {text}");

        sample.findings.capacity = vec![found("p99<10ms", 9_100.0, Some(76.0))];
        let text = sample.flat();
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
        // The table of this sample has all: only the reason matters.
        let mut sample = sweep();
        sample.findings.headroom = Headroom::Unknown { why };
        let expected = format!("The headroom index is not known: {expected}");
        let text = sample.flat();
        assert!(text.contains(&expected), "{why:?}: {text}");
    }
}

#[test]
fn the_figures_of_the_headroom_sentence_agree() {
    let text = said_of(sweep(), |sample| {
        sample.findings.headroom = about(Estimate::within(0.875, 0.84, 0.91));
    });
    has(
        &text,
        &[
            "about 5,200/s (5,000 to 5,420); linear extrapolation",
            "predicts 10,400/s at 100 %",
            "at any level is 9,100/s (9,039 to 9,170), 75 % (68 to 82) more than at 50 %",
            "index 0.88 (0.84 to 0.91) [by the level nearest to 50 % CPU use, at 47.0 %: 0.86, 0.82 to",
        ],
    );
    // Levels that do not reach down to half leave the nearest one.
    let text = said_of(sweep(), |sample| {
        let Headroom::Known(index) = &mut sample.findings.headroom else {
            panic!("the sweep has an index");
        };
        index.nearest_cpu_pct = 55.0;
        index.interpolated_ratio = None;
        index.half_rate_rps = None;
        index.extra_over_half_ratio = None;
    });
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
    for (least, expected) in [
        (
            20.0,
            "Scale-out threshold for 20 % headroom below 8,410/s: 58.3 % CPU use; at 80 % (linear rule) \
             the load is already 5 % (3 to 8) above that rate.",
        ),
        (
            30.0,
            "Scale-out threshold for 30 % headroom below 8,410/s: 50.4 % CPU use; at 70 % (linear rule) \
             the headroom is 9 % (6 to 11).",
        ),
        (50.0, "CPU use was not measured near it."),
    ] {
        let text = said_of(sweep(), |sample| {
            let rows = &mut sample.findings.thresholds;
            rows.retain(|row| row.headroom_pct >= least);
        });
        assert!(text.contains(expected), "{least}: {text}");
    }
    let none = said_of(sweep(), |sample| sample.findings.thresholds.clear());
    has_not(&none, "Scale-out");
    // A load of more than twice the capacity is not written out.
    for (high, expected) in [(40.2, "below -100 to 40"), (-150.0, "below -100 ")] {
        let text = said_of(sweep(), |sample| {
            let left = Estimate::within(-300.0, -730.4, high);
            sample.findings.thresholds[0].linear_headroom_pct = Some(left);
        });
        has(&text, &[expected]);
    }
}

#[test]
fn three_counters_that_grow_are_named_at_most() {
    let text = said_of(sweep(), |sample| {
        let hint = sample.findings.hints[0].clone();
        sample.findings.hints = vec![hint; 5];
    });
    assert_eq!(text.matches("Per request,").count(), 3);
}

#[test]
fn hysteresis_and_restarts_have_their_intervals() {
    let different = DirectionFinding {
        down_over_up_ratio: Some(Estimate::within(1.4, 1.21, 1.63)),
        levels: 5,
        verdict: DirectionVerdict::Different,
        restarts: None,
    };
    let inconclusive = DirectionFinding {
        verdict: DirectionVerdict::Inconclusive,
        down_over_up_ratio: None,
        ..different.clone()
    };
    let restarts = RestartsFinding {
        restarts: 4,
        trials: 40,
        between_pct: 12.34,
        within_pct: 5.0,
        between_share: Estimate::within(0.86, 0.41, 0.97),
    };
    let restarted = DirectionFinding {
        restarts: Some(restarts),
        ..different.clone()
    };
    for (finding, expected) in [
        (
            different.clone(),
            "p99 after a higher load is 1.40 (1.21 to 1.63) times that after a lower one, over 5",
        ),
        (inconclusive, "Hysteresis: inconclusive."),
        (
            restarted,
            "Variance of p99 from restarts: 86 % (41 to 97) (scatter between 4 starts 12.3 %, between \
             trials of one start 5.00 %).",
        ),
    ] {
        let text = said_of(sweep(), |sample| sample.findings.direction = Some(finding));
        has(&text, &[expected]);
    }
    let text = said_of(imported(), |s| s.findings.direction = Some(different));
    assert!(!text.contains("Hysteresis"), "rows have no order: {text}");
}

#[test]
fn one_of_a_kind_is_in_the_singular() {
    let mut sample = copies();
    let row = &mut sample.findings.copies[0];
    (row.trials, row.invalid_trials) = (0, 1);
    sample.trials = tally(1, 0);
    sample.provenance.topology.online = "0".parse().unwrap();
    has(
        &sample.flat(),
        &[
            "AMD EPYC 9B14, 1 CPU, kvm",
            "No valid trial with 1 copy; its row shows the disturbed one.",
            "The only trial is valid.",
        ],
    );
    let row = &mut sample.findings.copies[1];
    (row.trials, row.invalid_trials) = (0, 2);
    let expected = "No valid trial with 4 copies; its row shows the disturbed ones.";
    has(&sample.flat(), &[expected]);
}

#[test]
fn the_rated_rate_says_what_it_is() {
    let sample = sweep();
    let rated = sample.findings.rated.unwrap();
    let bound = RatedRate {
        limited_by_service: false,
        ..rated.clone()
    };
    let disturbed = RatedRate {
        disturbed: true,
        ..bound.clone()
    };
    let given = RatedRate {
        given: true,
        ..disturbed.clone()
    };
    let far_too_high = RatedRate {
        never_carried: Some(NeverCarried {
            lowest_offered_rps: 50_000.0,
            most_achieved_rps: 1_000.0,
        }),
        ..given.clone()
    };
    let far = ["far more than", "50,000/s", "1,000/s", "Leave --rated out"];
    for (rated, words) in [
        (bound, &["the load generator saturated first"][..]),
        (disturbed, &["no valid trial shows the service saturated"]),
        (given, &["100 % load is 10,000/s, as given."]),
        (far_too_high, &far),
    ] {
        let text = said_of(sweep(), |sample| sample.findings.rated = Some(rated));
        has(&text, words);
    }
}

#[test]
fn without_goals_or_levels_the_report_says_so() {
    let text = said_of(sweep(), |sample| {
        sample.findings.capacity.clear();
        sample.findings.levels.clear();
        sample.trials = tally(0, 0);
    });
    let words = [
        "No goal was given",
        "No load level was measured",
        "No trial was made",
    ];
    has(&text, &words);
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
fn the_cpu_time_of_the_live_view_is_named_above_1_percent() {
    let drawn = |pct| said_of(sweep(), |sample| sample.trials.view_pct = pct);
    has(
        &drawn(Some(1.4)),
        &["Drawing the live view took 1.4 % of one CPU"],
    );
    has_not(&drawn(Some(1.0)), "live view");
    has_not(&drawn(None), "live view");
}

#[test]
fn a_goal_on_cpu_use_is_not_followed_by_a_cpu_use_beyond_it() {
    let mut sample = sweep();
    sample.findings.capacity = vec![found("cpu<50%", 8_412.0, Some(50.0))];
    let text = sample.flat();
    has(&text, &["CPU use reaches what that goal allows"]);
    has_not(&text, "CPU use is 50");
    let charts = sample.with_charts(80, Charset::Ascii);
    has(&charts, &["Latency against load; cpu<50% is met up to"]);
}

#[test]
fn an_invalid_trial_without_load_says_why() {
    let unknown = |invalid| {
        said_of(sweep(), |sample| {
            sample.findings.idle_cpu_pct = None;
            sample.trials.idle_invalid = invalid;
        })
    };
    has_not(&unknown(None), "CPU use without load");
    let expected = "without load is not known: the trial without load is invalid, because the \
                    hypervisor took CPU time.";
    has(&unknown(Some(InvalidKind::Steal)), &[expected]);
}
