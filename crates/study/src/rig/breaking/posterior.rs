//! How probable each breaking point is, by the trials.

use super::Trial;
use std::collections::BTreeMap;

/// Stresses evenly apart on a logarithmic scale. Trials are at its points; a breaking
/// point lies in one of the cells between two points.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    lowest: f64,
    step: f64,
    cells: usize,
}

/// Cells within the width that is asked for.
const CELLS_PER_WIDTH: f64 = 10.0;
/// Enough for a range of e^10 at a width of 5 %.
const MOST_CELLS: f64 = 2000.0;

impl Grid {
    /// `None` for a range or width that is none.
    pub(super) fn over(lowest: f64, highest: f64, width: f64) -> Option<Grid> {
        let range = (highest / lowest).ln();
        let usable = lowest > 0.0 && range.is_finite() && range > 0.0 && width > 0.0;
        let cells = (range / width * CELLS_PER_WIDTH)
            .ceil()
            .clamp(1.0, MOST_CELLS);
        usable.then_some(Grid {
            lowest,
            step: range / cells,
            cells: cells as usize,
        })
    }

    pub(super) fn step(&self) -> f64 {
        self.step
    }

    /// The last point.
    pub(super) fn last(&self) -> usize {
        self.cells
    }

    pub(super) fn stress(&self, at: usize) -> f64 {
        self.at(at as f64)
    }

    /// Between points, too.
    fn at(&self, place: f64) -> f64 {
        self.lowest * (place * self.step).exp()
    }

    pub(super) fn nearest(&self, stress: f64) -> usize {
        let place = (stress / self.lowest).ln() / self.step;
        (place.round().max(0.0) as usize).min(self.last())
    }
}

/// The scale of the steepest curve, as a logarithm of stress: a step for any width that
/// is asked for.
const STEEPEST: f64 = 0.001;
/// Each next curve is twice as wide, up to a scale of 0.256. From 10 to 90 % a curve
/// spans 4.4 scales.
const CURVES: i32 = 9;
/// The shares of runs that noise spoils at any stress.
const FLOORS: [f64; 2] = [0.0, 0.05];
/// How alike the runs of one trial are: 0 are independent, and of 1 all have the same
/// outcome, as when a neighbour is busy for as long as a trial takes.
const CORRELATIONS: [f64; 4] = [0.0, 0.3, 0.6, 0.9];
/// The part of the posterior within the interval. A search that ends when its interval is
/// narrow ends when chance made it too narrow: with 95 % it held the truth in 93 of 100
/// searches of wide curves. This was chosen by the first list of machines in the tests;
/// the second list had no part in it.
const MASS: f64 = 0.975;
/// No outcome is impossible: the scheduler is not the model.
const LEAST: f64 = 0.002;

/// The probability of a missed run by the distance of a point from the breaking point,
/// which is in the middle of its cell: from `1/2 - cells` grid steps to `cells - 1/2`.
struct Curve {
    missed: Vec<f64>,
    correlation: f64,
}

impl Curve {
    fn new(grid: &Grid, scale: f64, floor: f64, correlation: f64) -> Curve {
        // The probability is one half at distance 0, with the floor.
        let half: f64 = (0.5 - floor) / (1.0 - floor);
        let at_half = (half / (1.0 - half)).ln();
        let probability = |place: usize| {
            let steps = place as f64 + 0.5 - grid.cells as f64;
            let risen = 1.0 / (1.0 + (-at_half - steps * grid.step / scale).exp());
            (floor + (1.0 - floor) * risen).clamp(LEAST, 1.0 - LEAST)
        };
        Curve {
            missed: (0..2 * grid.cells).map(probability).collect(),
            correlation,
        }
    }

    /// The logarithm of the probability of an outcome at each distance, but for what is
    /// the same for all curves: the beta-binomial distribution (Skellam, Journal of the
    /// Royal Statistical Society B 10, 1948), binomial for a correlation of 0.
    fn ln_likelihoods(&self, (missed, kept): Outcome) -> Vec<f64> {
        let (apart, alike) = (1.0 - self.correlation, self.correlation);
        // A logarithm of many factors together takes as long as one of each. Their product is a normal number:
        // each is at least LEAST / 10, and less than 2^21 for a million runs.
        const TOGETHER: u32 = 48;
        let product = |probability: f64, count: u32| {
            let factor = |i: u32| probability * apart + f64::from(i) * alike;
            let parts = (0..count).step_by(TOGETHER as usize).map(|first| {
                let end = count.min(first + TOGETHER);
                (first..end).map(factor).product::<f64>().ln()
            });
            parts.sum::<f64>()
        };
        let all = product(1.0, missed + kept);
        let one = |p: &f64| product(*p, missed) + product(1.0 - p, kept) - all;
        self.missed.iter().map(one).collect()
    }
}

