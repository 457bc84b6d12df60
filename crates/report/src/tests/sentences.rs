//! What is said of cases that the snapshots do not show, as a file has it.

mod doubts;

use super::sample::{Experiment, Sample, about, copies, found, imported, nothing_valid, sweep};
use super::shown::{has, has_not, is_snapshot, tally};
use crate::chart::Charset;
use crate::{Document, Format, Role};
use plimsoll_model::{
    AllRequests, CapacityFinding, CapacityNote, CapacityStatus, DirectionFinding, DirectionVerdict,
    Estimate, Headroom, InvalidKind, LightBasis, LimitedBy, MissedBy, NeverCarried, NoHeadroom,
    RatedRate, RestartsFinding, RunEnd, TriedAt, Workload,
};

/// Cases by name, each with what is said more than of the sample that was changed, and
/// the beginning of what is no longer said.
#[derive(Default)]
pub(crate) struct Cases(String);

impl Cases {
    pub(crate) fn add<P: Experiment>(
        &mut self,
        name: &str,
        mut sample: Sample<P>,
        change: impl FnOnce(&mut Sample<P>),
    ) {
        let before = sample.with(None, sentences);
        change(&mut sample);
        let after = sample.with(None, sentences);
        let gone = before.iter().filter(|sentence| !after.contains(sentence));
        let beginning = |text: &String| text.split(' ').take(5).collect::<Vec<_>>().join(" ");
        let gone = gone.map(|sentence| format!("- {}", beginning(sentence)));
        let more = after.iter().filter(|sentence| !before.contains(sentence));
        let lines = gone.chain(more.map(|sentence| format!("+ {sentence}")));
        let lines: Vec<String> = lines.collect();
        self.0 += &format!("# {name}\n{}\n\n", lines.join("\n"));
    }

    #[track_caller]
    pub(crate) fn are_as_in(self, name: &str) {
        is_snapshot(name, usize::MAX, &self.0);
    }
}

fn sentences(document: &Document<'_>) -> Vec<String> {
    let roles = [Role::Note, Role::Answer, Role::Doubt].into_iter();
    let sentences = roles.flat_map(|role| document.sentences(role));
    sentences.map(|sentence| sentence.text.clone()).collect()
}

/// A capacity within p99<10ms.
fn p99(low: f64, value: f64, high: f64) -> CapacityFinding {
    CapacityFinding {
        rate_rps: Some(Estimate::within(value, low, high)),
        ..found("p99<10ms", value, Some(76.0))
    }
}

/// A sweep with one goal.
fn with_goal(cases: &mut Cases, name: &str, finding: CapacityFinding) {
    cases.add(name, sweep(), |s| s.findings.capacity = vec![finding]);
}

fn capacities(cases: &mut Cases) {
    for confirmed in [Some(true), Some(false), None] {
        let name = format!("a capacity, confirmed: {confirmed:?}");
        let finding = CapacityFinding {
            confirmed,
            ..p99(12_100.0, 12_345.0, 12_600.0)
        };
        with_goal(cases, &name, finding);
    }
    with_goal(cases, "a wide interval", p99(4_100.0, 5_700.0, 18_000.0));
    with_goal(cases, "an open upper end", p99(8_000.0, 8_000.0, 10_000.0));
    let cliff = CapacityFinding {
        status: CapacityStatus::Cliff,
        confirmed: Some(true),
        ..p99(12_300.0, 12_300.0, 12_450.0)
    };
    with_goal(cases, "a cliff", cliff);
    let not_reached = CapacityFinding {
        status: CapacityStatus::NotReached,
        rate_rps: Some(Estimate {
            high: None,
            ..Estimate::within(9_100.0, 9_100.0, 9_100.0)
        }),
        ..found("p99.9<1s", 9100.0, None)
    };
    with_goal(cases, "a lower bound without CPU use", not_reached);
    let undecided = CapacityFinding {
        status: CapacityStatus::Undecided,
        rate_rps: None,
        note: Some(CapacityNote::NoTrialCounts),
        ..found("cpu<80%", 0.0, Some(50.0))
    };
    with_goal(cases, "nothing valid", undecided);
    for ended in [RunEnd::Complete, RunEnd::Interrupted] {
        let name = format!("no light load, {ended:?}");
        cases.add(&name, nothing_valid(), |s| {
            s.ended = Some(ended);
            s.findings.capacity[0].note = Some(CapacityNote::NoLightLoad {
                lowest_pct: None,
                planned: true,
            });
        });
    }
    let alone = CapacityFinding {
        rate_rps: Some(Estimate::alone(12_345.0)),
        cpu_pct: Some(Estimate::alone(76.0)),
        ..found("p99<10ms", 0.0, None)
    };
    for (name, sample) in [("trials", sweep()), ("rows", imported())] {
        let name = format!("no interval, of {name}");
        cases.add(&name, sample, |s| s.findings.capacity = vec![alone.clone()]);
    }
    let goal = found("cpu<50%", 8_412.0, Some(50.0));
    with_goal(cases, "a goal on CPU use is not followed by more", goal);
}

