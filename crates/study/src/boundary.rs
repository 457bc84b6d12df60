//! Where a goal stops being kept, from what trials at many loads say.
//!
//! Three steps, each for what the one before cannot do:
//! 1. The *split*: the load below which trials should be good and above which
//!    bad, so that the fewest measured seconds contradict it. That is the
//!    monotone (isotonic) fit of good and bad seconds in the L1 norm, and one
//!    disturbed trial, however gross, moves it by one trial at most. Good and
//!    bad seconds per load are RFC 9971's (MLRsearch), with "the goal was
//!    broken" for its loss; a load changes sides when later trials disagree.
//! 2. The *line* through the trials around the split ([`crate::logistic`]),
//!    and its root.
//! 3. The *interval* of the root by resampling trials ([`crate::bootstrap`]).
//!
//! Where no trial lies between a load with far fewer broken requests than
//! allowed and one with far more, no line has been seen, and a root would be
//! made up: it is a *gap*, and the interval is the two loads.

use crate::bootstrap::{self, RESAMPLES, resample_times};
use crate::evidence::{Evidence, Seen};
use crate::logistic::{Count, Line, fit};
use crate::theil_sen;
use plimsoll_model::Estimate;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Shares that differ from the goal's by more than this factor lie far from
/// the boundary: the line is not trusted there, nor across.
const FAR: f64 = 10.0;
/// The widest neighbourhood of the split that a first line is drawn through,
/// as a part of the load.
pub(crate) const AROUND: f64 = 0.25;
/// Resamples of an interval that is only gone by.
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

/// Where a goal stops being kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Boundary {
    /// It was kept at all loads up to this rate.
    Above(f64),
    /// It was broken at all loads down to this rate.
    Below(f64),
    /// Within these rates, by a line through trials around it.
    Line {
        /// The rate.
        rate: Estimate,
        /// By how much the logarithm of the odds grows per e-fold of rate.
        slope: f64,
    },
    /// Between these two loads, with no line to be seen: nothing was tried
    /// between them, or what was does not rise.
    Gap {
        /// The highest load below it.
        low: Side,
        /// The lowest load above it.
        high: Side,
    },
}

/// A load beside a gap, and what its trials say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Side {
    /// The load's rate.
    pub rate: f64,
    /// Trials in which the goal was kept.
    pub kept: usize,
    /// All of them.
    pub of: usize,
}

/// Whether an interval is wanted, which takes hundreds of times as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// With one to be stated; this seeds the resampling.
    Seeded(u64),
    /// With one that is good enough to go on by.
    Rough(u64),
    /// Without.
    None,
}

/// Where the share `share` is crossed; `None` without evidence.
pub fn locate(evidence: &[Evidence], share: f64, interval: Interval) -> Option<Boundary> {
    let loads = Load::group(evidence, share);
    let (lowest, highest) = (loads.first()?.rate, loads.last()?.rate);
    let above = split(&loads);
    if above == 0 {
        return Some(Boundary::Below(lowest));
    }
    if above == loads.len() {
        return Some(Boundary::Above(highest));
    }
    let (low, high) = (loads[above - 1], loads[above]);
    let gap = gap(&loads, above);
    let is_cliff = low.share < share / FAR && high.share > (share * FAR).min(0.5);
    // A line from one to the other would be drawn through nothing.
    let is_wide = (high.rate / low.rate).ln() > 2.0 * AROUND;
    if is_cliff || is_wide {
        return Some(gap);
    }
    let reference = (low.rate * high.rate).sqrt();
    // Far broken below the split: other trials there kept the goal, so this
    // one was disturbed. What disturbs makes nothing better, so there is no
    // such rule above. A measured share is not one of requests: below a goal of
    // 80 % it may be 70.
    let is_far = |e: &Evidence| match e.seen {
        Seen::Measured(_) => false,
        Seen::Counted { .. } | Seen::NotCarried => e.share() > (share * FAR).min(0.5),
    };
    let disturbed = |e: &&Evidence| e.rate <= low.rate && is_far(e);
    let trusted: Vec<Evidence> = evidence.iter().filter(|e| !disturbed(e)).copied().collect();
    let near = Neighbours::of(&trusted, reference, share);
    match near.line().filter(|(rate, _)| near.reaches(*rate)) {
        Some((rate, slope)) => Some(Boundary::Line {
            rate: near.estimate((rate, slope), interval),
            slope,
        }),
        // Nothing rises, or crosses the goal where nothing was tried: between
        // the two loads is all that can be said.
        None => Some(gap),
    }
}

