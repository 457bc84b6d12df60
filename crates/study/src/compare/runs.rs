//! Means of runs, their difference, and the interval of it.
//!
//! What changes between runs does not show within one, so the units that vary are runs
//! (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013). Where
//! there are enough of them, the interval is Student's t on their values. What varies
//! within runs is part of how they differ; adding it would count it twice.
//!
//! - With three runs or more of each machine: Welch's test (*Biometrika* 34, 1947), with
//!   Satterthwaite's degrees of freedom. Machines may vary differently.
//! - With fewer: one variance for both, with a degree of freedom for each run beyond the
//!   first of a machine. Two runs cannot show by how much a machine varies.
//! - With less than two degrees of freedom, Student's t is of no use (12.7 for one), and
//!   the deviation from run to run is assumed, or as large as the runs differ if that is
//!   more. It is added in squares to the distances from value to limit of each run (MOVER:
//!   Zou and Donner, *Statistics in Medicine* 27, 2008), which need no symmetry.

use plimsoll_model::{CONFIDENCE, Estimate, RunToRun, RunToRunFrom};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The standard deviation from run to run of runs that cannot show it: the drift
/// under which two single runs of one service are to be distinguished from a change.
pub const ASSUMED_DEVIATION: f64 = 0.03;

/// The normal distribution's quantile for an interval at [`CONFIDENCE`].
const NORMAL: f64 = 1.959_964;

/// The fewest degrees of freedom that a variance is taken from.
const FEWEST_FREE: f64 = 2.0;

/// The fewest runs of each machine whose variances are estimated apart.
const FEWEST_FOR_WELCH: usize = 3;

/// Runs of a machine, and whether their mean is added or taken away.
#[derive(Clone, Copy)]
pub(super) struct Term<'a> {
    pub(super) runs: &'a [Estimate],
    pub(super) sign: f64,
}

impl Term<'_> {
    fn number(&self) -> f64 {
        self.runs.len() as f64
    }

    fn free(&self) -> f64 {
        self.number() - 1.0
    }

    fn mean(&self) -> f64 {
        self.runs.iter().map(|run| run.value).sum::<f64>() / self.number()
    }

    fn squares(&self) -> f64 {
        let mean = self.mean();
        self.runs.iter().map(|run| (run.value - mean).powi(2)).sum()
    }

    /// Whether there are several runs, and none has an interval of its own.
    fn is_without_intervals(&self) -> bool {
        let is_alone = |run: &Estimate| run.low.is_none() && run.high.is_none();
        self.runs.len() > 1 && self.runs.iter().all(is_alone)
    }

    /// The squared distance from the mean to an end of its interval, by what varies
    /// within runs; `None` where an end is open.
    fn within(&self, is_upper: bool) -> Option<f64> {
        let to_end = |run: &Estimate| {
            let end = if is_upper { run.high } else { run.low };
            Some((end? - run.value).powi(2))
        };
        let sum: Option<f64> = self.runs.iter().map(to_end).sum();
        Some(sum? / self.number().powi(2))
    }
}

/// What is known of the variation from run to run, and how figures are scaled.
#[derive(Clone, Copy)]
pub(super) struct Deviation {
    /// What the user stated, as a share.
    pub(super) stated: Option<f64>,
    /// What it is a share of: 1 for logarithms.
    pub(super) scale: f64,
}