/// A table is not said to have percentiles or trials.
fn tables(cases: &mut Cases) {
    let at = |rate_rps, kept| TriedAt {
        rate_rps,
        kept,
        of: 2,
    };
    let (low, high) = (at(345_138.0, 2), at(591_411.0, 1));
    let lowest_rps = 49_516.0;
    for (status, note) in [
        (
            CapacityStatus::NotReached,
            CapacityNote::Disagree { low, high },
        ),
        (
            CapacityStatus::Found,
            CapacityNote::NothingBetween { low, high },
        ),
        (
            CapacityStatus::Undecided,
            CapacityNote::MissedAtLowest { lowest_rps },
        ),
        (CapacityStatus::Undecided, CapacityNote::NoTrialCounts),
    ] {
        let finding = CapacityFinding {
            status,
            note: Some(note),
            limit_us: Some(2_010.0),
            ..found("p99<2x", 345_138.0, None)
        };
        let name = format!("a table, {note:?}");
        cases.add(&name, imported(), |s| s.findings.capacity = vec![finding]);
    }
    cases.add("rows near no half of the CPU use", imported(), |sample| {
        let why = NoHeadroom::NoLevelNearHalf;
        sample.findings.headroom = Headroom::Unknown { why };
    });
}

fn limits(cases: &mut Cases) {
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
    with_goal(cases, "a relative limit", relative(None));
    let lax = relative(light(LightBasis::LowestLevel, 50.0));
    with_goal(cases, "a relative limit that is laxer", lax);
    let own = CapacityFinding {
        note: light(LightBasis::LevelsByLoadAlone, 20.0),
        confirmed: Some(true),
        ..found("p99<10ms", 8_000.0, None)
    };
    with_goal(cases, "light load without CPU use", own);
    let noted = relative(light(LightBasis::Calibration, 20.0));
    let absolute = found("p99<10ms", 8_000.0, None);
    for (name, finding) in [
        ("is said", relative(None)),
        ("is said once", noted),
        ("does not matter to an absolute limit", absolute),
    ] {
        let name = format!("light load from the calibration {name}");
        cases.add(&name, sweep(), |sample| {
            let light = sample.findings.light_load.as_mut().unwrap();
            light.basis = LightBasis::Calibration;
            sample.findings.capacity = vec![finding];
        });
    }
}

fn misses(cases: &mut Cases) {
    let missed_by = Some(MissedBy::FellBehind {
        offered_rps: 12_000.0,
        achieved_rps: 9_000.0,
    });
    for status in [CapacityStatus::Found, CapacityStatus::Undecided] {
        let finding = CapacityFinding {
            status,
            missed_by,
            ..found("errors<1%", 9100.0, None)
        };
        with_goal(
            cases,
            &format!("throughput fell behind, {status:?}"),
            finding,
        );
    }
    let (needed, most) = (299_573_225.0, 1_234_567.0);
    for (status, note) in [
        (
            CapacityStatus::Undecided,
            CapacityNote::TooFewRequestsAtLoad { needed, most },
        ),
        (
            CapacityStatus::NotReached,
            CapacityNote::TooFewRequestsAbove { needed, most },
        ),
    ] {
        let finding = CapacityFinding {
            status,
            note: Some(note),
            ..found("p99.999999<1s", 9100.0, None)
        };
        with_goal(cases, &format!("too few requests, {status:?}"), finding);
    }
}

