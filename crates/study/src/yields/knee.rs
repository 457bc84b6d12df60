//! At which headroom latency begins to rise.
//!
//! What is known is the logarithm of latency against the service alone, of each
//! pass at each headroom. Two segments are fitted to its means over the passes by
//! least squares: `a` at and above the knee `k`, and `a + b (k - h)` below it, with
//! `b >= 0`, since less headroom cannot cost less (two-phase regression: Hudson,
//! "Fitting Segmented Curves Whose Join Points Have to be Estimated", JASA 61, 1966;
//! Hinkley, "Inference in Two-Phase Regression", JASA 66, 1971). How far latency
//! rises at all is read from the isotonic fit ([`crate::isotonic`]), which supposes
//! no straight line. Intervals come from resampled passes.
//!
//! The knee is looked for in the means themselves: in an isotonic fit the noise of
//! a flat part ends in a small rise at its lower end, where it looks like a knee.
//!
//! A knee between the two least headrooms has no one place: any `k` between
//! them fits alike. All of that is then in the interval, and its middle is the
//! value.

use super::FEWEST_PAIRS;
use crate::{bootstrap, isotonic};
use plimsoll_model::{Estimate, Knee, KneeStatus};
use std::collections::{BTreeMap, BTreeSet};

/// With three points, two segments always fit.
const FEWEST_POINTS: usize = 4;

/// How latency differs from that of the service alone at one headroom: the
/// logarithm of the ratio, by pass.
#[derive(Debug, Clone)]
pub(super) struct AtHeadroom {
    pub(super) headroom_pct: f64,
    pub(super) change: BTreeMap<u32, f64>,
}

/// The knee of `points`, ascending by headroom. `noise_pct` is how far two equal
/// measurements differ: what rises by no more has no knee.
pub(super) fn knee(points: &[AtHeadroom], noise_pct: Option<f64>, seed: u64) -> Knee {
    let passes: BTreeSet<u32> = points
        .iter()
        .flat_map(|p| p.change.keys().copied())
        .collect();
    let passes: Vec<u32> = passes.into_iter().collect();
    let n = passes.len();
    let all: Vec<usize> = (0..n).collect();
    let knee = |status, headroom_pct, rise_pct| Knee {
        status,
        headroom_pct,
        rise_pct,
    };
    let Some(found) = Bend::of(points, &passes, &all) else {
        return knee(KneeStatus::Inconclusive, None, None);
    };
    if n < FEWEST_PAIRS {
        let (at, rise) = (Estimate::alone(found.at()), Estimate::alone(found.rise_pct));
        return knee(KneeStatus::Inconclusive, Some(at), Some(rise));
    }
    // The same seed draws the same passes for all three.
    let of = |figure: fn(&Bend) -> f64, value: f64| {
        let drawn = |draw: &[usize]| Bend::of(points, &passes, draw).map(|bend| figure(&bend));
        bootstrap::estimate(value, bootstrap::resample(n, seed, drawn), n)
    };
    let rise = of(|b| b.rise_pct, found.rise_pct);
    let ends = of(|b| b.low, found.low)
        .low
        .zip(of(|b| b.high, found.high).high);
    let at = ends.map(|(low, high)| Estimate::within(found.at(), low, high));
    let range = match points {
        [first, .., last] => last.headroom_pct - first.headroom_pct,
        _ => 0.0,
    };
    let is_narrow = ends.is_some_and(|(low, high)| high - low <= range / 2.0);
    match (noise_pct, rise.low) {
        (Some(noise), _) if rise.value <= noise => knee(KneeStatus::None, None, Some(rise)),
        (Some(noise), Some(low)) if low > noise && is_narrow => {
            knee(KneeStatus::Found, at, Some(rise))
        }
        _ => knee(KneeStatus::Inconclusive, at, Some(rise)),
    }
}

/// Two segments: every join from `low` to `high` fits as well.
struct Bend {
    low: f64,
    high: f64,
    rise_pct: f64,
}

