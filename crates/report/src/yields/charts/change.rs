//! The axis of changes against the service alone, which charts of what is paid
//! have upwards: what matters of it, and what arms are compared with.

use super::Arms;
use crate::chart::{At, Axis, Mark, MarkKind, Scale, Tone, Unit};
use crate::number::trimmed_pct;
use plimsoll_model::Estimate;

fn lowest(estimate: Estimate) -> f64 {
    estimate.low.unwrap_or(estimate.value)
}

pub(super) fn highest(estimate: Estimate) -> f64 {
    estimate.high.unwrap_or(estimate.value)
}

pub(super) fn axis(view: Arms<'_>, changes: impl Iterator<Item = Estimate> + Clone) -> Axis {
    let findings = view.findings();
    let noise = findings.noise_floor_pct.unwrap_or(0.0);
    let matters = (2.0 * findings.budget.more_pct).max(noise);
    let least = changes.clone().map(lowest).fold(-noise, f64::min);
    let least_shown = findings.budget.more_pct.max(noise);
    let most = changes.map(highest).fold(least_shown, f64::max);
    let scale = Scale::around_zero(least, most, matters);
    let split = scale.split().map(trimmed_pct);
    let split = split.map(|split| format!(" (logarithmic beyond ±{split})"));
    let quantile = findings.budget.quantile;
    let label = format!("change of {quantile}, %{}", split.unwrap_or_default());
    Axis::new(&label, scale, Unit::Signed)
}

pub(super) fn hint(view: Arms<'_>, axis: &Axis) -> String {
    let noise = match view.findings().noise_floor_pct {
        Some(_) => " Grey band: less than what two equal measurements differ by.",
        None => "",
    };
    let split = axis.scale.split().map(trimmed_pct).map(|split| {
        format!(
            " Between the dotted lines at -{split} and +{split} % equal steps are equal \
             differences, beyond them equal factors."
        )
    });
    noise.to_owned() + &split.unwrap_or_default()
}

pub(super) fn marks(view: Arms<'_>, axis: &Axis) -> Vec<Mark> {
    let findings = view.findings();
    let budget = Mark {
        name: format!("budget: {}", findings.budget),
        short_name: findings.budget.to_string(),
        tone: Tone::Budget,
        ..Mark::new(MarkKind::Goal, At::Y(findings.budget.more_pct))
    };
    let noise = findings.noise_floor_pct.map(|noise| Mark {
        range: Some((-noise, noise)),
        name: format!("noise: up to {} %", trimmed_pct(noise)),
        tone: Tone::Noise,
        ..Mark::new(MarkKind::Area, At::Y(0.0))
    });
    let split = axis.scale.split().into_iter();
    let split = split.flat_map(|split| [split, -split]);
    let guides = split.map(|at| Mark::new(MarkKind::Guide, At::Y(at)));
    let zero = Mark::new(MarkKind::Zero, At::Y(0.0));
    let marks = std::iter::once(budget).chain(noise).chain(guides);
    marks.chain([zero]).collect()
}
