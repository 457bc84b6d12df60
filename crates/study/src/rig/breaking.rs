//! The breaking point: the stress at which half of all runs miss a deadline.
//!
//! A **trial** is a few runs at one stress; a run is *missed* when one of its jobs ended
//! too late ([`is_missed`]). A [`Search`] says at which stress to try next and when
//! enough is known; [`Search::estimate`] gives the breaking point with its interval.
//! Both are functions of the trials so far, so a search can be resumed.
//!
//! ```
//! use plimsoll_study::rig::breaking::{Direction, Search, Trial};
//!
//! let search = Search::new(Direction::FromBelow, 0.4, 1.2);
//! let mut trials = Vec::new();
//! while let Some(stress) = search.next_stress(&trials) {
//!     // A scheduler that meets every deadline below 0.93 and none above.
//!     let missed = if stress > 0.93 { 5 } else { 0 };
//!     trials.push(Trial { stress, runs: 5, missed });
//! }
//! let found = search.estimate(&trials).at().unwrap();
//! assert!(found.holds(0.93) && found.relative_half_width().unwrap() <= 0.025);
//! ```
//!
//! # What is assumed
//!
//! - Runs are missed independently of each other, with a probability that rises with
//!   stress as a logistic curve in its logarithm, from a floor `f` that stands for runs
//!   that noise spoils at any stress. Neither the width of the curve nor its floor is
//!   known: widths from a step to a 10-to-90 % span of about a factor of 2 are taken as
//!   equally probable per octave, and floors of 0, 2 and 10 % of equal probability.
//! - Before the first run any breaking point between [`Search::lowest`] and
//!   [`Search::highest`] is equally probable on a logarithmic scale.
//! - Where trials scatter more than independent runs do (Pearson's statistic: the
//!   scheduler drifts, or a neighbour is busy for some trials), their weight is divided
//!   by that dispersion (quasi-likelihood; McCullagh and Nelder, *Generalized Linear
//!   Models*, 1989, section 4.5). A drifting breaking point is estimated by its mean over
//!   the trials near it.
//!
//! The interval is the middle 97.5 % of the posterior distribution, widened as Student's t
//! is for few trials; with the search's rule to stop it holds the truth in 95 % of
//! searches or more (the tests simulate that). The posterior is summed on a grid: no
//! iteration that could fail to converge.
//!
//! # How a stress is classified
//!
//! As a load is by MLRsearch (RFC 9971), with an exceed ratio of one half: a stress
//! *breaks* when so many missed runs came with a probability of at most 5 % if half of
//! all runs were missed, *holds* when so few did, and is *undecided* between. Five runs
//! decide where all or none are missed.
//!
//! # How it searches
//!
//! From below it raises the stress in large steps until a trial misses half of its runs,
//! then goes back and rises in small steps through the range in which the outcome is
//! uncertain, again and again, until the interval is narrow. So each stress follows a
//! lower one. From above it does the same downwards. A scheduler whose breaking point
//! depends on what it did before shows that as a [`gap`] between the two.

mod posterior;

use crate::decide::{Decision, decide};
use plimsoll_model::Estimate;
use posterior::{Curves, Grid, Posterior};

/// How many runs a trial should have: the fewest that can decide alone.
pub const RUNS: u32 = 5;

/// Runs at one stress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    pub stress: f64,
    pub runs: u32,
    /// How many of them missed a deadline.
    pub missed: u32,
}

impl Trial {
    /// At least half of the runs were missed.
    fn broke(&self) -> bool {
        2 * self.missed >= self.runs
    }
}

/// Whether a run is missed: its latest job, by deadline, ended more than `tolerance`
/// times the schedule's length after its deadline. Not an absolute time: a tenth of a
/// millisecond is much for one schedule and nothing for another.
pub fn is_missed(latest_after_deadline_ns: i64, schedule_ns: u64, tolerance: f64) -> bool {
    latest_after_deadline_ns as f64 > tolerance * schedule_ns as f64
}

/// What the runs at a stress say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Fewer than half of all runs miss a deadline.
    Holds,
    /// More than half do.
    Breaks,
    Undecided,
}

/// The class of a stress, from all its runs.
pub fn classify(runs: u32, missed: u32) -> Level {
    match decide(f64::from(missed), f64::from(runs), 0.5) {
        Decision::Holds => Level::Holds,
        Decision::Fails => Level::Breaks,
        Decision::Undecided => Level::Undecided,
    }
}

/// From which side the breaking point is approached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    FromBelow,
    FromAbove,
}

/// A search for the breaking point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    pub direction: Direction,
    /// The range of stresses, above 0 and ascending. `highest` should be where every
    /// scheduler must break.
    pub lowest: f64,
    pub highest: f64,
    /// The width of the interval that is enough, as a share of the breaking point.
    pub width: f64,
    /// The runs after which it ends at any rate.
    pub most_runs: u32,
}

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Breaking {
    /// The stress at which half of all runs miss a deadline.
    At(Estimate),
    /// No run at the highest stress decides that it breaks there.
    HoldsAtHighest,
    /// It breaks at the lowest stress.
    BreaksAtLowest,
    /// Nothing was tried yet.
    NothingTried,
}

impl Breaking {
    /// The breaking point, where there is one.
    pub fn at(&self) -> Option<Estimate> {
        match self {
            Breaking::At(estimate) => Some(*estimate),
            _ => None,
        }
    }
}

/// The steps until a trial breaks from below, or holds from above, as a logarithm.
const LARGE_STEP: f64 = 0.2;
/// The probability of a missed run at either end of a series of small steps, and how
/// many steps it has.
const UNCERTAIN: f64 = 0.15;
const SMALL_STEPS: usize = 4;
/// The part of the posterior at an end of the range from which on the breaking point
/// may lie beyond it.
const AT_END: f64 = 0.025;

