//! The axis of changes against the service alone, which charts of what is paid
//! have upwards: what matters of it, and what arms are held against.

use super::super::draw::{Drawing, FONT, Plot, Shape, line};
use super::super::label::GoalLine;
use super::super::layout::width_of;
use super::super::scale::Scale;
use super::{Arms, verdict_class};
use crate::html::markup::el;
use crate::number::{self, trimmed_pct};
use plimsoll_model::{ArmFinding, Estimate};

fn lowest(estimate: Estimate) -> f64 {
    estimate.low.unwrap_or(estimate.value)
}

pub(super) fn highest(estimate: Estimate) -> f64 {
    estimate.high.unwrap_or(estimate.value)
}

/// Changes upwards, with room around the budget and the noise.
pub(super) fn scale(
    view: Arms<'_>,
    changes: impl Iterator<Item = Estimate> + Clone,
    pixels: (f64, f64),
) -> Scale {
    let findings = view.findings();
    let noise = findings.noise_floor_pct.unwrap_or(0.0);
    let matters = (2.0 * findings.budget.more_pct).max(noise);
    let least = changes.clone().map(lowest).fold(-noise, f64::min);
    let least_shown = findings.budget.more_pct.max(noise);
    let most = changes.map(highest).fold(least_shown, f64::max);
    Scale::around_zero(least, most, matters, pixels)
}

/// The room that the ticks need at the left.
pub(super) fn margin(scale: &Scale) -> f64 {
    let ticks = scale.ticks(6).into_iter();
    let widest = ticks.map(|tick| width_of(&signed_tick(tick), FONT));
    widest.fold(0.0, f64::max) + 8.0
}

pub(super) fn axis(chart: &mut Drawing, view: Arms<'_>, y: &Scale) {
    let quantile = view.findings().budget.quantile;
    let bent = y.knee().map_or_else(String::new, |knee| {
        format!(" (logarithmic beyond ±{})", trimmed_pct(knee))
    });
    chart.y_axis(y, &format!("change of {quantile}, %{bent}"), signed_tick);
}

/// How a scale that bends is to be read.
pub(super) fn bent(y: &Scale) -> String {
    y.knee().map_or_else(String::new, |knee| {
        let knee = trimmed_pct(knee);
        format!(
            " Between the dotted lines at -{knee} and +{knee} % equal steps are equal differences, \
             beyond them equal factors."
        )
    })
}

/// `+50`, `-5`, `0`
fn signed_tick(value: f64) -> String {
    match value > 0.0 {
        true => format!("+{}", number::tick(value)),
        false => number::tick(value),
    }
}

/// What the arms are held against: noise, no change, the budget. Gives back
/// the lines that are to be named.
pub(super) fn ground(chart: &mut Drawing, view: Arms<'_>, y: &Scale) -> Vec<GoalLine> {
    let Plot { left, right, .. } = chart.plot;
    let findings = view.findings();
    let budget = GoalLine {
        y: y.at(findings.budget.more_pct),
        class: "budget",
        name: format!("budget: {}", findings.budget),
    };
    let mut goals = vec![budget];
    if let Some(noise) = findings.noise_floor_pct {
        let (top, bottom) = (y.at(noise), y.at(-noise));
        let band = el("rect")
            .class("noise")
            .num("x", left)
            .num("y", top)
            .num("width", right - left)
            .num("height", bottom - top);
        chart.put(band);
        goals.push(GoalLine {
            y: bottom,
            class: "noise-name",
            name: format!("noise: up to {} %", trimmed_pct(noise)),
        });
    }
    for knee in y.knee().into_iter().flat_map(|knee| [knee, -knee]) {
        chart.put(line((left, y.at(knee)), (right, y.at(knee)), "diagonal"));
    }
    chart.put(line((left, y.at(0.0)), (right, y.at(0.0)), "axis"));
    chart.goal_lines(&goals[..1]);
    goals
}

/// How the mark of an arm tells its verdict to those who do not see its colour,
/// and a class where it is hollow.
pub(super) fn shape(arm: &ArmFinding) -> (Shape, &'static str) {
    match verdict_class(arm) {
        "within" => (Shape::Circle, ""),
        "beyond" => (Shape::Diamond, ""),
        _ => (Shape::Square, " hollow"),
    }
}