/// What is between the loads below the split and those above it. A load that
/// was broken as often as kept is no load at which the goal was kept.
fn gap(loads: &[Load], above: usize) -> Boundary {
    let is_kept = |load: &Load| 2 * load.kept > load.of;
    let below = loads[..above].iter().rposition(is_kept);
    let low = below.unwrap_or(above - 1);
    Boundary::Gap {
        low: loads[low].side(),
        high: loads[low + 1].side(),
    }
}

/// All trials at one rate.
#[derive(Debug, Clone, Copy)]
struct Load {
    rate: f64,
    good_s: f64,
    bad_s: f64,
    kept: usize,
    of: usize,
    /// Over its carried trials; 1 if there is none.
    share: f64,
}

impl Load {
    fn group(evidence: &[Evidence], share: f64) -> Vec<Load> {
        let groups = Evidence::by_load(evidence);
        groups.iter().map(|group| Load::of(group, share)).collect()
    }

    fn of(group: &[&Evidence], share: f64) -> Load {
        let seconds = |bad: bool| {
            let of_kind = group.iter().filter(|e| (e.share() > share) == bad);
            of_kind.map(|e| e.seconds).sum::<f64>()
        };
        let mut shares: Vec<f64> = group.iter().map(|e| e.share()).collect();
        shares.sort_by(f64::total_cmp);
        Load {
            rate: group.first().map_or(0.0, |e| e.rate),
            good_s: seconds(false),
            bad_s: seconds(true),
            kept: group.iter().filter(|e| e.share() <= share).count(),
            of: group.len(),
            // The median: one disturbed trial does not decide.
            share: (shares[(shares.len() - 1) / 2] + shares[shares.len() / 2]) / 2.0,
        }
    }
}

impl Load {
    fn side(&self) -> Side {
        Side {
            rate: self.rate,
            kept: self.kept,
            of: self.of,
        }
    }
}

/// How many of the loads, from the lowest, lie below the boundary, so that the
/// fewest seconds contradict it; of equal ones the middle, and rather lower.
fn split(loads: &[Load]) -> usize {
    let good: f64 = loads.iter().map(|l| l.good_s).sum();
    let mut contradicting = vec![good];
    let mut now = good;
    for load in loads {
        now += load.bad_s - load.good_s;
        contradicting.push(now);
    }
    let least = contradicting.iter().copied().fold(f64::INFINITY, f64::min);
    let is_least = |at: &usize| contradicting[*at] <= least + 1e-9;
    let best: Vec<usize> = (0..contradicting.len()).filter(is_least).collect();
    best[(best.len() - 1) / 2]
}

/// The trials that a line is drawn through.
struct Neighbours {
    trials: Vec<Evidence>,
    reference: f64,
    share: f64,
}