/// The sum of means of runs, with its interval, and what that takes runs to vary by.
pub(super) fn sum_of_means(terms: &[Term<'_>], deviation: Deviation) -> (Estimate, RunToRun) {
    let value = terms.iter().map(|term| term.sign * term.mean()).sum();
    let free: f64 = terms.iter().map(Term::free).sum();
    let squares: f64 = terms.iter().map(Term::squares).sum();
    let seen = (free > 0.0).then(|| (squares / free).sqrt());
    // Runs that agree but for rounding show no deviation.
    let differs = seen.filter(|sd| *sd > 1e-9 * deviation.scale);
    let measured = differs.filter(|_| free >= FEWEST_FREE && deviation.stated.is_none());
    if let Some((sd, (reach, free))) = measured.and_then(|sd| Some((sd, by_t(terms, sd, free)?))) {
        let estimate = Estimate::within(
            value,
            value - reach.max(of_single_runs(terms, false)),
            value + reach.max(of_single_runs(terms, true)),
        );
        let from = RunToRunFrom::Measured;
        return (estimate, run_to_run(from, sd / deviation.scale, Some(free)));
    }
    let from = match deviation.stated {
        Some(_) => RunToRunFrom::Stated,
        None => RunToRunFrom::Assumed,
    };
    let known = deviation.stated.unwrap_or(ASSUMED_DEVIATION) * deviation.scale;
    let sd = known.max(seen.unwrap_or(0.0));
    let between = (NORMAL * sd).powi(2) * terms.iter().map(|t| 1.0 / t.number()).sum::<f64>();
    let reach = |is_upper: bool| {
        let within = |term: &Term<'_>| match term.is_without_intervals() {
            // By how much they differ has what varies within them.
            true => Some(0.0),
            false => term.within((term.sign > 0.0) == is_upper),
        };
        let within: Option<f64> = terms.iter().map(within).sum();
        Some((within? + between).sqrt())
    };
    let estimate = Estimate {
        value,
        low: reach(false).map(|reach| value - reach),
        high: reach(true).map(|reach| value + reach),
    };
    (estimate, run_to_run(from, sd / deviation.scale, None))
}

/// A positive figure of one run with its interval for runs at other times. On logarithms,
/// [`ASSUMED_DEVIATION`] is added in squares to the distances from value to limit.
pub(crate) fn at_other_times(one: Estimate) -> Estimate {
    let between = NORMAL * ASSUMED_DEVIATION;
    let reach = |limit: f64| (limit / one.value).ln().hypot(between);
    Estimate {
        value: one.value,
        low: one.low.map(|low| one.value * (-reach(low)).exp()),
        high: one.high.map(|high| one.value * reach(high).exp()),
    }
}

/// The distance to an end of the interval by what varies within the only runs of their
/// machines: runs of another one do not show that.
fn of_single_runs(terms: &[Term<'_>], is_upper: bool) -> f64 {
    let single = terms.iter().filter(|term| term.runs.len() == 1);
    let within = single.filter_map(|term| term.within((term.sign > 0.0) == is_upper));
    within.sum::<f64>().sqrt()
}

fn run_to_run(from: RunToRunFrom, share: f64, degrees_of_freedom: Option<f64>) -> RunToRun {
    RunToRun {
        from,
        deviation_pct: 100.0 * share,
        degrees_of_freedom,
    }
}

/// The distance to the ends of the interval, and its degrees of freedom.
fn by_t(terms: &[Term<'_>], pooled: f64, free: f64) -> Option<(f64, f64)> {
    let apart = terms.iter().all(|term| term.runs.len() >= FEWEST_FOR_WELCH);
    let variance_of_mean = |term: &Term<'_>| match apart {
        true => term.squares() / term.free() / term.number(),
        false => pooled.powi(2) / term.number(),
    };
    let variances: Vec<f64> = terms.iter().map(variance_of_mean).collect();
    let variance: f64 = variances.iter().sum();
    let parts = variances.iter().zip(terms);
    let satterthwaite: f64 = parts.map(|(own, term)| own.powi(2) / term.free()).sum();
    let free = if apart {
        variance.powi(2) / satterthwaite
    } else {
        free
    };
    let t = StudentsT::new(0.0, 1.0, free).ok()?;
    let t = t.inverse_cdf((1.0 + CONFIDENCE) / 2.0);
    Some((t * variance.sqrt(), free))
}

/// A figure on the scale of logarithms; `None` unless it is above 0.
pub(super) fn logarithm(e: Estimate) -> Option<Estimate> {
    // The logarithm of a lower end of 0 is no number to reckon with; it opens
    // the interval.
    (e.value > 0.0 && e.value.is_finite()).then(|| Estimate {
        value: e.value.ln(),
        low: e.low.filter(|x| *x > 0.0).map(f64::ln),
        high: e.high.filter(|x| x.is_finite()).map(f64::ln),
    })
}

#[cfg(test)]
mod tests;
