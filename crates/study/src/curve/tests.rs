//! Simulated machines with a known curve, and what is fitted to them.

use super::*;
use crate::seeded::Rng;
use crate::testing::{normal, shuffle};
use proptest::prelude::*;
use std::sync::LazyLock;

/// Requests/s and CPU use in percent of a Netty server with 8 CPUs, as
/// published in the Graviton study of load and headroom.
pub(crate) static GRAVITON_3: Table = LazyLock::new(|| {
    rows(include_str!(
        "../../../plimsoll/tests/data/graviton3-netty.csv"
    ))
});

/// The same for the Intel machine with SMT.
pub(crate) static INTEL_SMT: Table = LazyLock::new(|| {
    rows(include_str!(
        "../../../plimsoll/tests/data/intel-smt-netty.csv"
    ))
});

type Table = LazyLock<Vec<(f64, f64)>>;

/// Rate and CPU use of each row.
fn rows(table: &str) -> Vec<(f64, f64)> {
    let row = |line: &str| {
        let mut cells = line.split(',').map(|cell| cell.parse().unwrap());
        (cells.next().unwrap(), cells.next().unwrap())
    };
    table.lines().skip(1).map(row).collect()
}

/// Single rows of a table as trials, each a level.
pub(crate) fn published(rows: &[(f64, f64)]) -> Vec<CurveTrial> {
    let trial = |(level, (rate, cpu_pct)): (usize, &(f64, f64))| {
        trial(level as u32, *rate, *rate, *cpu_pct, 1)
    };
    rows.iter().enumerate().map(trial).collect()
}

fn trial(level: u32, intended: f64, achieved: f64, cpu_pct: f64, seconds: u64) -> CurveTrial {
    CurveTrial {
        level,
        intended: Rate::per_second(intended).unwrap(),
        achieved: Rate::per_second(achieved).unwrap(),
        cpu: Share::new(cpu_pct / 100.0).unwrap(),
        measured: Duration::from_secs(seconds),
    }
}

/// A machine whose rate is a known function of its CPU use: a sum of a linear
/// and a quadratic part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    /// The rate at full CPU use if it went on as it begins.
    pub(crate) begins_rps: f64,
    /// What is added at full CPU use by the bend.
    pub(crate) bend_rps: f64,
    /// Standard deviation of CPU time per request between trials, relative.
    pub(crate) noise: f64,
}

impl Machine {
    /// The second half of CPU use carries less than the first.
    pub(crate) fn smt() -> Machine {
        Machine {
            begins_rps: 13_000.0,
            bend_rps: -3_000.0,
            noise: 0.02,
        }
    }

    /// The second half carries more.
    pub(crate) fn rising() -> Machine {
        Machine {
            begins_rps: 8_000.0,
            bend_rps: 2_000.0,
            noise: 0.02,
        }
    }

    pub(crate) fn rate_rps(&self, cpu_pct: f64) -> f64 {
        let u = cpu_pct / 100.0;
        self.begins_rps * u + self.bend_rps * u * u
    }

    pub(crate) fn most_rps(&self) -> f64 {
        self.rate_rps(100.0)
    }

    /// The root of the quadratic.
    pub(crate) fn cpu_pct(&self, rate_rps: f64) -> f64 {
        let (a, b) = (self.bend_rps, self.begins_rps);
        100.0 * 2.0 * rate_rps / (b + (b * b + 4.0 * a * rate_rps).sqrt())
    }

    /// A trial of 5 s: CPU time per request is off by a normal share; beyond
    /// the end the rate is what gives way.
    fn trial(&self, level: u32, intended: f64, rng: &mut Rng) -> CurveTrial {
        let off = 1.0 + self.noise * normal(rng);
        let most = self.most_rps() / off;
        if intended >= most {
            return trial(level, intended, most, 100.0, 5);
        }
        let cpu_pct = (self.cpu_pct(intended.min(self.most_rps())) * off).min(100.0);
        trial(level, intended, intended, cpu_pct, 5)
    }
}

