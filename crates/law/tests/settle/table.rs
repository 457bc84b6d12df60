//! The distribution of the rate against the truth, over all cases.

use crate::queue::{Spec, Times};
use crate::rig::{Rig, goal};
use crate::truths::capacity;
use std::ops::Range;

pub(crate) struct Summary {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Seeds that were settled within 30 s.
    pub(crate) settled: f64,
    /// The longest time until settled.
    pub(crate) slowest: f64,
    /// Mean share above the limit from 30 to 60 s, relative to the allowed one.
    pub(crate) over: f64,
    /// Share of seeds within 0.9 to 1.03.
    pub(crate) within: f64,
}

pub(crate) fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * q).round() as usize]
}

pub(crate) fn measure(
    text: &str,
    spec: Spec,
    rating: f64,
    truth: f64,
    seeds: Range<u64>,
) -> Summary {
    let goal = goal(text);
    let (mut ratios, mut times, mut over) = (Vec::new(), Vec::new(), 0.0);
    let n = (seeds.end - seeds.start) as f64;
    for seed in seeds {
        let mut rig = Rig::new(goal, spec, rating, seed);
        rig.run(60.0);
        ratios.push(rig.mean_rate(30.0, 60.0) / truth);
        times.push(rig.settled_after(0.0).unwrap_or(f64::INFINITY));
        over += rig.over_share(30.0, 60.0) / (1.0 - goal.quantile().fraction());
    }
    ratios.sort_by(f64::total_cmp);
    let share = |ok: usize| ok as f64 / n;
    Summary {
        mean: ratios.iter().sum::<f64>() / n,
        low: quantile(&ratios, 0.05),
        high: quantile(&ratios, 0.95),
        settled: share(times.iter().filter(|t| **t <= 30.0).count()),
        slowest: times.iter().copied().fold(0.0, f64::max),
        over: over / n,
        within: share(ratios.iter().filter(|r| (0.9..=1.03).contains(*r)).count()),
    }
}

#[test]
#[ignore = "minutes; run in release with --nocapture for the whole table"]
fn table() {
    for goal_text in ["p95<75ms", "p99<10ms", "p50<2ms"] {
        for workers in workers() {
            for times in [Times::Exponential, Times::Deterministic, Times::Normal] {
                for stalls in [false, true] {
                    let spec = Spec {
                        times,
                        workers,
                        stalls,
                    };
                    let truth = capacity(goal(goal_text), spec, 2_000_000 * workers.min(2) as u64);
                    for rating in [0.8, 1.0, 1.2] {
                        let s = measure(goal_text, spec, rating, truth, seeds(workers));
                        println!(
                            "{goal_text} k={workers:<2} {times:13?} stalls={stalls:5} rating {rating} truth {truth:7.0} | \
                             {:.3} {:.3} {:.3} | within {:.2} | settled {:.2} slowest {:4.1} | over {:.2}",
                            s.mean, s.low, s.high, s.within, s.settled, s.slowest, s.over
                        );
                    }
                }
            }
        }
    }
}

/// All of them, or the one of the environment.
fn workers() -> Vec<usize> {
    let given = std::env::var("WORKERS").ok().and_then(|s| s.parse().ok());
    given.map_or(vec![1, 2, 16], |workers| vec![workers])
}

/// Not those that the law was developed on.
const HELD_OUT: u64 = 1000;

fn seeds(workers: usize) -> Range<u64> {
    let given = std::env::var("SEEDS").ok().and_then(|s| s.parse().ok());
    HELD_OUT..HELD_OUT + given.unwrap_or(if workers > 4 { 50 } else { 200 })
}
