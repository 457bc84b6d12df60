use super::*;
use crate::seeded::Rng;
use crate::testing::normal;
use statrs::distribution::{ContinuousCDF, Normal};

/// A scheduler that was never run.
struct Machine {
    name: &'static str,
    /// The probability of a missed run by the logarithm of stress over the breaking
    /// point: one half at 0.
    curve: fn(f64) -> f64,
    /// Where the breaking point is after so many runs, as a logarithm.
    drift: fn(f64) -> f64,
    /// How far it is off for the runs of one trial: a standard deviation.
    scatter: f64,
}

const STILL: fn(f64) -> f64 = |_| 0.0;

const fn machine(name: &'static str, curve: fn(f64) -> f64) -> Machine {
    Machine {
        name,
        curve,
        drift: STILL,
        scatter: 0.0,
    }
}

fn logistic(x: f64, scale: f64) -> f64 {
    1.0 / (1.0 + (-x / scale).exp())
}

fn step(x: f64) -> f64 {
    f64::from(u8::from(x > 0.0))
}

/// A part of all runs is missed at any stress.
fn with_floor(x: f64, floor: f64) -> f64 {
    let half: f64 = (0.5 - floor) / (1.0 - floor);
    floor + (1.0 - floor) * logistic(x / 0.02 + (half / (1.0 - half)).ln(), 1.0)
}

/// Those by which the constants of the search were chosen.
const DEVELOPMENT: &[Machine] = &[
    machine("step", step),
    machine("logistic 0.5 %", |x| logistic(x, 0.005)),
    machine("logistic 2 %", |x| logistic(x, 0.02)),
    machine("logistic 4 %", |x| logistic(x, 0.04)),
    machine("logistic 7 %", |x| logistic(x, 0.07)),
    Machine {
        drift: |runs| -2e-4 * runs,
        ..machine("logistic 2 %, falls 2 % per 100 runs", |x| {
            logistic(x, 0.02)
        })
    },
    Machine {
        scatter: 0.02,
        ..machine("2 % from trial to trial", |x| logistic(x, 0.01))
    },
];

/// Those that had no part in it: other widths, shapes and disturbances.
const HELD_OUT: &[Machine] = &[
    machine("logistic 0.3 %", |x| logistic(x, 0.003)),
    machine("logistic 1.5 %", |x| logistic(x, 0.015)),
    machine("logistic 3 %", |x| logistic(x, 0.03)),
    machine("logistic 5.5 %", |x| logistic(x, 0.055)),
    machine("probit 3 %", |x| Normal::standard().cdf(x / 0.03)),
    machine("Gumbel 2 %", |x| 1.0 - 0.5f64.powf((x / 0.02).exp())),
    machine("ramp of 10 %", |x| (0.5 + x / 0.1).clamp(0.0, 1.0)),
    machine("Cauchy 1 %", |x| {
        0.5 + (x / 0.01).atan() / std::f64::consts::PI
    }),
    machine("5 % missed at any stress", |x| with_floor(x, 0.05)),
    Machine {
        scatter: 0.01,
        ..machine("step, 1 % from trial to trial", step)
    },
    Machine {
        scatter: 0.03,
        ..machine("3 % from trial to trial", |x| logistic(x, 0.015))
    },
    Machine {
        scatter: 0.025,
        ..machine("2.5 % from trial to trial, logistic 2.5 %", |x| {
            logistic(x, 0.025)
        })
    },
    Machine {
        drift: |runs| 1e-4 * runs,
        ..machine("step, rises 1 % per 100 runs", step)
    },
    Machine {
        drift: |runs| 0.01 * (runs / 8.0).sin(),
        ..machine("logistic 1 %, goes up and down by 1 %", |x| {
            logistic(x, 0.01)
        })
    },
];

#[derive(Default)]
struct Score {
    held: u32,
    narrow: u32,
    runs: f64,
    width: f64,
    bias: f64,
}

const SEEDS: u32 = 100;

fn score(machine: &Machine, first_seed: u64, search: &Search, curves: &mut Curves) -> Score {
    let (mut score, n) = (Score::default(), f64::from(SEEDS));
    for seed in 0..u64::from(SEEDS) {
        let mut rng = Rng::seeded(first_seed + seed);
        // Anywhere, so that no place of the grid is favoured.
        let start = 0.6 + 0.4 * rng.unit();
        let (mut trials, mut run, mut drifted) = (Vec::new(), 0.0, 0.0);
        while let Some(stress) = search.next_by(curves, &trials) {
            let off = match machine.scatter {
                0.0 => 0.0,
                deviation => deviation * normal(&mut rng),
            };
            let mut missed = 0;
            for _ in 0..RUNS {
                let drift = (machine.drift)(run);
                drifted += drift;
                run += 1.0;
                let p = (machine.curve)((stress / start).ln() - drift - off);
                missed += u32::from(rng.unit() < p);
            }
            trials.push(Trial {
                stress,
                runs: RUNS,
                missed,
            });
        }
        // That of a drifting machine is the mean over the runs.
        let truth = start * (drifted / run).exp();
        let found = search.estimate_by(curves, &trials).at().unwrap();
        let width = 2.0 * found.relative_half_width().unwrap();
        score.held += u32::from(found.holds(truth));
        score.narrow += u32::from(width <= search.width);
        score.runs += run / n;
        score.width += width / n;
        score.bias += (found.value / truth).ln() / n;
    }
    score
}

