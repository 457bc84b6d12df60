//! The page and the CSV of a yield run: what is drawn, what is said, and that
//! names from outside stay text.

use super::sample::{
    Sample, all_beyond, crowded, curve, nothing, one_pass, sample, step, undecided,
};
use crate::html::overlapping;
use crate::tests::pages::{HOSTILE, chart, count, is_inert, page, titles};
use crate::tests::shown::is_snapshot;
use plimsoll_model::{
    Arm, ArmFinding, BudgetVerdict, Cause, Estimate, Job, Knee, KneeStatus, LatencyChange, Workload,
};
use proptest::prelude::*;

#[test]
fn the_titles_of_pages_are_as_in_the_file() {
    let with_knee = |status, rise_pct| {
        let mut sample = curve::curve();
        sample.findings.curve[0].knee = Knee {
            status,
            headroom_pct: None,
            rise_pct,
        };
        sample
    };
    let level = with_knee(KneeStatus::None, Some(Estimate::within(1.2, 0.0, 3.0)));
    let stepped = |left: &[usize]| {
        let mut sample = step::stepped();
        let found = sample.findings.step.clone();
        sample.findings.step = left.iter().map(|i| found[*i].clone()).collect();
        sample
    };
    let mut out = String::new();
    for (name, sample) in [
        ("an arm to take", sample()),
        ("all beyond", all_beyond()),
        ("undecided", undecided()),
        ("one pass", one_pass()),
        ("nothing", nothing()),
        ("a curve", curve::curve()),
        ("two curves", curve::two()),
        ("no knee", level),
        ("perhaps a knee", with_knee(KneeStatus::Inconclusive, None)),
        ("steps", stepped(&[0, 1, 2, 3, 4])),
        ("steps, back after a while", stepped(&[0, 1, 2, 4])),
        ("steps, inconclusive", stepped(&[0, 1, 4])),
        ("steps, never back", stepped(&[0, 1])),
        ("no steps", stepped(&[])),
    ] {
        out += &format!("# {name}\n{}\n", titles(&page(&sample)));
    }
    is_snapshot("yields/tests/titles", usize::MAX, &out);
    let nothing = page(&nothing());
    assert!(!nothing.contains("<svg class=\"wide"), "nothing to draw");
}

/// How many arms there are of which something is known.
fn known<T>(sample: &Sample, of: impl Fn(&ArmFinding) -> Option<T>) -> usize {
    let arms = sample.findings.arms.iter();
    arms.filter(|arm| of(arm).is_some()).count()
}

#[test]
fn every_chart_has_all_arms_in_both_sizes_and_no_name_on_another() {
    for sample in [sample(), crowded(), all_beyond(), undecided()] {
        let page = page(&sample);
        let beside = known(&sample, |a| a.latency_change_pct);
        let served = known(&sample, |a| a.latency_us);
        let arms = sample.findings.arms.len();
        for size in ["wide", "narrow"] {
            let paid = chart(&page, "paid", size);
            assert_eq!(count(paid, "class=\"pt "), beside, "{size}");
            assert_eq!(count(paid, "class=\"reach "), 2 * beside, "{size}");
            assert_eq!(count(paid, "class=\"mark-name "), beside, "{size}");
            assert_eq!(count(paid, "class=\"noise\""), 1);
            assert_eq!(count(paid, "class=\"goal budget\""), 1);
            assert!(paid.contains(">budget: p99+5%</text>"));
            let latency = chart(&page, "latency", size);
            assert_eq!(count(latency, "class=\"pt "), 4 * served, "{size}");
            for mark in ["p50", "p95", "p99", "p99.9"] {
                assert!(latency.contains(&format!(">{mark}</text>")), "{mark}");
            }
            let total = chart(&page, "total", size);
            assert_eq!(count(total, "of-service"), served, "{size}");
            assert_eq!(count(total, "of-job"), arms - 1, "{size}: one has none");
            let cause = chart(&page, "cause", size);
            assert_eq!(count(cause, "of-cpu"), served, "{size}");
            assert_eq!(count(cause, "of-wait"), served, "{size}");
            let time = chart(&page, "time", size);
            assert_eq!(
                count(time, "class=\"trial"),
                sample.drawn.trials.len(),
                "{size}"
            );
            for id in ["paid", "latency", "total", "cause", "time"] {
                let chart = chart(&page, id, size);
                assert!(chart.contains("aria-label=\"") && chart.contains("<desc"));
            }
        }
        let order: Vec<usize> = [
            "paid", "latency", "total", "cause", "time", "machine", "method",
        ]
        .iter()
        .map(|id| page.find(&format!("<section id=\"{id}\"")).unwrap())
        .collect();
        assert!(order.is_sorted(), "{order:?}");
        let tables = count(&page, "<details class=\"behind\">");
        assert_eq!(tables, 5, "one each");
        assert_eq!(overlapping(&page), Vec::<String>::new());
    }
    assert_eq!(overlapping(&page(&nothing())), Vec::<String>::new());
}

#[test]
fn the_ships_mark_is_around_the_arm_to_take_alone() {
    let page = page(&sample());
    let paid = chart(&page, "paid", "wide");
    assert_eq!(count(paid, "class=\"load-mark best\""), 1);
    assert!(paid.contains(">sched-idle</text>"));
    assert_eq!(count(paid, "class=\"mark-name best\""), 1);
    let page = self::page(&all_beyond());
    assert_eq!(count(&page, "load-mark best\""), 0);
}

