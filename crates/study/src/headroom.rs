//! How far CPU use deviates from work.
//!
//! The headroom index H = Xmax / (X50 / 0.5) compares the work at full load with
//! the linear extrapolation from half load: 1 if work is proportional to CPU use,
//! less if the second half of CPU use carries less than the first. The published
//! Graviton study takes X50 / 0.5 from the measured level nearest to 50 % CPU use,
//! as X / u; it can also be interpolated at 50 %. Both are given, because they
//! differ by as much as the distance of the levels.

use crate::curve::{Curve, Line};
use crate::levels::Level;
use plimsoll_model::{Headroom, HeadroomIndex, NoHeadroom, RatedRate};

/// Half of all CPU use, in percent.
const HALF_PCT: f64 = 50.0;

/// How far from 50 % CPU use the middle level may be, in points.
const MIDDLE_REACH: f64 = 15.0;

/// The headroom index of a run, or the first reason in the order of [`NoHeadroom`]
/// for its absence.
pub(crate) fn headroom(
    levels: &[Level<'_>],
    curve: Option<&Curve>,
    rated: Option<&RatedRate>,
) -> Headroom {
    known(levels, curve, rated).map_or_else(|why| Headroom::Unknown { why }, Headroom::Known)
}

fn known(
    levels: &[Level<'_>],
    curve: Option<&Curve>,
    rated: Option<&RatedRate>,
) -> Result<HeadroomIndex, NoHeadroom> {
    if levels.is_empty() {
        return Err(NoHeadroom::NoLevel);
    }
    if levels.iter().all(|level| level.row.trials == 0) {
        return Err(NoHeadroom::NoValidTrial);
    }
    if levels.iter().all(|level| level.row.cpu_pct.is_none()) {
        return Err(NoHeadroom::CpuUnreadable);
    }
    let saturated = rated.is_some_and(|rated| rated.limited_by_service);
    // One level alone makes no curve, and none of them can be the middle.
    index(curve.ok_or(NoHeadroom::NoLevelNearHalf)?, saturated)
}

/// Both indices, with intervals where the curve's trials allow them.
///
/// `limited_by_service`: whether the service saturated at the highest rate.
///
/// # Errors
///
/// If the service did not saturate, CPU use did not exceed 50 %, or no level is
/// near 50 %.
pub(crate) fn index(curve: &Curve, limited_by_service: bool) -> Result<HeadroomIndex, NoHeadroom> {
    // Checked before CPU use: an insufficient load keeps CPU use low and says nothing
    // about other bottlenecks.
    if !limited_by_service {
        return Err(NoHeadroom::NotSaturated);
    }
    let measured = curve.line().measured();
    let points = measured.iter().map(|m| (m.rate_rps, m.cpu_pct));
    let nearest = nearest_to_half(points)?;
    let middle = measured[nearest];
    // The same level in every resample: which one is nearest is known.
    let promised = |line: &Line| {
        let level = line.measured()[nearest];
        (level.cpu_pct > 0.0).then(|| level.rate_rps / (level.cpu_pct / 100.0))
    };
    let half = |line: &Line| line.rate_rps_at(HALF_PCT);
    let most = |line: &Line| Some(line.max_rate_rps());
    let of = |figure: &dyn Fn(&Line) -> Option<f64>| curve.estimate(figure);
    let certain = |figure| of(figure).ok_or(NoHeadroom::NoLevelNearHalf);
    Ok(HeadroomIndex {
        max_rate_rps: certain(&most)?,
        nearest_cpu_pct: middle.cpu_pct,
        nearest_level_ratio: certain(&|line| Some(line.max_rate_rps() / promised(line)?))?,
        linear_expectation_rps: certain(&promised)?,
        interpolated_ratio: of(&|line| Some(line.max_rate_rps() / (2.0 * half(line)?))),
        half_rate_rps: of(&half),
        extra_over_half_ratio: of(&|line| Some(line.max_rate_rps() / half(line)? - 1.0)),
    })
}

/// The index of the (rate, CPU use in percent) nearest to 50 % CPU use.
fn nearest_to_half(points: impl Iterator<Item = (f64, f64)>) -> Result<usize, NoHeadroom> {
    let cpu: Vec<f64> = points.map(|(_, cpu_pct)| cpu_pct).collect();
    if !cpu.iter().any(|c| *c > HALF_PCT) {
        return Err(NoHeadroom::CpuNeverBeyondHalf);
    }
    let away = |i: &usize| (cpu[*i] - HALF_PCT).abs();
    (0..cpu.len())
        .filter(|i| away(i) <= MIDDLE_REACH)
        .min_by(|a, b| away(a).total_cmp(&away(b)))
        .ok_or(NoHeadroom::NoLevelNearHalf)
}

#[cfg(test)]
mod tests;