impl Neighbours {
    /// Those around `reference`; once a line is there, those on it whose share
    /// is within [`FAR`] of the goal's.
    fn of(evidence: &[Evidence], reference: f64, share: f64) -> Neighbours {
        let carried = |e: &&Evidence| e.seen != Seen::NotCarried;
        let all: Vec<Evidence> = evidence.iter().filter(carried).copied().collect();
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

    /// Whether the trials tell how far trials differ: counts do by themselves,
    /// a measured quantity only where a load was tried twice.
    fn shows_scatter(&self) -> bool {
        let is_count = |e: &Evidence| matches!(e.seen, Seen::Counted { .. });
        let mut rates: Vec<f64> = self.trials.iter().map(|e| e.rate).collect();
        rates.sort_by(f64::total_cmp);
        self.trials.iter().any(is_count) || rates.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Whether trials lie on both sides of a rate.
    fn reaches(&self, rate: f64) -> bool {
        // A root at a load that was tried may miss it by a bit.
        let bit = 1.0 + 1e-9;
        let below = self.trials.iter().any(|e| e.rate <= rate * bit);
        below && self.trials.iter().any(|e| e.rate >= rate / bit)
    }

    /// The root and the slope.
    fn line(&self) -> Option<(f64, f64)> {
        self.line_through(&self.trials, None)
    }

    /// The same through other trials, starting from a root and a slope.
    fn line_through(&self, trials: &[Evidence], near: Option<(f64, f64)>) -> Option<(f64, f64)> {
        let (root, slope) = match trials.first()?.seen {
            Seen::Measured(_) => straight(trials, self.reference, self.share)?,
            Seen::Counted { .. } | Seen::NotCarried => {
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
            Seen::Measured(_) | Seen::NotCarried => None,
        }
    }

    fn estimate(&self, (rate, slope): (f64, f64), interval: Interval) -> Estimate {
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
        // wider of two intervals counts.
        let (Some((low, high)), Some(least)) =
            (resampled.interval(), self.least_width(rate, slope))
        else {
            return resampled;
        };
        {
            let least = least.exp();
            Estimate::within(rate, low.min(rate / least), high.max(rate * least))
        }
    }

    /// Half the width, of the rate's logarithm, by the line's standard error at
    /// its root and Student's t.
    fn least_width(&self, rate: f64, slope: f64) -> Option<f64> {
        let counts: Vec<Count> = self.trials.iter().filter_map(|e| self.count(e)).collect();
        let root = (rate / self.reference).ln();
        let line = Line::crossing(self.share, root, slope);
        let (error, free) = line.root_error(root, &counts)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const P99: f64 = 0.01;

    fn counted(rate: f64, share: f64) -> Evidence {
        Evidence {
            rate,
            seconds: 1.0,
            seen: Seen::Counted {
                over: (share * 10_000.0).round(),
                of: 10_000.0,
                thinning: 1.0,
                independent: 10_000.0,
            },
        }
    }

    /// The share grows e-fold per 5 % of load; 1 % at a rate of 1000.
    fn truth(rate: f64) -> f64 {
        let odds = (P99 / (1.0 - P99)).ln() + 20.0 * (rate / 1000.0).ln();
        1.0 / (1.0 + (-odds).exp())
    }

    fn at(rates: &[f64]) -> Vec<Evidence> {
        rates.iter().map(|r| counted(*r, truth(*r))).collect()
    }

    #[test]
    fn the_boundary_lies_where_the_share_crosses_the_goal() {
        let trials = at(&[500.0, 900.0, 950.0, 980.0, 1030.0, 1060.0, 1100.0]);
        let Some(Boundary::Line { rate, .. }) = locate(&trials, P99, Interval::Seeded(1)) else {
            panic!("no line");
        };
        assert!((rate.value / 1000.0 - 1.0).abs() < 2e-3, "{rate:?}");
        let (low, high) = rate.interval().unwrap();
        assert!(low <= 1000.0 && 1000.0 <= high);
    }

    #[test]
    fn a_gross_disturbance_at_low_load_does_not_move_it() {
        let mut trials = at(&[300.0, 500.0, 900.0, 950.0, 980.0, 1030.0, 1060.0, 1100.0]);
        trials.push(counted(500.0, 0.7));
        let Some(Boundary::Line { rate, .. }) = locate(&trials, P99, Interval::None) else {
            panic!("no line");
        };
        assert!((rate.value / 1000.0 - 1.0).abs() < 2e-3, "{rate:?}");
    }

    #[test]
    fn a_jump_between_two_loads_is_a_gap() {
        let trials = [
            counted(900.0, 0.0),
            counted(950.0, 0.0),
            counted(1000.0, 0.9),
        ];
        let side = |rate, kept| Side { rate, kept, of: 1 };
        assert_eq!(
            locate(&trials, P99, Interval::None),
            Some(Boundary::Gap {
                low: side(950.0, 1),
                high: side(1000.0, 0)
            })
        );
    }

    #[test]
    fn later_trials_open_a_load_again() {
        let mut trials = vec![
            counted(900.0, 0.0),
            counted(1000.0, 0.5),
            counted(1100.0, 0.5),
        ];
        assert!(matches!(
            locate(&trials, P99, Interval::None),
            Some(Boundary::Gap { high, .. }) if high.rate == 1000.0
        ));
        trials.extend([counted(1000.0, 0.0), counted(1000.0, 0.0)]);
        assert!(matches!(
            locate(&trials, P99, Interval::None),
            Some(Boundary::Gap { low, .. }) if (low.rate, low.kept, low.of) == (1000.0, 2, 3)
        ));
    }

    #[test]
    fn no_line_is_drawn_over_loads_far_apart_or_crosses_where_nothing_was_tried() {
        let far_apart = at(&[100.0, 500.0, 1600.0]);
        assert!(matches!(
            locate(&far_apart, P99, Interval::Seeded(1)),
            Some(Boundary::Gap { low, high }) if (low.rate, high.rate) == (500.0, 1600.0)
        ));
        // Overload in which trials at the same load disagree.
        let trials = [
            counted(900.0, 0.001),
            counted(1000.0, 0.001),
            counted(1000.0, 0.6),
            counted(1100.0, 0.001),
            counted(1100.0, 0.6),
        ];
        match locate(&trials, P99, Interval::Seeded(1)) {
            Some(Boundary::Line { rate, .. }) => assert!(rate.value <= 1100.0, "{rate:?}"),
            other => assert!(matches!(other, Some(Boundary::Gap { .. })), "{other:?}"),
        }
    }

    #[test]
    fn all_kept_and_none_kept_are_no_boundary() {
        let kept = [counted(500.0, 0.0), counted(900.0, 0.001)];
        assert_eq!(
            locate(&kept, P99, Interval::None),
            Some(Boundary::Above(900.0))
        );
        let broken = [counted(500.0, 0.5), counted(900.0, 0.6)];
        assert_eq!(
            locate(&broken, P99, Interval::None),
            Some(Boundary::Below(500.0))
        );
        assert_eq!(locate(&[], P99, Interval::None), None);
    }

    #[test]
    fn a_measured_share_is_solved_by_a_straight_line() {
        let trials: Vec<Evidence> = [600.0, 700.0, 800.0, 900.0, 1000.0]
            .iter()
            .map(|rate| Evidence {
                rate: *rate,
                seconds: 1.0,
                seen: Seen::Measured(rate / 1000.0),
            })
            .collect();
        let Some(Boundary::Line { rate, .. }) = locate(&trials, 0.8, Interval::None) else {
            panic!("no line");
        };
        assert!((rate.value / 800.0 - 1.0).abs() < 0.01, "{rate:?}");
    }

    proptest! {
        #[test]
        fn order_and_scale_do_not_matter(
            mut rates in prop::collection::vec(500.0..1500.0f64, 3..20),
            scale in 0.1..1000.0f64,
        ) {
            let one = locate(&at(&rates), P99, Interval::None);
            rates.reverse();
            let scaled: Vec<Evidence> = at(&rates)
                .into_iter()
                .map(|e| Evidence { rate: e.rate * scale, ..e })
                .collect();
            let other = locate(&scaled, P99, Interval::None);
            match (one, other) {
                (Some(Boundary::Line { rate: a, .. }), Some(Boundary::Line { rate: b, .. })) => {
                    prop_assert!((a.value * scale / b.value - 1.0).abs() < 1e-6);
                }
                (Some(a), Some(b)) => {
                    prop_assert_eq!(std::mem::discriminant(&a), std::mem::discriminant(&b));
                }
                (a, b) => prop_assert!(a.is_none() && b.is_none()),
            }
        }
    }
}
