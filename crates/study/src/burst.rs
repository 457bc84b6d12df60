//! When a service becomes quiet after a burst, and fast again after a break.
//!
//! The time line of a break is a list of steps, each with the CPU use in it. A
//! service that is still busy after its last answer (it polls, collects garbage,
//! waits before it sleeps) shows as one or more levels that end in drops. The
//! last significant drop is when it becomes quiet. It is found by least squares
//! (the split of two means that leaves the least variance), again to the right
//! of each drop found. The step that holds the drop is divided in proportion:
//! its CPU use lies between the two levels.

use crate::decide::needed;
use crate::{bootstrap, student};
use plimsoll_model::{Estimate, Slot};

/// CPU use in one step of a time line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Its ends, in seconds.
    pub from_s: f64,
    pub to_s: f64,
    /// In percent of one CPU.
    pub cpu_pct: f64,
}

impl Step {
    fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }
}

/// What a break shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quiet {
    /// From so many seconds on; at the first step where it was so at once.
    From(f64),
    /// It is as busy at the end of the break as at its beginning.
    Never,
}

/// A drop is one if it is at least so many percent of a CPU: a tick of 4 ms in
/// a step of 400 ms.
const LEAST_DROP_PCT: f64 = 1.0;

/// And so many standard errors. Each step of a break could be the drop, and the
/// noise of successive steps is alike.
const LEAST_ERRORS: f64 = 5.0;

/// The use within a level is not known better, in percent of a CPU.
const GRAIN_PCT: f64 = 0.25;

/// The mean over time, in percent of one CPU; `None` without any.
pub fn mean_pct(steps: &[Step]) -> Option<f64> {
    let length: f64 = steps.iter().map(Step::length_s).sum();
    let used: f64 = steps.iter().map(|s| s.cpu_pct * s.length_s()).sum();
    (length > 0.0).then(|| used / length)
}

/// When a break becomes quiet: its steps from the last answer on; the CPU use in
/// the burst before it, and that of the service before any load, if it is known.
///
/// The level after the last drop, or that of the whole break, is quiet if it is not far above
/// that before any load, and well below that of the burst: one that polls beside other load has
/// drops, too.
pub fn quiet(steps: &[Step], burst_pct: Option<f64>, idle_pct: Option<f64>) -> Option<Quiet> {
    let first = steps.first()?;
    let tail = last_drop(steps).unwrap_or(0);
    let level = mean_pct(&steps[tail..])?;
    let near = |other: f64| (level - other).abs() <= (0.1 * other).max(LEAST_DROP_PCT);
    let is_above_idle = idle_pct.is_some_and(|idle| level > idle && !near(idle));
    let is_as_in_burst = match burst_pct {
        Some(burst) => level > AS_IN_BURST * burst,
        None => tail == 0,
    };
    Some(match tail {
        _ if level > BUSY_PCT && (is_as_in_burst || is_above_idle) => Quiet::Never,
        0 => Quiet::From(first.from_s),
        _ => Quiet::From(refined(steps, tail)),
    })
}

/// A break that uses more than this share of what the burst before it used is not quiet: the
/// service burns about the same with and without requests.
const AS_IN_BURST: f64 = 0.75;

/// A level above is no noise of a service that has nothing to do.
const BUSY_PCT: f64 = 2.0;

/// The first step after the last significant drop.
fn last_drop(steps: &[Step]) -> Option<usize> {
    let mut from = 0;
    let mut found = None;
    while let Some(split) = drop_after(&steps[from..]) {
        from += split;
        found = Some(from);
    }
    found
}

/// The split with the least variance, if its right side is significantly lower.
fn drop_after(steps: &[Step]) -> Option<usize> {
    let n = steps.len();
    let total: f64 = steps.iter().map(|s| s.cpu_pct).sum();
    let mut left = 0.0;
    let mut best: Option<(f64, usize)> = None;
    for (at, step) in steps.iter().enumerate().take(n.saturating_sub(1)) {
        left += step.cpu_pct;
        let (a, b) = ((at + 1) as f64, (n - at - 1) as f64);
        let drop = left / a - (total - left) / b;
        // What the split takes from the sum of squares.
        let gain = drop * drop.abs() * a * b / n as f64;
        if best.is_none_or(|(most, _)| gain > most) {
            best = Some((gain, at + 1));
        }
    }
    let (_, split) = best?;
    is_drop(&steps[..split], &steps[split..]).then_some(split)
}

fn is_drop(left: &[Step], right: &[Step]) -> bool {
    let (Some((high, a)), Some((low, b))) = (moments(left), moments(right)) else {
        return false;
    };
    // So few steps do not show their noise: they have at least that of the others.
    let of = |own: f64, steps: &[Step], other: f64| match steps.len() {
        0..FEW => own.max(other),
        _ => own,
    };
    let (n, m) = (left.len() as f64, right.len() as f64);
    let error = (of(a, left, b) / n + of(b, right, a) / m).sqrt();
    let drop = high - low;
    drop >= LEAST_DROP_PCT && drop >= LEAST_ERRORS * error
}

const FEW: usize = 4;