#[test]
fn verdicts_differ_in_shape_as_well_as_in_colour() {
    let page = page(&sample());
    let paid = chart(&page, "paid", "narrow");
    assert_eq!(count(paid, "<circle class=\"pt within\""), 3);
    assert_eq!(count(paid, "<path class=\"pt beyond\""), 1);
    assert_eq!(count(paid, "<rect class=\"pt untold hollow\""), 1);
}

#[test]
fn a_scale_that_bends_says_so() {
    let crowded = page(&crowded());
    assert!(crowded.contains("(logarithmic beyond ±10)"));
    assert!(crowded.contains("at -10 and +10 % equal steps are equal differences"));
    let mut small = sample();
    small.findings.arms.retain(|arm| arm.arm != Arm::None);
    let small = page(&small);
    assert!(!small.contains("logarithmic beyond"), "{}", titles(&small));
}

#[test]
fn what_is_not_known_is_not_drawn() {
    let mut sample = sample();
    sample.findings.noise_floor_pct = None;
    for arm in &mut sample.findings.arms {
        arm.total_work_share = None;
        arm.run_delay_us_per_request = None;
        arm.work_gained_share = arm.work_gained_share.map(|e| Estimate::alone(e.value));
        arm.latency_change_pct = arm.latency_change_pct.map(|c| LatencyChange {
            p99: c.p99.map(|p99| Estimate::alone(p99.value)),
            ..c
        });
    }
    let page = page(&sample);
    let paid = chart(&page, "paid", "wide");
    assert_eq!(count(paid, "class=\"reach"), 0, "no intervals");
    assert_eq!(count(paid, "class=\"noise\""), 0);
    assert_eq!(count(chart(&page, "total", "wide"), "of-service"), 0);
    assert!(page.contains("--rated</span> RATE"));
    assert_eq!(count(chart(&page, "cause", "wide"), "of-wait"), 0);
    assert_eq!(overlapping(&page), Vec::<String>::new());
}

#[test]
fn hostile_names_stay_inert() {
    let mut hostile = sample();
    hostile.plan.sideload.job = Job::Command(format!("echo {HOSTILE}{}", "x".repeat(10_000)));
    HOSTILE.clone_into(&mut hostile.findings.missing_arms[0].reason);
    is_inert(&hostile, &sample());
}

#[test]
fn secrets_of_a_server_are_not_in_the_page() {
    let mut sample = sample();
    sample.plan.load.workload = crate::tests::sample::http();
    let Workload::Http(http) = &mut sample.plan.load.workload else {
        panic!("the sample is of a server");
    };
    http.headers = vec![("Authorization".to_owned(), "Bearer secret-1".to_owned())];
    assert!(!page(&sample).contains("secret-1"));
}

#[test]
fn the_page_of_a_hundred_passes_stays_below_a_megabyte() {
    let mut long = crowded();
    let trials = long.drawn.trials.clone();
    long.drawn.trials = (0..12).flat_map(|_| trials.clone()).collect();
    assert!(long.drawn.trials.len() > 900, "a hundred passes");
    let page = page(&long);
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

/// An arm somewhere in the chart of what is gained and paid.
fn anywhere(which: Arm, gained: f64, change: f64, reach: f64) -> ArmFinding {
    let sample = sample();
    let like = sample.findings.arms.last().unwrap();
    let change = Estimate::within(change, change - reach, change + reach);
    ArmFinding {
        arm: which,
        work_gained_share: Some(Estimate::within(gained, gained * 0.9, gained * 1.1)),
        latency_change_pct: Some(LatencyChange {
            p50: Some(change),
            p95: Some(change),
            p99: Some(change),
            p999: Some(change),
        }),
        verdict: Some(BudgetVerdict::Inconclusive),
        cause: Some(Cause::Both),
        ..like.clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_arm_is_named_once_and_on_nothing(
        places in prop::collection::vec((0.01..1.0f64, -50.0..2_000.0f64, 0.0..90.0f64), 11),
        near in any::<bool>(),
        noise in prop::option::of(0.1..60.0f64),
    ) {
        let mut sample = sample();
        let beside = Arm::ALL.into_iter().filter(|arm| arm.is_beside());
        let arms = beside.zip(&places).map(|(arm, (gained, change, reach))| match near {
            // All within a few pixels.
            true => anywhere(arm, 0.4 + gained / 100.0, change / 1_000.0, *reach / 50.0),
            false => anywhere(arm, *gained, *change, *reach),
        });
        sample.findings.arms.truncate(2);
        sample.findings.arms.extend(arms);
        sample.findings.noise_floor_pct = noise;
        let page = page(&sample);
        prop_assert_eq!(overlapping(&page), Vec::<String>::new());
        for size in ["wide", "narrow"] {
            let paid = chart(&page, "paid", size);
            prop_assert_eq!(count(paid, "class=\"mark-name"), 11, "{}", size);
            prop_assert_eq!(count(paid, ">budget: p99+5%<"), 1, "{}", size);
        }
    }
}