/// Levels of 10 % to 95 % of the end, and one of 110 %.
pub(crate) fn trials_of(machine: &Machine, passes: u32, seed: u64) -> Vec<CurveTrial> {
    let mut rng = Rng::seeded(seed);
    let parts = [0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 1.1];
    let mut trials = Vec::new();
    for _ in 0..passes {
        for (level, part) in parts.iter().enumerate() {
            trials.push(machine.trial(level as u32, part * machine.most_rps(), &mut rng));
        }
    }
    trials
}

#[test]
fn the_curve_is_read_both_ways_and_nowhere_else() {
    let rows = [(100.0, 10.0), (200.0, 30.0), (300.0, 30.0), (400.0, 70.0)];
    let curve = Curve::of(&published(&rows), 1).unwrap();
    let line = curve.line();
    assert_eq!(line.cpu_pct_at(150.0), Some(20.0));
    assert_eq!(line.cpu_pct_at(400.0), Some(70.0));
    assert_eq!(line.rate_rps_at(20.0), Some(150.0));
    assert_eq!(
        line.rate_rps_at(30.0),
        Some(300.0),
        "flat: the highest rate"
    );
    for outside in [99.9, 400.1, f64::NAN] {
        assert_eq!(line.cpu_pct_at(outside), None);
    }
    for outside in [9.9, 70.1, f64::NAN] {
        assert_eq!(line.rate_rps_at(outside), None);
    }
}

#[test]
fn single_trials_give_values_and_no_intervals() {
    let curve = Curve::of(&published(&GRAVITON_3), 1).unwrap();
    assert!(
        curve
            .points()
            .iter()
            .all(|p| p.cpu_pct.interval().is_none())
    );
    assert_eq!(curve.points().len(), GRAVITON_3.len());
    assert_eq!(curve.rate_rps_at(99.0), Some(Estimate::alone(736_860.0)));
}

#[test]
fn fewer_than_two_levels_are_no_curve() {
    assert!(Curve::of(&[], 1).is_none());
    let same = [
        trial(1, 100.0, 100.0, 10.0, 5),
        trial(2, 100.0, 100.0, 12.0, 5),
    ];
    assert!(Curve::of(&same, 1).is_none());
    let silent = [trial(1, 100.0, 0.0, 0.0, 5), same[0]];
    assert!(Curve::of(&silent, 1).is_none(), "no answer is no point");
}

#[test]
fn levels_at_saturation_are_one_and_a_breakdown_is_left_out() {
    let trials = [
        trial(1, 500.0, 500.0, 50.0, 5),
        trial(2, 1100.0, 990.0, 99.0, 5),
        trial(3, 1300.0, 1010.0, 100.0, 5),
        trial(4, 2000.0, 600.0, 100.0, 5),
    ];
    let curve = Curve::of(&trials, 1).unwrap();
    assert_eq!(curve.line().measured().len(), 2);
    assert!((curve.line().max_rate_rps() - 1000.0).abs() < 1e-9);
    assert_eq!(curve.line().cpu_pct_at(500.0), Some(50.0));
}

#[test]
fn measuring_time_is_weight() {
    let trials = [
        trial(1, 100.0, 100.0, 10.0, 3),
        trial(1, 100.0, 100.0, 20.0, 1),
        trial(2, 200.0, 200.0, 30.0, 1),
    ];
    let curve = Curve::of(&trials, 1).unwrap();
    assert!((curve.line().cpu_pct_at(100.0).unwrap() - 12.5).abs() < 1e-9);
}

#[test]
fn the_band_holds_the_truth_as_often_as_stated() {
    for machine in [Machine::smt(), Machine::rising()] {
        let mut hits = [0; 10];
        for seed in 0..100 {
            let curve = Curve::of(&trials_of(&machine, 4, seed), seed).unwrap();
            for (hit, point) in hits.iter_mut().zip(curve.points()) {
                let truth = machine.cpu_pct(point.rate_rps);
                *hit += u32::from(point.cpu_pct.holds(truth));
            }
        }
        assert!(hits.iter().all(|h| *h >= 88), "{hits:?} of 100");
        assert!(hits.iter().sum::<u32>() >= 920, "{hits:?} of 100");
    }
}