/// Each machine is found from both sides and its breaking point lies within the
/// interval in `least` of [`SEEDS`] searches, in all together in 95 %.
fn all_are_found(list: &[Machine], first_seed: u64, least: u32) {
    let (mut failed, mut held, mut of) = (Vec::new(), 0, 0);
    for direction in [Direction::FromBelow, Direction::FromAbove] {
        let search = Search::new(direction, 0.4, 1.2);
        let mut curves = search.curves().unwrap();
        for machine in list {
            let s = score(machine, first_seed, &search, &mut curves);
            println!(
                "{:38} {direction:?}: held by {} of {SEEDS}, narrow {}, mean width {:.1} %, runs {:.0}, bias {:+.2} %",
                machine.name,
                s.held,
                s.narrow,
                100.0 * s.width,
                s.runs,
                100.0 * s.bias
            );
            (held, of) = (held + s.held, of + SEEDS);
            if s.held < least {
                failed.push(machine.name);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
    assert!(100 * held >= 95 * of, "{held} of {of}");
}

#[test]
fn the_truth_is_held_as_often_as_stated() {
    all_are_found(DEVELOPMENT, 0, 93);
}

#[test]
fn it_is_for_machines_that_no_constant_was_chosen_by() {
    // Two standard deviations below 95: with 24 and more there is one by chance.
    all_are_found(HELD_OUT, 1000, 90);
}

/// All trials of a search on a scheduler that breaks above `at`, and what it found.
fn searched(search: &Search, at: f64) -> (Vec<Trial>, Breaking) {
    let mut trials = Vec::new();
    while let Some(stress) = search.next_stress(&trials) {
        assert!((search.lowest * 0.999..=search.highest * 1.001).contains(&stress));
        let missed = if stress > at { RUNS } else { 0 };
        trials.push(Trial {
            stress,
            runs: RUNS,
            missed,
        });
        assert!(trials.len() < 100, "no end");
    }
    let found = search.estimate(&trials);
    (trials, found)
}

#[test]
fn what_lies_outside_of_the_range_has_no_number() {
    for direction in [Direction::FromBelow, Direction::FromAbove] {
        let search = Search::new(direction, 0.4, 1.2);
        assert_eq!(searched(&search, 2.0).1, Breaking::HoldsAtHighest);
        assert_eq!(searched(&search, 0.1).1, Breaking::BreaksAtLowest);
        assert_eq!(search.estimate(&[]), Breaking::NothingTried);
    }
    let nowhere = Search::new(Direction::FromBelow, 1.0, 1.0);
    assert_eq!(nowhere.next_stress(&[]), None);
}

#[test]
fn steps_go_on_until_the_outcome_turns_and_then_back() {
    for direction in [Direction::FromBelow, Direction::FromAbove] {
        let search = Search::new(direction, 0.4, 1.2);
        let (trials, found) = searched(&search, 0.9);
        assert!(found.at().unwrap().holds(0.9));
        // A trial that turned is followed by one on the near side of it, and before the
        // first that did no step goes back.
        let first = trials.iter().position(|t| search.turned(t)).unwrap();
        for (nth, pair) in trials.windows(2).enumerate() {
            let goes_on = match direction {
                Direction::FromBelow => pair[0].stress < pair[1].stress,
                Direction::FromAbove => pair[0].stress > pair[1].stress,
            };
            assert!(!(goes_on && search.turned(&pair[0])), "{trials:?}");
            assert!(goes_on || nth >= first, "{trials:?}");
        }
    }
}

#[test]
fn it_ends_when_the_runs_are_used_up() {
    let mut search = Search::new(Direction::FromBelow, 0.4, 1.2);
    search.most_runs = 20;
    let (trials, found) = searched(&search, 0.9);
    assert_eq!(trials.len(), 4);
    assert!(found.at().unwrap().relative_half_width().unwrap() > 0.025);
}

#[test]
fn a_stress_is_of_three_classes() {
    assert_eq!(classify(5, 0), Level::Holds);
    assert_eq!(classify(5, 5), Level::Breaks);
    assert_eq!(classify(5, 1), Level::Undecided);
    assert_eq!(classify(0, 0), Level::Undecided);
    assert_eq!(classify(20, 4), Level::Holds);
    assert_eq!(classify(20, 10), Level::Undecided);
}

#[test]
fn lateness_counts_as_a_share_of_the_schedule() {
    assert!(is_missed(11_000, 100_000, 0.1));
    assert!(!is_missed(10_000, 100_000, 0.1));
    assert!(!is_missed(-5, 100_000, 0.0));
}

#[test]
fn the_error_of_a_gap_is_that_of_both_ends() {
    let below = Estimate::within(0.90, 0.87, 0.93);
    let above = Estimate::within(0.95, 0.91, 0.99);
    let (low, high) = gap(&below, &above).interval().unwrap();
    assert!((low - 0.0).abs() < 1e-12 && (high - 0.1).abs() < 1e-12);
    assert_eq!(gap(&Estimate::alone(0.9), &above).interval(), None);
}