impl Search {
    /// To an interval of 5 %, with at most 600 runs.
    pub const fn new(direction: Direction, lowest: f64, highest: f64) -> Search {
        Search {
            direction,
            lowest,
            highest,
            width: 0.05,
            most_runs: 600,
        }
    }

    /// The next stress to try; `None` when the interval is narrow enough, the breaking
    /// point lies outside of the range, or the runs are used up.
    pub fn next_stress(&self, trials: &[Trial]) -> Option<f64> {
        self.next_by(&mut self.curves()?, trials)
    }

    fn next_by(&self, curves: &mut Curves, trials: &[Trial]) -> Option<f64> {
        let grid = curves.grid();
        let Some(last) = trials.last() else {
            return Some(self.first());
        };
        let runs: u64 = trials.iter().map(|t| u64::from(t.runs)).sum();
        if runs >= u64::from(self.most_runs) {
            return None;
        }
        let at = grid.nearest(last.stress);
        if !trials.iter().any(|t| self.turned(t)) {
            let end = match self.direction {
                Direction::FromBelow => grid.last(),
                Direction::FromAbove => 0,
            };
            let large = (LARGE_STEP / grid.step()).round() as usize;
            return match at == end {
                false => Some(grid.stress(self.further(at, large).min(grid.last()))),
                // Repeated until the class of the end is decided.
                true if self.class_at(grid, trials, end) == Level::Undecided => {
                    Some(grid.stress(end))
                }
                true => None,
            };
        }
        let posterior = curves.posterior(trials);
        match self.conclude(grid, &posterior, trials) {
            found if self.is_narrow(&found) => None,
            Breaking::At(_) | Breaking::NothingTried => {
                Some(grid.stress(self.small_step(grid, &posterior, last, at)))
            }
            Breaking::HoldsAtHighest | Breaking::BreaksAtLowest => None,
        }
    }

    /// Whether a trial ended the approach: it broke from below, or held from above.
    fn turned(&self, trial: &Trial) -> bool {
        trial.broke() == (self.direction == Direction::FromBelow)
    }

    fn is_narrow(&self, found: &Breaking) -> bool {
        let half = found.at().and_then(|at| at.relative_half_width());
        half.is_some_and(|half| half <= self.width / 2.0)
    }

    /// The breaking point by the trials so far. Its interval may still be wide.
    pub fn estimate(&self, trials: &[Trial]) -> Breaking {
        match self.curves().filter(|_| !trials.is_empty()) {
            None => Breaking::NothingTried,
            Some(mut curves) => self.estimate_by(&mut curves, trials),
        }
    }

    fn estimate_by(&self, curves: &mut Curves, trials: &[Trial]) -> Breaking {
        self.conclude(curves.grid(), &curves.posterior(trials), trials)
    }

    fn conclude(&self, grid: Grid, posterior: &Posterior, trials: &[Trial]) -> Breaking {
        let decided = |end, wanted| self.class_at(grid, trials, end) == wanted;
        let (below, above) = posterior.at_ends();
        if below > AT_END && decided(0, Level::Breaks) {
            return Breaking::BreaksAtLowest;
        }
        if above > AT_END && decided(grid.last(), Level::Holds) {
            return Breaking::HoldsAtHighest;
        }
        let (low, middle, high) = posterior.interval();
        Breaking::At(Estimate::within(middle, low, high))
    }

    fn curves(&self) -> Option<Curves> {
        Grid::over(self.lowest, self.highest, self.width).map(Curves::over)
    }

    fn first(&self) -> f64 {
        match self.direction {
            Direction::FromBelow => self.lowest,
            Direction::FromAbove => self.highest,
        }
    }

    fn further(&self, at: usize, by: usize) -> usize {
        match self.direction {
            Direction::FromBelow => at + by,
            Direction::FromAbove => at.saturating_sub(by),
        }
    }

    fn class_at(&self, grid: Grid, trials: &[Trial], at: usize) -> Level {
        let there = trials.iter().filter(|t| grid.nearest(t.stress) == at);
        let (runs, missed) = there.fold((0, 0), |(r, m), t| (r + t.runs, m + t.missed));
        classify(runs, missed)
    }

    /// The next place of a series through the uncertain range, or its beginning.
    fn small_step(&self, grid: Grid, posterior: &Posterior, last: &Trial, at: usize) -> usize {
        let (low, high) = posterior.uncertain(UNCERTAIN);
        let step = ((high - low) / SMALL_STEPS).max(1);
        let next = self.further(at, step).min(grid.last());
        let (start, goes_on) = match self.direction {
            Direction::FromBelow => (low, !self.turned(last) && at + step >= low && next <= high),
            Direction::FromAbove => (high, !self.turned(last) && at <= high + step && next >= low),
        };
        if goes_on && next != at { next } else { start }
    }
}

/// How much higher the breaking point is from above than from below; below 0 it is
/// lower. The estimates are of independent trials, so the squares of their half widths
/// add up.
pub fn gap(from_below: &Estimate, from_above: &Estimate) -> Estimate {
    let value = from_above.value - from_below.value;
    let part = |of: &Estimate, end: Option<f64>| end.map(|end| (end - of.value).powi(2));
    let square = |low: Option<f64>, high: Option<f64>| Some((low? + high?).sqrt());
    let down = square(
        part(from_above, from_above.low),
        part(from_below, from_below.high),
    );
    let up = square(
        part(from_above, from_above.high),
        part(from_below, from_below.low),
    );
    match down.zip(up) {
        Some((down, up)) => Estimate::within(value, value - down, value + up),
        None => Estimate::alone(value),
    }
}

#[cfg(test)]
mod tests;