/// Mean and variance.
fn moments(steps: &[Step]) -> Option<(f64, f64)> {
    let n = steps.len() as f64;
    let mean = steps.iter().map(|s| s.cpu_pct).sum::<f64>() / n;
    let squares: f64 = steps.iter().map(|s| (s.cpu_pct - mean).powi(2)).sum();
    let variance = squares / (n - 1.0).max(1.0);
    (!steps.is_empty()).then(|| (mean, variance.max(GRAIN_PCT.powi(2))))
}

/// Where within the steps next to `split` the drop lies: what was used beyond
/// the lower level, at the upper one.
fn refined(steps: &[Step], split: usize) -> f64 {
    // The step before the split and the one after it may each hold the drop.
    let from = split - 1;
    let to = (split + 1).min(steps.len());
    let after = split + 1;
    let low = mean_pct(&steps[after.min(steps.len() - 1)..]);
    let level = (0..from).rev().take(5).map(|at| steps[at]);
    let level: Vec<Step> = level
        .take_while(|s| s.cpu_pct >= 0.5 * steps[from].cpu_pct)
        .collect();
    let (Some(high), Some(low)) = (mean_pct(&level), low) else {
        return steps[split].from_s;
    };
    if high - low < LEAST_DROP_PCT {
        return steps[split].from_s;
    }
    let used: f64 = steps[from..to]
        .iter()
        .map(|s| (s.cpu_pct - low) * s.length_s())
        .sum();
    let at = steps[from].from_s + used / (high - low);
    at.clamp(steps[from].from_s, steps[to - 1].to_s)
}

/// The mean of a figure of each cycle, by Student's t; without an interval below
/// three.
pub fn mean(values: &[f64]) -> Option<Estimate> {
    student::mean(values)
}

/// The same of a figure that is never below zero.
pub fn positive_mean(values: &[f64]) -> Option<Estimate> {
    let mean = student::mean(values)?;
    Some(mean.map_rising(|v| v.max(0.0)))
}

/// The mean of times that are known to within half a step: the interval is not
/// narrower than a step to either side, and does not begin below zero.
pub fn mean_time(values: &[f64], step: f64) -> Option<Estimate> {
    let mean = student::mean(values)?;
    let widened = |low: f64, high: f64| {
        let (low, high) = (low.min(mean.value - step), high.max(mean.value + step));
        Estimate::within(mean.value, low.max(0.0), high)
    };
    let ends = mean.interval();
    Some(ends.map_or(mean, |(low, high)| widened(low, high)))
}

/// The median with the interval of two order statistics, which holds for any
/// distribution; without one below six values. What failed is infinite: `None` if
/// half of them are, and without an interval if that would be.
pub fn median(values: &[f64]) -> Option<Estimate> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let middle = |at: usize| sorted.get(at).copied();
    let value = (middle(n / 2)? + middle(n.saturating_sub(1) / 2)?) / 2.0;
    if value.is_infinite() {
        return None;
    }
    let interval = left_out(n).map(|out| (sorted[out], sorted[n - 1 - out]));
    let known = interval.filter(|(_, high)| high.is_finite());
    Some(known.map_or(Estimate::alone(value), |(low, high)| {
        Estimate::within(value, low, high)
    }))
}

/// A quantile of the latencies of all cycles, in microseconds, with the interval of draws of
/// cycles. `None` where fewer requests than it takes (299 for p99) show it.
pub fn quantile_us(cycles: &[&Slot], q: f64, seed: u64) -> Option<Estimate> {
    let requests: u64 = cycles.iter().map(|slot| slot.requests()).sum();
    if (requests as f64) < needed(1.0 - q) {
        return None;
    }
    bootstrap::figure(cycles.len(), seed, |draw| {
        let mut all = Slot::default();
        draw.iter()
            .filter_map(|at| cycles.get(*at))
            .for_each(|slot| all.merge(slot));
        Some(all.quantile(q)?.as_secs_f64() * 1e6)
    })
}

/// How many values at either end lie outside of the interval of a median: the
/// most with a probability of at most 2.5 % that so few lie below it.
fn left_out(n: usize) -> Option<usize> {
    let mut below = 0.5f64.powi(i32::try_from(n).ok()?);
    let (mut term, mut found) = (below, None);
    for out in 0..n {
        if below > student::TAIL {
            break;
        }
        found = Some(out);
        term *= (n - out) as f64 / (out + 1) as f64;
        below += term;
    }
    found
}

/// Latencies within this quantile of the steady state are those of a service
/// that is fast.
pub const FAST_QUANTILE: f64 = 0.95;

/// Of so many successive requests one may be slower.
const IN_A_ROW: usize = 5;

/// How many requests after a break are slower than in the steady state, before
/// the service is fast again: before the first that, with at least three of the
/// four after it, takes at most `fast_us`. A failed request is slow. `None` if
/// it is not fast within these requests.
pub fn fast_after(latencies_us: &[Option<f64>], fast_us: f64) -> Option<usize> {
    let is_fast = |latency: &Option<f64>| latency.is_some_and(|us| us <= fast_us);
    let mut groups = latencies_us.windows(IN_A_ROW);
    groups.position(|group| {
        let fast = group.iter().filter(|l| is_fast(l)).count();
        is_fast(&group[0]) && fast >= IN_A_ROW - 1
    })
}

#[cfg(test)]
mod tests;