/// How many runs of a trial were missed and how many were not.
type Outcome = (u32, u32);

/// All that is thought possible of a scheduler.
pub(super) struct Curves {
    grid: Grid,
    all: Vec<Curve>,
    /// Of the outcomes seen so far, by curve: there are only a few.
    seen: BTreeMap<Outcome, Vec<Vec<f64>>>,
}

impl Curves {
    pub(super) fn over(grid: Grid) -> Curves {
        let mut all = Vec::new();
        for nth in 0..CURVES {
            let scale = STEEPEST * 2f64.powi(nth);
            for (floor, alike) in FLOORS.iter().flat_map(|f| CORRELATIONS.map(|c| (*f, c))) {
                all.push(Curve::new(&grid, scale, floor, alike));
            }
        }
        Curves {
            grid,
            all,
            seen: BTreeMap::new(),
        }
    }

    pub(super) fn grid(&self) -> Grid {
        self.grid
    }

    /// How probable the breaking points are after these trials.
    pub(super) fn posterior(&mut self, trials: &[Trial]) -> Posterior {
        let cells = self.grid.cells;
        let mut sums = vec![vec![0.0; cells]; self.all.len()];
        for trial in trials {
            let at = self.grid.nearest(trial.stress);
            let missed = trial.missed.min(trial.runs);
            let outcome = (missed, trial.runs - missed);
            let all = &self.all;
            let compute = || all.iter().map(|c| c.ln_likelihoods(outcome)).collect();
            let of_outcome: &Vec<Vec<f64>> = self.seen.entry(outcome).or_insert_with(compute);
            for (row, by_distance) in sums.iter_mut().zip(of_outcome) {
                // From the last cell to the first the distance grows.
                let each = row.iter_mut().rev().zip(&by_distance[at..at + cells]);
                each.for_each(|(sum, ln)| *sum += ln);
            }
        }
        self.weighed(&sums)
    }

    /// From the logarithms of likelihoods.
    fn weighed(&self, likelihoods: &[Vec<f64>]) -> Posterior {
        let all = likelihoods.iter().flatten();
        let highest = all.fold(f64::NEG_INFINITY, |h, l| h.max(*l));
        let cells = self.grid.cells;
        let mut breaking = vec![0.0; cells];
        let mut missed = vec![0.0; cells + 1];
        let mut sum = 0.0;
        for (curve, row) in self.all.iter().zip(likelihoods) {
            for (cell, ln) in row.iter().enumerate() {
                // What weighs nothing takes no time.
                if ln - highest < -12.0 {
                    continue;
                }
                let weight = (ln - highest).exp();
                sum += weight;
                breaking[cell] += weight;
                let of_cell = &curve.missed[cells - 1 - cell..];
                let each = missed.iter_mut().zip(of_cell);
                each.for_each(|(total, p)| *total += weight * p);
            }
        }
        let parts = breaking.iter_mut().chain(&mut missed);
        parts.for_each(|part| *part /= sum);
        Posterior {
            grid: self.grid,
            breaking,
            missed,
        }
    }
}

pub(super) struct Posterior {
    grid: Grid,
    /// The part of each cell; their sum is 1.
    breaking: Vec<f64>,
    /// The probability of a missed run at each point.
    missed: Vec<f64>,
}

impl Posterior {
    /// The parts of the first and of the last cell.
    pub(super) fn at_ends(&self) -> (f64, f64) {
        (self.breaking[0], self.breaking[self.grid.cells - 1])
    }

    /// Low end, median and high end.
    pub(super) fn interval(&self) -> (f64, f64, f64) {
        let tail = (1.0 - MASS) / 2.0;
        let place = |share| self.grid.at(self.place(share));
        (place(tail), place(0.5), place(1.0 - tail))
    }

    /// Where this part of the breaking points lies below, in grid steps.
    fn place(&self, share: f64) -> f64 {
        let mut below = 0.0;
        for (cell, part) in self.breaking.iter().enumerate() {
            if below + part >= share && *part > 0.0 {
                return cell as f64 + (share - below) / part;
            }
            below += part;
        }
        self.grid.cells as f64
    }

    /// The points between which the probability of a missed run is neither below
    /// `share` nor above `1 - share`.
    pub(super) fn uncertain(&self, share: f64) -> (usize, usize) {
        let low = self.missed.partition_point(|p| *p < share);
        let high = self.missed.partition_point(|p| *p <= 1.0 - share);
        (low.saturating_sub(1), high.min(self.grid.last()))
    }
}
