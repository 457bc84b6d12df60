//! Where a goal stops being kept, from what trials at many loads say.
//!
//! Three steps, each for what the one before cannot do:
//! 1. The *split*: the load below which trials should be good and above which
//!    bad, so that the fewest measured seconds contradict it. That is the
//!    monotone (isotonic) fit of good and bad seconds in the L1 norm, and one
//!    disturbed trial, however gross, moves it by one trial at most. Good and
//!    bad seconds per load are RFC 9971's (MLRsearch), with "the goal was
//!    broken" for its loss; a load changes sides when later trials disagree.
//! 2. The *line* through the trials around the split (`logistic.rs`),
//!    and its root.
//! 3. The *interval* of the root by resampling trials ([`crate::bootstrap`]).
//!
//! Where no trial lies between a load with far fewer broken requests than
//! allowed and one with far more, no line has been seen, and a root would have
//! no basis: it is a *gap*, and the interval is the two loads.

mod neighbours;

use crate::evidence::Evidence;
use neighbours::{Neighbours, TimeOrder};
use plimsoll_model::Estimate;

/// Shares that differ from the goal's by more than this factor lie far from
/// the boundary: the line is not trusted there, nor across.
pub(crate) const FAR: f64 = 10.0;
/// The widest neighbourhood of the split that a first line is drawn through,
/// as a part of the load.
pub(crate) const AROUND: f64 = 0.25;

/// Where a goal stops being kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Boundary {
    /// It was kept at all loads up to this rate.
    Above(f64),
    /// It was broken at all loads down to this rate.
    Below(f64),
    /// Within these rates, by a line through trials around it.
    Line {
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
    pub rate: f64,
    /// Trials in which the goal was kept.
    pub kept: usize,
    pub of: usize,
    /// How long they measured together.
    pub seconds: f64,
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
    let is_cliff =
        low.share < share / FAR && high.share > (share * FAR).min(0.5) && is_clean(&loads, above);
    // A line from one to the other would be drawn through nothing.
    let is_wide = (high.rate / low.rate).ln() > 2.0 * AROUND;
    if is_cliff || is_wide {
        return Some(gap);
    }
    let reference = (low.rate * high.rate).sqrt();
    let near = Neighbours::of(evidence, reference, share);
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

/// How the trials near the boundary differ from its line in the course of the run; `None`
/// where there is no line.
pub(crate) fn time_order(evidence: &[Evidence], share: f64) -> Option<TimeOrder> {
    let Boundary::Line { rate, .. } = locate(evidence, share, Interval::None)? else {
        return None;
    };
    Neighbours::of(evidence, rate.value, share).time_order()
}

/// Whether no trial near the split contradicts it: one that does shows that the two loads
/// beside it may be as far apart as they are by chance.
fn is_clean(loads: &[Load], above: usize) -> bool {
    let edge = loads[above - 1].rate;
    let is_near = |load: &&Load| (load.rate / edge).ln().abs() <= AROUND;
    let below = loads[..above].iter().filter(is_near);
    let beyond = loads[above..].iter().filter(is_near);
    below.map(|load| load.of - load.kept).sum::<usize>() == 0
        && beyond.map(|load| load.kept).sum::<usize>() == 0
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
    /// The median of its trials; infinite where most were not carried.
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

    fn side(&self) -> Side {
        Side {
            rate: self.rate,
            kept: self.kept,
            of: self.of,
            seconds: self.good_s + self.bad_s,
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

#[cfg(test)]
mod tests;
