//! Cautions about a plan.

use super::autoscale::Fleet;
use super::{Request, SizingError};
use crate::cpu_use::NEAR;
use plimsoll_model::{Carried, CpuFigure, FleetOverTime, Rate, SizingCaution};

/// The cautions of a plan with at most `target` per instance, and `at_peak` at the
/// peak.
pub(super) fn of(
    request: &Request<'_>,
    fleet: &Fleet,
    target_rps: f64,
    at_peak: Rate,
    over_time: Option<&FleetOverTime>,
) -> Result<Vec<SizingCaution>, SizingError> {
    let figures = [
        (CpuFigure::Target, target_rps),
        (CpuFigure::AtPeak, at_peak.get()),
    ];
    let below = figures
        .into_iter()
        .filter_map(|(figure, rate)| below_measured(request, figure, rate));
    // Overload comes first.
    let mut out: Vec<SizingCaution> = over_time.and_then(too_steep).into_iter().collect();
    out.extend(below);
    out.extend(wide_capacity(request, fleet)?);
    Ok(out)
}

fn too_steep(over_time: &FleetOverTime) -> Option<SizingCaution> {
    let worst_load_ratio = over_time.worst_load_ratio;
    (worst_load_ratio > 1.0).then_some(SizingCaution::TooSteep { worst_load_ratio })
}

fn below_measured(request: &Request<'_>, figure: CpuFigure, rate: f64) -> Option<SizingCaution> {
    let lowest = request.lowest_measured?.get();
    // Only a stated CPU use needs a caution.
    let is_stated = Rate::per_second(rate)
        .and_then(|rate| request.cpu.at(rate))
        .is_some();
    (is_stated && rate * NEAR < lowest).then_some(SizingCaution::BelowMeasured {
        figure,
        rate_rps: rate,
        lowest_measured_rps: lowest,
    })
}

fn wide_capacity(
    request: &Request<'_>,
    fleet: &Fleet,
) -> Result<Option<SizingCaution>, SizingError> {
    let Carried::Found(capacity) = request.capacity else {
        return Ok(None);
    };
    let high = capacity.high.and_then(Rate::per_second);
    let Some((half_width, carried)) = capacity.wide().zip(high) else {
        return Ok(None);
    };
    let at_high_end = Fleet { carried, ..*fleet };
    Ok(Some(SizingCaution::WideCapacity {
        half_width_pct: 100.0 * half_width,
        instances_at_high_end: at_high_end.fixed(request.demand.peak())?,
    }))
}
