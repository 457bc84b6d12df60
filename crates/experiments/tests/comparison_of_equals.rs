//! Comparisons of a service with itself, and with one that carries more: how often they
//! say so. Each sweep is a run at another time: a drift begins anew in it.
//!
//! Virtual time. `SEEDS=100 cargo test -p plimsoll-experiments --test comparison_of_equals
//! -- --nocapture` prints the table of docs/accuracy.md; by default there are fewer seeds.

#![cfg(test)]

mod scenarios;
mod simulated;

use plimsoll_experiments::sweep::SweepPlanner;
use plimsoll_model::{Comparison, DifferenceVerdict, Holds, Share, Trial};
use plimsoll_study::compare::{Run, Side, compare};
use plimsoll_study::judge::no_worse;
use scenarios::{Scenario, Speed, drift, in_parallel, of_mean};

/// The most runs a side of one comparison.
const RUNS: usize = 3;

/// Comparisons of so many are taken together for one of more runs.
const TOGETHER: usize = 3;

/// One sweep of the length that the flags give by default.
fn sweep(scenario: &Scenario, seed: u64) -> Run {
    let plan = simulated::plan(&format!("--goal p99<10ms --seed {seed}"));
    let mut state = scenario.begin(90_000 + seed);
    let mut trials: Vec<Trial> = Vec::new();
    let run = |spec: &_| state.measure(spec, &plan);
    simulated::conducted(&SweepPlanner(&plan), &mut trials, run).unwrap();
    let findings = plimsoll_study::findings(&plan, &trials);
    Run::of(&format!("run {seed}"), &plan, &trials, &findings)
}