#[test]
fn a_level_of_many_trials_is_judged_by_its_own_scatter() {
    // One level is quiet, the others are not.
    let mut trials = Vec::new();
    for i in 0..10 {
        let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
        trials.push(trial(1, 100.0, 100.0, 20.0 + 5.0 * sign, 5));
        trials.push(trial(2, 200.0, 200.0, 50.0 + 0.1 * sign, 5));
        trials.push(trial(3, 300.0, 300.0, 80.0 + 5.0 * sign, 5));
    }
    let points = Curve::of(&trials, 1).unwrap().points();
    let width = |i: usize| {
        let (low, high) = points[i].cpu_pct.interval().unwrap();
        high - low
    };
    assert!(width(1) < 0.05 * width(0), "{points:?}");
}

/// Any trials whatever: up to 12 levels, achieved anything up to intended.
fn any_trials() -> impl Strategy<Value = Vec<CurveTrial>> {
    let one = (0u32..12, 0.5..1.0f64, 0.01..100.0f64, 1u64..20);
    let trial = |(level, part, cpu, seconds)| {
        let intended = 1000.0 * f64::from(level + 1);
        trial(level, intended, intended * part, cpu, seconds)
    };
    prop::collection::vec(one.prop_map(trial), 2..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_curve_never_falls_either_way(trials in any_trials()) {
        let Some(curve) = Curve::of(&trials, 1) else { return Ok(()) };
        for line in curve.resamples.iter().take(20).chain([curve.line()]) {
            let grid = (0..200).map(|i| f64::from(i) * 65.0);
            let cpu: Vec<f64> = grid.filter_map(|rate| line.cpu_pct_at(rate)).collect();
            prop_assert!(cpu.windows(2).all(|w| w[0] <= w[1] + 1e-9));
            let grid = (0..200).map(|i| f64::from(i) * 0.5);
            let rate: Vec<f64> = grid.filter_map(|cpu| line.rate_rps_at(cpu)).collect();
            prop_assert!(rate.windows(2).all(|w| w[0] <= w[1] + 1e-9));
        }
    }

    #[test]
    fn there_and_back_is_never_less(trials in any_trials(), part in 0.0..1.0f64) {
        let Some(curve) = Curve::of(&trials, 1) else { return Ok(()) };
        let line = curve.line();
        let rate = line.within(0.0) + part * (line.max_rate_rps() - line.within(0.0));
        let cpu = line.cpu_pct_at(rate).unwrap();
        // Rounding may move the CPU use just beyond the range.
        if let Some(back) = line.rate_rps_at(cpu) {
            prop_assert!(back >= rate * (1.0 - 1e-6), "{back} {rate}");
        }
    }

    #[test]
    fn the_order_of_the_trials_does_not_matter(trials in any_trials(), seed in 0u64..1000) {
        let points = |trials: &[CurveTrial]| Curve::of(trials, 7).map(|c| c.points());
        let mut shuffled = trials.clone();
        shuffle(&mut shuffled, &mut Rng::seeded(seed));
        prop_assert_eq!(points(&trials), points(&shuffled));
    }

    #[test]
    fn a_service_that_is_twice_as_fast_has_twice_the_rates(seed in 0u64..1000) {
        let trials = trials_of(&Machine::smt(), 3, seed);
        let twice: Vec<CurveTrial> = trials
            .iter()
            .map(|t| CurveTrial {
                intended: t.intended.times(2.0),
                achieved: t.achieved.times(2.0),
                ..*t
            })
            .collect();
        let half = |trials: &[CurveTrial]| Curve::of(trials, 7)?.rate_rps_at(50.0);
        let (once, twice) = (half(&trials).unwrap(), half(&twice).unwrap());
        prop_assert_eq!(once.map_rising(|rate| 2.0 * rate), twice);
    }
}
