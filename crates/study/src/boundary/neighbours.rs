//! The trials around the split, and the line through them.

use super::{AROUND, FAR, Interval};
use crate::bootstrap::{self, RESAMPLES, resample_times};
use crate::evidence::{Evidence, Seen};
use crate::logistic::{Count, Line, fit};
use crate::serial::long_run_variance;
use crate::theil_sen;
use plimsoll_model::Estimate;
use statrs::distribution::{ContinuousCDF, StudentsT};

const ROUGH: usize = 199;
/// The confidence that intervals are read at in order to hold the truth as often
/// as [`plimsoll_model::CONFIDENCE`] says. Both kinds of interval take trials
/// for placed in advance; these were placed where the ones before pointed, and
/// their counts are skewed. On simulated queues intervals read at 95 % held the
/// truth in 86 to 95 of 100 sweeps (the seeds of that calibration are not those
/// of the tests); see docs/accuracy.md. Calibrating by simulation: Loh, JASA 82,
/// 1987.
const READ_AT: f64 = 0.975;
/// A line rests on so many loads to either side at least: one alone gives
/// chance a long lever.
const LOADS_ASIDE: usize = 2;

/// How trials near a boundary differ from its line in the course of a run.
pub(crate) struct TimeOrder {
    /// Pearson's, in the order of the trials.
    pub(crate) residuals: Vec<f64>,
    /// By how much the logarithm of the rate fell, and how many standard errors that is.
    pub(crate) shift: Option<(f64, f64)>,
}

/// The trials that a line is drawn through.
pub(super) struct Neighbours {
    trials: Vec<Evidence>,
    reference: f64,
    share: f64,
}

impl Neighbours {
    /// Those around `reference`, between the loads beside the split; once a line is
    /// there, those on it whose share is within [`FAR`] of the goal's.
    pub(super) fn of(evidence: &[Evidence], reference: f64, share: f64) -> Neighbours {
        // Above the split what is seen of a trial that was not carried is its length.
        let says_share = |e: &&Evidence| e.carried || e.rate < reference;
        let all: Vec<Evidence> = evidence.iter().filter(says_share).copied().collect();
        let near = Neighbours {
            trials: around(&all, reference, AROUND),
            reference,
            share,
        };
        if let Some((rate, slope)) = near.line() {
            let closer = Neighbours {
                trials: around(&all, rate, (FAR.ln() / slope).min(AROUND)),
                ..near
            };
            // A few trials side by side may fall by chance, and their line
            // then crosses the goal where none of them is.
            if closer.line().is_some_and(|(rate, _)| closer.reaches(rate)) {
                return closer;
            }
        }
        near
    }

