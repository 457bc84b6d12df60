//! Which CPU use leaves which true headroom.
//!
//! True headroom is the unused part of the capacity, in work: at a headroom of 20 %
//! the service carries 80 % of the highest rate that meets its goal. The CPU use at
//! that rate comes from the measured curve.
//!
//! **The linear rule** for comparison: for 20 % headroom it sets a CPU target of 80
//! %. Autoscalers assume this: Kubernetes' HorizontalPodAutoscaler requests
//! `ceil(current replicas x current use / target)` replicas, which is correct only
//! if work is proportional to CPU use up to 100 %. The rule knows neither the CPU
//! use at saturation nor the curve below it, so the comparison uses neither for it.

use crate::curve::{Curve, Line};
use plimsoll_model::{Estimate, Millicores, ThresholdFinding};

/// The headrooms of the table, in percent of the capacity.
pub(crate) const HEADROOMS_PCT: [f64; 5] = [10.0, 20.0, 30.0, 40.0, 50.0];

/// The table of [`HEADROOMS_PCT`].
///
/// `capacity_rps` is the highest rate that keeps the promise, for an imported
/// table the highest rate. How uncertain it is and how uncertain the curve is
/// are independent, so the distances of the ends that each causes add up as
/// squares (MOVER: Zou and Donner, Statistics in Medicine 27, 2008). Where the
/// capacity lacks an end, or has it outside of what was measured, so do the
/// figures.
///
/// `own` is the curve of the service's own CPU time, in percent of what it can use.
pub(crate) fn thresholds(
    curve: &Curve,
    own: Option<(&Curve, Millicores)>,
    capacity_rps: Estimate,
) -> Vec<ThresholdFinding> {
    let combined = |figure: &Figure<'_>| combined(curve, capacity_rps, figure);
    let row = |headroom_pct: f64| {
        let used = 1.0 - headroom_pct / 100.0;
        let linear_cpu_pct = 100.0 * used;
        let left = |line: &Line, capacity: f64| {
            let rate = line.rate_rps_at(linear_cpu_pct)?;
            Some(100.0 * (1.0 - rate / capacity))
        };
        ThresholdFinding {
            headroom_pct,
            rate_rps: used * capacity_rps.value,
            cpu_pct: cpu_pct(curve, used, capacity_rps),
            own_millicores: own.and_then(|(own, usable)| {
                let own = cpu_pct(own, used, capacity_rps)?;
                Some(own.map_rising(|pct| pct / 100.0 * f64::from(usable.0)))
            }),
            linear_cpu_pct,
            linear_headroom_pct: combined(&left),
            linear_error_points: combined(&|line, c| Some(left(line, c)? - headroom_pct)),
        }
    };
    ordered(HEADROOMS_PCT.map(row).to_vec())
}

/// A figure of a line and a capacity.
type Figure<'a> = dyn Fn(&Line, f64) -> Option<f64> + 'a;

/// A figure with its interval, from those of the curve and of the capacity.
fn combined(curve: &Curve, capacity_rps: Estimate, figure: &Figure<'_>) -> Option<Estimate> {
    let of_curve = curve.estimate(|line| figure(line, capacity_rps.value))?;
    let value = of_curve.value;
    let at = |capacity: f64| figure(curve.line(), capacity);
    // All figures rise with the capacity, so ends belong together.
    let reach = |capacity: Option<f64>, end: Option<f64>| {
        Some((value - at(capacity?)?).hypot(value - end?))
    };
    Some(Estimate {
        value,
        low: reach(capacity_rps.low, of_curve.low).map(|reach| value - reach),
        high: reach(capacity_rps.high, of_curve.high).map(|reach| value + reach),
    })
}

/// CPU use in percent at this share of a capacity. Beyond the end of the line it
/// is at least that of its end.
fn cpu_pct(curve: &Curve, used: f64, capacity_rps: Estimate) -> Option<Estimate> {
    curve.line().cpu_pct_at(used * capacity_rps.value)?;
    let within =
        |line: &Line, capacity: f64| line.cpu_pct_at((used * capacity).min(line.max_rate_rps()));
    let cpu = combined(curve, capacity_rps, &within)?;
    Some(cpu.map_rising(|pct| pct.clamp(0.0, 100.0)))
}

/// Makes the rows consistent: if 20 % are free, so are 10 %. Ends that were
/// estimated separately may contradict each other.
fn ordered(mut rows: Vec<ThresholdFinding>) -> Vec<ThresholdFinding> {
    let mut surely = None::<f64>;
    for row in rows.iter_mut().rev() {
        let Some(cpu) = &mut row.cpu_pct else {
            continue;
        };
        if let (Some(low), Some(free)) = (&mut cpu.low, surely) {
            *low = low.max(free).min(cpu.value);
        }
        surely = cpu.low.or(surely);
    }
    rows
}

#[cfg(test)]
mod tests;