fn changes(cases: &mut Cases) {
    let seen = |missed_pct: f64| AllRequests {
        rate_rps: 12_345.0,
        missed_pct,
        missed: 5,
        of: 44,
        seconds: 249.0,
    };
    let missed = |missed_pct: f64, at_most_pct: f64| CapacityNote::MissedOverall {
        allowed_pct: 1.0,
        at_most_pct,
        seen: seen(missed_pct),
    };
    let found = CapacityFinding {
        all_requests: Some(seen(0.31)),
        ..p99(12_100.0, 12_345.0, 12_600.0)
    };
    with_goal(cases, "a capacity and all requests up to it", found.clone());
    let rare = CapacityFinding {
        note: Some(missed(0.58, 1.13)),
        ..found.clone()
    };
    with_goal(cases, "perhaps missed over time", rare);
    let broken = CapacityFinding {
        status: CapacityStatus::Undecided,
        rate_rps: None,
        cpu_pct: None,
        note: Some(missed(4.13, 7.0)),
        ..found.clone()
    };
    with_goal(cases, "missed over time", broken.clone());
    let equal = CapacityFinding {
        note: Some(missed(1.0004, 2.0)),
        ..broken.clone()
    };
    with_goal(cases, "missed by little", equal);
    let saturated = CapacityFinding {
        status: CapacityStatus::NotReached,
        note: Some(CapacityNote::Saturated {
            saturation_rps: 12_800.0,
        }),
        ..found.clone()
    };
    with_goal(cases, "met at saturation", saturated);
    doubts::each(cases);
}

fn headrooms(cases: &mut Cases) {
    let within = Estimate::within;
    for index in [
        within(0.857, 0.83, 0.89),
        within(0.875, 0.84, 0.91),
        within(0.97, 0.945, 0.99),
        within(1.14, 1.1, 1.18),
        within(0.98, 0.96, 0.99),
        within(1.0, 0.94, 1.03),
        within(1.0, 0.9, 1.1),
        within(0.9, 0.8, 1.01),
        Estimate::alone(0.86),
        Estimate::alone(1.14),
        Estimate::alone(1.0),
    ] {
        let name = |goal| {
            format!(
                "headroom index {:?} in {:?}, {goal}",
                index.value,
                index.interval()
            )
        };
        for (goal, rate) in [
            ("most beyond the goal", 8_412.0),
            ("most within it", 9_100.0),
        ] {
            cases.add(&name(goal), sweep(), |sample| {
                sample.findings.headroom = about(index);
                sample.findings.capacity = vec![found("p99<10ms", rate, Some(76.0))];
            });
        }
    }
    for why in [
        NoHeadroom::NoLevel,
        NoHeadroom::NoValidTrial,
        NoHeadroom::CpuUnreadable,
        NoHeadroom::NotSaturated,
        NoHeadroom::CpuNeverBeyondHalf,
        NoHeadroom::NoLevelNearHalf,
    ] {
        cases.add(&format!("no headroom index, {why:?}"), sweep(), |sample| {
            sample.findings.headroom = Headroom::Unknown { why };
        });
    }
    cases.add("no level below half of the CPU use", sweep(), |sample| {
        let Headroom::Known(index) = &mut sample.findings.headroom else {
            panic!("the sweep has an index");
        };
        index.nearest_cpu_pct = 55.0;
        index.interpolated_ratio = None;
        index.half_rate_rps = None;
        index.extra_over_half_ratio = None;
    });
}

fn thresholds(cases: &mut Cases) {
    for least in [20.0, 30.0, 50.0] {
        cases.add(
            &format!("thresholds from {least} % on"),
            sweep(),
            |sample| {
                let rows = &mut sample.findings.thresholds;
                rows.retain(|row| row.headroom_pct >= least);
            },
        );
    }
    cases.add("no thresholds", sweep(), |s| s.findings.thresholds.clear());
}

