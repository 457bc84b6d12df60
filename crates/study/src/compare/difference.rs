//! A machine against the first, and what follows.

use super::Side;
use super::runs::{Deviation, Term, sum_of_means};
use super::side::{Sample, figures, mean_value, threshold_runs};
use plimsoll_model::{
    Carried, Difference, DifferenceVerdict, Estimate, NoInterval, NoIntervalCode, RunToRun,
    ThresholdDifference,
};

/// One row per figure that both have.
pub(super) fn of_figures(first: &Side, other: &Side, deviation: Deviation) -> Vec<Difference> {
    let mut rows = Vec::new();
    for goal in first.runs[0].capacities.iter().map(|c| c.goal) {
        let its = figures(other, &goal);
        for (measure, base) in figures(first, &goal) {
            let Some((_, carried)) = its.iter().find(|(of, _)| *of == measure) else {
                continue;
            };
            let found = ratio(&base, carried, deviation);
            let ratio = found.map(|(ratio, _)| ratio);
            rows.push(Difference {
                name: other.name.clone(),
                against: first.name.clone(),
                goal,
                measure,
                ratio,
                run_to_run: found.map(|(_, deviation)| deviation),
                verdict: ratio.map_or(DifferenceVerdict::Inconclusive, |r| verdict(r, 1.0)),
                why: why_not([(first, &base), (other, carried)], ratio),
            });
        }
    }
    rows
}

/// The quotient of two figures; `None` where there is none, or of two lower bounds.
fn ratio(
    base: &[Carried],
    carried: &[Carried],
    deviation: Deviation,
) -> Option<(Estimate, RunToRun)> {
    let (base, carried) = (Sample::of(base), Sample::of(carried));
    let (base, is_base_bound) = base.values()?;
    let (carried, is_bound) = carried.values()?;
    if is_base_bound && is_bound {
        return None;
    }
    let (mut ratio, run_to_run) = difference(base, carried, deviation);
    if is_bound {
        ratio.high = None;
    }
    if is_base_bound {
        ratio.low = None;
    }
    let bounded = ratio.low.is_some() || ratio.high.is_some();
    (bounded || !(is_base_bound || is_bound)).then(|| (ratio.map_rising(f64::exp), run_to_run))
}

/// `b - a` of the means of runs.
fn difference(a: &[Estimate], b: &[Estimate], deviation: Deviation) -> (Estimate, RunToRun) {
    let terms = [
        Term {
            runs: a,
            sign: -1.0,
        },
        Term { runs: b, sign: 1.0 },
    ];
    sum_of_means(&terms, deviation)
}

/// A reason, and the capacities that it applies to.
type Reason = (NoIntervalCode, fn(Carried) -> bool);

/// Why there is no interval, if there is none, and of which machines or runs.
fn why_not(both: [(&Side, &[Carried]); 2], ratio: Option<Estimate>) -> Option<NoInterval> {
    if ratio.is_some_and(|r| r.low.is_some() || r.high.is_some()) {
        return None;
    }
    let reasons: [Reason; 3] = [
        (NoIntervalCode::UnknownCapacity, |c| c == Carried::Unknown),
        (NoIntervalCode::LowerBound, |c| {
            matches!(c, Carried::AtLeast(_))
        }),
        (NoIntervalCode::TooFewTrials, |c| {
            c.estimate().is_none_or(|e| e.interval().is_none())
        }),
    ];
    let applies = reasons.into_iter().find_map(|(code, holds)| {
        let of = |(side, runs): &(&Side, &[Carried])| {
            let each = side.runs.iter().zip(*runs);
            let each = each.filter(|(_, carried)| holds(**carried));
            let names: Vec<String> = each.map(|(run, _)| run.name.clone()).collect();
            match side.runs.len() {
                1 => names.iter().map(|_| side.name.clone()).collect(),
                _ => names,
            }
        };
        let machines: Vec<String> = both.iter().flat_map(of).collect();
        (!machines.is_empty()).then_some(NoInterval { code, machines })
    });
    Some(applies.unwrap_or(NoInterval {
        code: NoIntervalCode::ReachesZero,
        machines: Vec::new(),
    }))
}

fn verdict(figure: Estimate, even: f64) -> DifferenceVerdict {
    if figure.low.is_some_and(|low| low > even) {
        DifferenceVerdict::Better
    } else if figure.high.is_some_and(|high| high < even) {
        DifferenceVerdict::Worse
    } else {
        DifferenceVerdict::Inconclusive
    }
}

/// One row per headroom that both tables have.
pub(super) fn of_thresholds(
    first: &Side,
    other: &Side,
    deviation: Deviation,
) -> Vec<ThresholdDifference> {
    let pairs = first.runs[0].thresholds.iter().filter_map(|row| {
        let headroom = row.headroom_pct;
        let base = threshold_runs(first, headroom)?;
        Some((headroom, base, threshold_runs(other, headroom)?))
    });
    let rows = pairs.map(|(headroom_pct, base, runs)| {
        let scale = mean_value(&base).max(mean_value(&runs));
        let (points, _) = difference(&base, &runs, Deviation { scale, ..deviation });
        ThresholdDifference {
            name: other.name.clone(),
            against: first.name.clone(),
            headroom_pct,
            cpu_points: points,
            verdict: verdict(points, 0.0),
        }
    });
    rows.collect()
}