/// The mean service time, in milliseconds, at which the steady service carries this
/// many times as much as at 1 ms.
fn mean_of(times: f64) -> f64 {
    let carries = |mean| of_mean("", mean, Speed::Steady).truth.unwrap();
    let asked = times * carries(1.0);
    let (mut low, mut high) = (0.5, 2.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        match carries(middle) > asked {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// The runs of one seed: of the service twice, of one with 5 % more, and one of 30 % more.
struct Runs {
    base: Vec<Run>,
    equal: Vec<Run>,
    more: Vec<Run>,
    much_more: Vec<Run>,
}

impl Runs {
    fn of(name: &'static str, speed: Speed, means: [f64; 2], seed: u64) -> Runs {
        let first = 1000 + 9 * seed;
        let runs = |mean: f64, first: u64, number: usize| {
            let scenario = of_mean(name, mean, speed);
            let seeds = (first..).take(number);
            seeds.map(|seed| sweep(&scenario, seed)).collect()
        };
        Runs {
            base: runs(1.0, first, RUNS),
            equal: runs(1.0, first + 3, RUNS),
            more: runs(means[0], first + 6, RUNS),
            much_more: runs(means[1], 100_000 + seed, 1),
        }
    }
}

fn compared(base: &[Run], other: &[Run]) -> Comparison {
    let side = |name: &str, runs: &[Run]| Side {
        name: name.to_owned(),
        runs: runs.to_vec(),
        price_per_hour: None,
    };
    compare(&[side("base", base), side("other", other)], None).unwrap()
}

fn verdict(base: &[Run], other: &[Run]) -> DifferenceVerdict {
    compared(base, other).differences[0].verdict
}

fn is_called(base: &[Run], other: &[Run]) -> bool {
    verdict(base, other) != DifferenceVerdict::Inconclusive
}

fn is_better(base: &[Run], other: &[Run]) -> bool {
    verdict(base, other) == DifferenceVerdict::Better
}

/// Whether a CPU threshold of equals, for 20 % headroom, is called better or worse.
fn is_threshold_called(base: &[Run], other: &[Run]) -> bool {
    let rows = compared(base, other).threshold_differences;
    let mut row = rows.iter().filter(|row| row.headroom_pct == 20.0);
    row.any(|row| row.verdict != DifferenceVerdict::Inconclusive)
}

/// Several comparisons as one of all their runs.
fn together(of: &[Runs], part: impl Fn(&Runs) -> &Vec<Run>) -> Vec<Run> {
    of.iter()
        .flat_map(|runs| part(runs).iter().cloned())
        .collect()
}

/// Counts of comparisons, with one run a side and with three.
struct Counts {
    false_calls: [usize; 2],
    false_thresholds: [usize; 2],
    found: [usize; 2],
    much_more_found: usize,
    /// With nine runs a side.
    together: [usize; 2],
}

fn count(all: &[Runs]) -> Counts {
    let number = |is: &dyn Fn(&Runs) -> bool| all.iter().filter(|runs| is(runs)).count();
    let with = |sizes: usize, is: fn(&[Run], &[Run]) -> bool, of: fn(&Runs) -> &Vec<Run>| {
        number(&|runs| is(&runs.base[..sizes], &of(runs)[..sizes]))
    };
    let both = |is, of| [1, RUNS].map(|size| with(size, is, of));
    let of_many = |is: fn(&[Run], &[Run]) -> bool, of: fn(&Runs) -> &Vec<Run>| {
        let chunks = all.chunks_exact(TOGETHER);
        let is = |chunk: &&[Runs]| is(&together(chunk, |r| &r.base), &together(chunk, of));
        chunks.filter(is).count()
    };
    Counts {
        false_calls: both(is_called, |runs| &runs.equal),
        false_thresholds: both(is_threshold_called, |runs| &runs.equal),
        found: both(is_better, |runs| &runs.more),
        much_more_found: with(1, is_better, |runs| &runs.much_more),
        together: [
            of_many(is_called, |runs| &runs.equal),
            of_many(is_better, |runs| &runs.more),
        ],
    }
}

#[test]
fn equals_are_seldom_called_better_or_worse() {
    let seeds = std::env::var("SEEDS").map_or(3, |seeds| seeds.parse().unwrap());
    let means = [1.05, 1.3].map(mean_of);
    println!(
        "of {seeds} comparisons; runs a side in brackets, (9): of {}",
        seeds as usize / TOGETHER
    );
    println!(
        "service | false (1) (3) (9) | thresholds (1) (3) | +5 % found (1) (3) (9) | +30 % (1)"
    );
    let services = [
        ("no drift", Speed::Steady),
        ("drift of 2 % over 60 s", drift(0.02, 60.0)),
        ("drift of 3 % over 60 s", drift(0.03, 60.0)),
        ("drift of 2 % over 300 s", drift(0.02, 300.0)),
        ("drift of 3 % over 300 s", drift(0.03, 300.0)),
    ];
    let mut broken = Vec::new();
    for (name, speed) in services {
        let all = in_parallel(seeds, |seed| Runs::of(name, speed, means, seed));
        let counts = count(&all);
        let Counts {
            false_calls, found, ..
        } = counts;
        let [one, three] = false_calls;
        let [few, many] = counts.false_thresholds;
        let ([found_one, found_three], [false_nine, found_nine]) = (found, counts.together);
        println!(
            "{name:24} | {one:3} {three:3} {false_nine:3} | {few:3} {many:3} | {found_one:3} {found_three:3} {found_nine:3} | {:3}",
            counts.much_more_found
        );
        // Six in 100 are asked for; two standard deviations of a count more are chance.
        let seeds = seeds as f64;
        let most = 0.06 * seeds + 2.0 * (0.06 * seeds).sqrt();
        let least = 0.8 * seeds - 2.0 * (0.16 * seeds).sqrt();
        let is_steady = matches!(speed, Speed::Steady);
        let is_kept = false_calls.iter().all(|calls| *calls as f64 <= most)
            && counts.much_more_found as f64 >= least
            && (!is_steady || found_three as f64 >= least);
        if !is_kept {
            broken.push(format!(
                "{name}: false {false_calls:?}, found {found:?} of {seeds}"
            ));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Runs a side of a gate.
const GATES: [usize; 3] = [3, 4, 6];

/// How often `no worse by SHARE` is broken of equals, and of a service that carries a tenth less.
#[test]
fn a_gate_finds_a_loss_of_a_tenth_and_seldom_cries_wolf() {
    let seeds: u64 = std::env::var("SEEDS").map_or(3, |seeds| seeds.parse().unwrap());
    let slower = mean_of(0.9);
    println!("of {seeds} gates | runs a side | by | equals broken | a tenth less found");
    let mut broken = Vec::new();
    for (name, speed) in [
        ("no drift", Speed::Steady),
        ("drift of 2 % over 300 s", drift(0.02, 300.0)),
        ("drift of 3 % over 300 s", drift(0.03, 300.0)),
    ] {
        let most = GATES[2];
        let all = in_parallel(seeds, |seed| {
            let runs = |mean: f64, nth: u64| -> Vec<Run> {
                let scenario = of_mean(name, mean, speed);
                let first = 500_000 + 100 * seed + nth * most as u64;
                let seeds = (first..).take(most);
                seeds.map(|seed| sweep(&scenario, seed)).collect()
            };
            [runs(1.0, 0), runs(1.0, 1), runs(slower, 2)]
        });
        for by in [0.0, 0.05] {
            let share = Share::new(by).unwrap();
            for size in GATES {
                let is_broken = |runs: &[Vec<Run>; 3], other: usize| {
                    let found = compared(&runs[0][..size], &runs[other][..size]);
                    no_worse(&found.differences, share).holds == Holds::No
                };
                let count = |other| all.iter().filter(|runs| is_broken(runs, other)).count();
                let (wolf, found) = (count(1), count(2));
                println!("{name:24} | {size} | {by} | {wolf} | {found}");
                // One in 20 is asked for; two standard deviations of a count more are chance.
                let allowed = 0.05 * seeds as f64;
                if wolf as f64 > allowed + 2.0 * allowed.sqrt() {
                    broken.push(format!("{name}, {size} runs, by {by}: {wolf} of {seeds}"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