    /// Whether the trials show how far trials differ: counts do by themselves,
    /// a measured quantity only where a load was tried twice.
    fn shows_scatter(&self) -> bool {
        let is_count = |e: &Evidence| matches!(e.seen, Seen::Counted { .. });
        let mut rates: Vec<f64> = self.trials.iter().map(|e| e.rate).collect();
        rates.sort_by(f64::total_cmp);
        self.trials.iter().any(is_count) || rates.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Whether trials lie on both sides of a rate.
    pub(super) fn reaches(&self, rate: f64) -> bool {
        // A root at a load that was tried may miss it by a bit.
        let bit = 1.0 + 1e-9;
        let below = self.trials.iter().any(|e| e.rate <= rate * bit);
        below && self.trials.iter().any(|e| e.rate >= rate / bit)
    }

    pub(super) fn line(&self) -> Option<(f64, f64)> {
        self.line_through(&self.trials, None)
    }

    /// The same through other trials, starting from a root and a slope.
    fn line_through(&self, trials: &[Evidence], near: Option<(f64, f64)>) -> Option<(f64, f64)> {
        let (root, slope) = match trials.first()?.seen {
            Seen::Measured(_) => straight(trials, self.reference, self.share)?,
            Seen::Counted { .. } | Seen::Nothing => {
                let counts: Vec<Count> = trials.iter().filter_map(|e| self.count(e)).collect();
                let near = near.map(|(rate, slope)| {
                    Line::crossing(self.share, (rate / self.reference).ln(), slope)
                });
                let line = fit(&counts, near)?;
                (line.root(self.share), line.b)
            }
        };
        // Far from the split there is no knowledge, only a line.
        Some((self.reference * root.clamp(-AROUND, AROUND).exp(), slope))
    }

    /// The line's residuals, in the order of the trials, and its shift in their order.
    pub(super) fn time_order(&self) -> Option<TimeOrder> {
        let root_and_slope = self.line()?;
        let (line, counts) = (self.crossing(root_and_slope), self.counts());
        Some(TimeOrder {
            residuals: counts.iter().map(|count| line.residual(count)).collect(),
            shift: line.shift(&counts),
        })
    }

    fn crossing(&self, (rate, slope): (f64, f64)) -> Line {
        Line::crossing(self.share, (rate / self.reference).ln(), slope)
    }

    fn counts(&self) -> Vec<Count> {
        self.trials.iter().filter_map(|e| self.count(e)).collect()
    }

    fn count(&self, evidence: &Evidence) -> Option<Count> {
        match evidence.seen {
            Seen::Counted {
                over, of, thinning, ..
            } => Some(Count {
                x: (evidence.rate / self.reference).ln(),
                over,
                of,
                thinning,
            }),
            Seen::Measured(_) | Seen::Nothing => None,
        }
    }

    pub(super) fn estimate(&self, (rate, slope): (f64, f64), interval: Interval) -> Estimate {
        let (times, seed) = match interval {
            Interval::Seeded(seed) => (RESAMPLES, seed),
            Interval::Rough(seed) => (ROUGH, seed),
            Interval::None => return Estimate::alone(rate),
        };
        if !self.shows_scatter() {
            return Estimate::alone(rate);
        }
        let n = self.trials.len();
        let mut drawn = Vec::with_capacity(n);
        let replicates = resample_times(times, n, seed, |draw| {
            drawn.clear();
            drawn.extend(draw.iter().map(|i| self.trials[*i]));
            Some(self.line_through(&drawn, Some((rate, slope)))?.0)
        });
        let resampled = bootstrap::estimate_at(READ_AT, rate, replicates, n);
        // Few trials agree by chance more often than resampling them shows: the
        // wider of two intervals is used.
        let (Some((low, high)), Some(least)) =
            (resampled.interval(), self.least_width(rate, slope))
        else {
            return resampled;
        };
        let line = self.crossing((rate, slope));
        let residuals: Vec<f64> = self.counts().iter().map(|c| line.residual(c)).collect();
        let wider = long_run_variance(&residuals).sqrt();
        // As far as resampled rates lie above this one, this one may lie above the truth (the
        // basic bootstrap: Davison and Hinkley, "Bootstrap Methods", 1997, section 5.2).
        // The quantiles themselves would turn the skew round: slow requests come in bursts, and
        // few bursts are likelier too few than too many.
        let below = (high / rate).ln().max(least) * wider;
        let above = (rate / low).ln().max(least) * wider;
        Estimate::within(rate, rate * (-below).exp(), rate * above.exp())
    }

    /// Half the width, of the rate's logarithm, by the line's standard error at
    /// its root and Student's t.
    fn least_width(&self, rate: f64, slope: f64) -> Option<f64> {
        let line = self.crossing((rate, slope));
        let root = (rate / self.reference).ln();
        let (error, free) = line.root_error(root, &self.counts())?;
        let t = StudentsT::new(0.0, 1.0, free).ok()?;
        // Wider than this, it only says that nothing is known.
        Some((t.inverse_cdf((1.0 + READ_AT) / 2.0) * error).min(1.0))
    }
}

/// Those whose rate differs from `centre` by at most `reach` as a logarithm,
/// and always those at the nearest [`LOADS_ASIDE`] loads to either side.
fn around(trials: &[Evidence], centre: f64, reach: f64) -> Vec<Evidence> {
    let distance = |rate: f64| (rate / centre).ln();
    let nearest = |side: f64| {
        let mut far: Vec<f64> = trials.iter().map(|e| side * distance(e.rate)).collect();
        far.retain(|far| *far >= 0.0);
        far.sort_by(f64::total_cmp);
        far.dedup();
        far.truncate(LOADS_ASIDE);
        far.last().copied().unwrap_or(0.0).max(reach)
    };
    let (below, above) = (nearest(-1.0), nearest(1.0));
    let is_near = |e: &&Evidence| (-below..=above).contains(&distance(e.rate));
    trials.iter().filter(is_near).copied().collect()
}

/// Root and slope, both over `ln(rate / reference)`, of a measured share, which
/// is close to linear in the rate itself.
fn straight(trials: &[Evidence], reference: f64, share: f64) -> Option<(f64, f64)> {
    let points: Vec<(f64, f64)> = trials
        .iter()
        .map(|e| (e.rate / reference - 1.0, e.share()))
        .collect();
    let slope = theil_sen::slope(&points).filter(|slope| *slope > 0.0)?;
    let mut rests: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    let at_reference = theil_sen::median(&mut rests)?;
    let root = (share - at_reference) / slope;
    (root > -1.0).then(|| (root.ln_1p(), slope * (1.0 + root) / share))
}
