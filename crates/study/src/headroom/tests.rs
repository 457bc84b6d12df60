use super::*;
use crate::curve::CurveTrial;
use crate::curve::tests::{GRAVITON_3, INTEL_SMT, Machine, published, trials_of};
use crate::levels::levels;
use crate::seeded::Rng;
use crate::testing::{plan, trial_at};
use plimsoll_model::{Estimate, Share, Trial, Verdict};

fn of_table(rows: &[(f64, f64)]) -> HeadroomIndex {
    let curve = Curve::of(&published(rows), 1).unwrap();
    index(&curve, true).unwrap()
}

#[test]
fn the_published_tables_give_the_published_figures() {
    // Table, H nearest, H interpolated, expected at full use, extra.
    let expected = [
        (&GRAVITON_3, 1.14, 1.157, 644_507.0, 1.31),
        (&INTEL_SMT, 0.857, 0.857, 690_276.0, 0.71),
    ];
    for (rows, nearest, interpolated, promised, extra) in expected {
        let found = of_table(rows);
        let near = |estimate: Estimate, expected: f64, by: f64| {
            assert!(
                (estimate.value - expected).abs() <= by,
                "{estimate:?} {expected}"
            );
            assert_eq!(estimate.interval(), None, "single rows allow none");
        };
        near(found.nearest_level_ratio, nearest, 0.005);
        near(found.interpolated_ratio.unwrap(), interpolated, 0.0005);
        near(found.linear_expectation_rps, promised, 0.5);
        near(found.extra_over_half_ratio.unwrap(), extra, 0.005);
    }
}

#[test]
fn intervals_hold_the_truth_as_often_as_stated() {
    for machine in [Machine::smt(), Machine::rising()] {
        for (passes, noise) in [(2, 0.03), (4, 0.02)] {
            let machine = Machine { noise, ..machine };
            let truth = machine.most_rps() / (2.0 * machine.rate_rps(50.0));
            let (mut hits, mut width) = (0, 0.0);
            for seed in 0..100 {
                let curve = Curve::of(&trials_of(&machine, passes, seed), seed).unwrap();
                let found = index(&curve, true).unwrap().interpolated_ratio.unwrap();
                let (low, high) = found.interval().unwrap();
                hits += u32::from(found.holds(truth));
                width += (high - low) / 100.0;
            }
            assert!(hits >= 90, "{hits} of 100 with {passes} passes");
            assert!(
                width < 8.0 * noise * truth,
                "an interval this wide tells nothing: {width}"
            );
        }
    }
}

/// CPU time per request up by up to 30 % in one trial in ten.
fn disturbed(mut trials: Vec<CurveTrial>, seed: u64) -> Vec<CurveTrial> {
    let mut rng = Rng::seeded(seed ^ 0xd1);
    for trial in &mut trials {
        let dearer = 1.0 + 0.3 * rng.unit();
        if rng.below(10) > 0 {
            continue;
        }
        if trial.achieved < trial.intended {
            trial.achieved = trial.achieved.times(1.0 / dearer);
        } else {
            trial.cpu = Share::new((trial.cpu.get() * dearer).min(1.0)).unwrap();
        }
    }
    trials
}

#[test]
fn with_one_trial_in_ten_disturbed_intervals_still_hold_the_truth() {
    let machine = Machine::smt();
    let truth = machine.most_rps() / (2.0 * machine.rate_rps(50.0));
    let covers = |seed: &u64| {
        let trials = disturbed(trials_of(&machine, 4, *seed), *seed);
        let found = index(&Curve::of(&trials, *seed).unwrap(), true).unwrap();
        found.interpolated_ratio.unwrap().holds(truth)
    };
    let hits = (0..100).filter(covers).count();
    assert!(hits >= 85, "{hits} of 100");
}

#[test]
fn there_is_no_index_without_a_middle_or_a_top() {
    let of = |rows: &[(f64, f64)], limited| {
        index(&Curve::of(&published(rows), 1).unwrap(), limited).unwrap_err()
    };
    let (no_middle, to_its_end) = ([(100.0, 10.0), (1000.0, 90.0)], true);
    assert_eq!(of(&no_middle, to_its_end), NoHeadroom::NoLevelNearHalf);
    let whole = [(500.0, 50.0), (1000.0, 90.0)];
    assert_eq!(of(&whole, false), NoHeadroom::NotSaturated);
    let idle = [(500.0, 40.0), (1000.0, 47.0)];
    assert_eq!(of(&idle, true), NoHeadroom::CpuNeverBeyondHalf);
}

#[test]
fn levels_that_start_above_half_have_the_nearest_index_alone() {
    let found = of_table(&[(600.0, 60.0), (1000.0, 95.0)]);
    assert!((found.nearest_level_ratio.value - 1.0).abs() < 1e-9);
    assert_eq!(found.interpolated_ratio, None);
    assert_eq!(found.extra_over_half_ratio, None);
}

#[test]
fn reasons_that_need_no_curve_come_first() {
    let none = |trials: &[Trial]| match headroom(&levels(&plan(), trials, None), None, None) {
        Headroom::Unknown { why } => why,
        known => panic!("{known:?}"),
    };
    assert_eq!(none(&[]), NoHeadroom::NoLevel);
    let mut trial = trial_at(50.0, 500, 0.5, 1000.0);
    assert_eq!(
        none(std::slice::from_ref(&trial)),
        NoHeadroom::NoLevelNearHalf
    );
    trial.machine.service_cpu = None;
    assert_eq!(
        none(std::slice::from_ref(&trial)),
        NoHeadroom::CpuUnreadable
    );
    trial.verdict = Verdict::Invalid(vec![]);
    assert_eq!(none(&[trial]), NoHeadroom::NoValidTrial);
}