impl Bend {
    fn at(&self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// Those of the passes that are drawn; `None` where too few headrooms were
    /// measured in them.
    fn of(points: &[AtHeadroom], passes: &[u32], draw: &[usize]) -> Option<Bend> {
        let mean = |point: &AtHeadroom| {
            let drawn = draw.iter().filter_map(|at| passes.get(*at));
            let seen = drawn.filter_map(|pass| point.change.get(pass));
            let (sum, n) = seen.fold((0.0, 0.0), |(sum, n), change| (sum + change, n + 1.0));
            (n > 0.0).then_some((point.headroom_pct, sum / n, n))
        };
        // From the most headroom to the least, along which latency rises.
        let means: Vec<Point> = points.iter().rev().filter_map(mean).collect();
        if means.len() < FEWEST_POINTS {
            return None;
        }
        let weighted: Vec<(f64, f64)> = means.iter().map(|(_, y, n)| (*y, *n)).collect();
        let fitted = isotonic::fit(&weighted);
        let rise = fitted.last()? - fitted.first()?;
        let ascending: Vec<Point> = means.into_iter().rev().collect();
        let (low, high) = join(&ascending)?;
        Some(Bend {
            low,
            high,
            rise_pct: (rise.exp() - 1.0) * 100.0,
        })
    }
}

/// Headroom, latency, weight.
type Point = (f64, f64, f64);

/// Where the two segments join that are nearest to `points`, as the ends of all
/// joins that are. The nearest is at a point, or between two where the line
/// through those below meets the mean of those above (Hudson 1966, section 3).
fn join(points: &[Point]) -> Option<(f64, f64)> {
    let at_points = points.iter().map(|p| (p.0, p.0));
    let between = (2..points.len()).filter_map(|split| {
        let (below, above) = points.split_at(split);
        let (middle, height, slope) = line(below)?;
        let (_, level) = centre(above)?;
        let join = middle + (level - height) / slope;
        let within = (below.last()?.0..=above.first()?.0).contains(&join);
        within.then_some((join, join))
    });
    let first = points.first()?.0;
    let second = points.get(1)?.0;
    // Of equal ones the first is taken: nothing rises, or it does below the
    // second headroom.
    let all = [(first, first), (first, second)]
        .into_iter()
        .chain(at_points)
        .chain(between);
    let with_misfit = all.map(|(low, high)| (misfit(points, high), (low, high)));
    let scale: f64 = points.iter().map(|p| p.2).sum::<f64>() * f64::EPSILON;
    let nearest = with_misfit.reduce(|best, next| match next.0 + scale < best.0 {
        true => next,
        false => best,
    });
    nearest.map(|(_, join)| join)
}

/// Weighted means of headroom and latency.
fn centre(points: &[Point]) -> Option<(f64, f64)> {
    let weight: f64 = points.iter().map(|p| p.2).sum();
    let x = points.iter().map(|p| p.0 * p.2).sum::<f64>() / weight;
    let y = points.iter().map(|p| p.1 * p.2).sum::<f64>() / weight;
    (weight > 0.0).then_some((x, y))
}

/// The least squares line, as its middle, its height there, and its slope; `None`
/// unless it falls.
fn line(points: &[Point]) -> Option<(f64, f64, f64)> {
    let (x, y) = centre(points)?;
    let xx: f64 = points.iter().map(|p| p.2 * (p.0 - x).powi(2)).sum();
    let xy: f64 = points.iter().map(|p| p.2 * (p.0 - x) * (p.1 - y)).sum();
    let slope = xy / xx;
    (slope < 0.0).then_some((x, y, slope))
}

/// The sum of squares that the best two segments with this join leave.
fn misfit(points: &[Point], join: f64) -> f64 {
    // Against the distance below the join both segments are one line.
    let below: Vec<Point> = points
        .iter()
        .map(|(h, y, n)| (-(join - h).max(0.0), *y, *n))
        .collect();
    let (x, y, slope) = match line(&below) {
        Some(line) => line,
        None => {
            let (x, y) = centre(&below).unwrap_or_default();
            (x, y, 0.0)
        }
    };
    let left = |p: &Point| p.2 * (p.1 - y - slope * (p.0 - x)).powi(2);
    below.iter().map(left).sum()
}

#[cfg(test)]
mod tests;