fn directions(cases: &mut Cases) {
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
    let restarted = DirectionFinding {
        restarts: Some(RestartsFinding {
            restarts: 4,
            trials: 40,
            between_pct: 12.34,
            within_pct: 5.0,
            between_share: Estimate::within(0.86, 0.41, 0.97),
        }),
        ..different.clone()
    };
    for (name, sample, finding) in [
        ("hysteresis", sweep(), different.clone()),
        ("hysteresis, inconclusive", sweep(), inconclusive),
        ("hysteresis and restarts", sweep(), restarted),
        ("rows of a table have no order", imported(), different),
    ] {
        cases.add(name, sample, |s| s.findings.direction = Some(finding));
    }
}

fn rates(cases: &mut Cases) {
    let limited = |limited_by| RatedRate {
        limited_by_service: false,
        disturbed: limited_by == LimitedBy::OtherLoad,
        limited_by,
        ..sweep().findings.rated.unwrap()
    };
    let disturbed = limited(LimitedBy::OtherLoad);
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
    for (name, rated) in [
        ("is the generator's", limited(LimitedBy::Generator)),
        ("is of the client's CPUs", limited(LimitedBy::ClientCpu)),
        ("is that of connections", limited(LimitedBy::Connections)),
        ("has no limit", limited(LimitedBy::Unknown)),
        ("is disturbed", disturbed),
        ("was given", given),
        ("was given far too high", far_too_high),
    ] {
        let name = format!("the rated rate {name}");
        cases.add(&name, sweep(), |s| s.findings.rated = Some(rated));
    }
    for idle_invalid in [None, Some(InvalidKind::Steal)] {
        let name = format!("no CPU use without load, invalid: {idle_invalid:?}");
        cases.add(&name, sweep(), |sample| {
            sample.findings.idle_cpu_pct = None;
            sample.trials.idle_invalid = idle_invalid;
        });
    }
}

#[test]
fn sentences_are_as_in_the_file() {
    let mut cases = Cases::default();
    capacities(&mut cases);
    tables(&mut cases);
    limits(&mut cases);
    misses(&mut cases);
    changes(&mut cases);
    headrooms(&mut cases);
    thresholds(&mut cases);
    directions(&mut cases);
    rates(&mut cases);
    cases.are_as_in("tests/sentences");
}

#[test]
fn an_overload_beyond_twice_the_capacity_is_not_written_out() {
    for (high, expected) in [(40.2, "below -100 to 40"), (-150.0, "below -100 ")] {
        let mut sample = sweep();
        let left = Estimate::within(-300.0, -730.4, high);
        sample.findings.thresholds[0].linear_headroom_pct = Some(left);
        has(&sample.flat(), &[expected]);
    }
}

#[test]
fn the_title_of_latency_names_a_goal_on_cpu_use() {
    let mut sample = sweep();
    sample.findings.capacity = vec![found("cpu<50%", 8_412.0, Some(50.0))];
    let charts = sample.with_charts(80, Charset::Ascii);
    has(&charts, &["Latency against load; cpu<50% is met up to"]);
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
fn three_counters_that_grow_are_named_at_most() {
    let mut sample = sweep();
    let hint = sample.findings.hints[0].clone();
    sample.findings.hints = vec![hint; 5];
    assert_eq!(sample.flat().matches("Per request,").count(), 3);
}

#[test]
fn without_goals_or_levels_the_report_says_so() {
    let mut sample = sweep();
    sample.findings.capacity.clear();
    sample.findings.levels.clear();
    sample.trials = tally(0, 0);
    let text = sample.flat();
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
    sample.requirements[1].name = bad;
    let outputs = [
        sample.text(100),
        sample.shown(Format::Csv),
        sample.shown(Format::Json),
    ];
    for output in outputs {
        let left = output.replace("\r\n", "").replace('\n', "");
        assert!(!left.contains(plimsoll_model::is_unsafe), "{output:?}");
    }
}

#[test]
fn the_cpu_time_of_the_live_view_is_named_above_1_percent() {
    let drawn = |pct| {
        let mut sample = sweep();
        sample.trials.view_pct = pct;
        sample.flat()
    };
    let words = "Drawing the live view took 1.4 % of one CPU";
    has(&drawn(Some(1.4)), &[words]);
    has_not(&drawn(Some(1.0)), "live view");
    has_not(&drawn(None), "live view");
}
