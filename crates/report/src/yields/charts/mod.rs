//! The charts of a yield run: arms in the place of load levels.
//!
//! Each is a function from findings to a [`Chart`], and one line in
//! [`figures`].

mod cause;
mod change;
mod curve;
mod latency;
mod paid;
mod steps;
mod time;
mod total;

use super::sentences::listed as and;
use super::{YieldReport, head, table};
use crate::chart::{Axis, Chart, Row, Shape, Tone};
use crate::html::Picker;
use crate::number::{Written, no_interval, time_us};
use crate::table::Column;
use plimsoll_model::{
    Arm, ArmFinding, BudgetVerdict, Estimate, StepCourse, TrialPicture, YieldFindings,
};

#[derive(Clone, Copy)]
pub(super) struct Arms<'a> {
    pub(super) report: &'a YieldReport<'a>,
    pub(super) trials: &'a [TrialPicture],
    /// Latency after steps of the load, where it steps.
    pub(super) steps: &'a [StepCourse],
}

pub(super) fn figures(view: Arms<'_>) -> Vec<Chart> {
    let charts = [
        steps::chart(view),
        curve::paid(view),
        curve::gained(view),
        paid::chart(view),
        latency::chart(view),
        total::chart(view),
        cause::chart(view),
        time::chart(view),
    ];
    charts.into_iter().flatten().collect()
}

impl<'a> Arms<'a> {
    fn findings(&self) -> &'a YieldFindings {
        self.report.findings
    }

    fn arms(&self) -> &'a [ArmFinding] {
        &self.findings().arms
    }

    /// Whether there is an arm to compare with the service alone.
    fn compares(&self) -> bool {
        self.arms().iter().any(|arm| arm.arm.is_beside())
    }

    fn change(&self, arm: &ArmFinding) -> Option<Estimate> {
        let change = arm.latency_change_pct?;
        change.under(&self.findings().budget)
    }

    /// The arm to take, unless it is but the nearest of those that break the budget.
    fn best(&self) -> Option<Arm> {
        let best = &self.findings().recommended;
        best.arm.filter(|_| best.verdict != BudgetVerdict::Beyond)
    }

    fn is_best(&self, arm: &ArmFinding) -> bool {
        self.best() == Some(arm.arm)
    }

    fn columns(&self, names: &[&str]) -> Vec<Column> {
        let all = table::columns(&self.findings().arms, &self.findings().budget).into_iter();
        all.filter(|column| names.contains(&column.name()))
            .collect()
    }

    fn details(&self, tell: impl Fn(&ArmFinding) -> Option<String>) -> Vec<String> {
        let one = |arm: &ArmFinding| {
            let detail = tell(arm).unwrap_or_else(|| "not known".to_owned());
            format!("{}: {detail}", arm.arm)
        };
        self.arms().iter().map(one).collect()
    }

    /// Some figure of the arms that are of interest in a title: of the service
    /// alone, of the arm to take, and of the one with most of it.
    fn of_interest(&self, of: impl Fn(&ArmFinding) -> Option<f64>) -> Vec<(String, f64)> {
        let known = |arm: &'a ArmFinding| Some((arm, of(arm)?));
        let beside = || self.arms().iter().filter(|a| a.arm.is_beside());
        let alone = self.arms().iter().find(|a| !a.arm.has_job());
        let best = beside().find(|a| self.is_best(a));
        let most = beside().filter_map(known);
        let most = most.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(arm, _)| arm);
        let mut arms: Vec<&ArmFinding> = Vec::new();
        for arm in [alone, best, most].into_iter().flatten() {
            if !arms.iter().any(|seen| seen.arm == arm.arm) {
                arms.push(arm);
            }
        }
        let named = arms.into_iter().filter_map(known);
        named.map(|(arm, value)| (with(arm), value)).collect()
    }
}

fn with(arm: &ArmFinding) -> String {
    match arm.arm {
        arm if !arm.has_job() => "with the service alone".to_owned(),
        Arm::None => "with the job not held".to_owned(),
        arm => format!("with the job held by {arm}"),
    }
}

/// `1.2ms with the service alone, 1.3ms with …`, with an "and" before the last.
fn listed(values: &[(String, f64)], show: impl Fn(f64) -> String) -> String {
    let parts = values
        .iter()
        .map(|(name, value)| format!("{} {name}", show(*value)));
    and(&parts.collect::<Vec<_>>())
}

/// How an arm that was compared with the budget looks: in colour and in shape,
/// and whether its mark is hollow.
fn verdict_look(arm: &ArmFinding) -> (Tone, Shape, bool) {
    match arm.verdict {
        Some(BudgetVerdict::Within) => (Tone::Within, Shape::Circle, false),
        Some(BudgetVerdict::Beyond) => (Tone::Beyond, Shape::Diamond, false),
        Some(BudgetVerdict::Inconclusive) | None => (Tone::Open, Shape::Square, true),
    }
}

/// Everything that can be picked, by name, with its facts: the arms,
/// and those of a curve with each headroom.
pub(super) fn picker(view: Arms<'_>, charts: &[Chart]) -> Picker {
    let arms = view.arms().iter();
    let arms = arms.map(|arm| (arm.arm.to_string(), facts(view, arm)));
    let points = view.findings().curve.iter().flat_map(|curve| &curve.points);
    let points = points.map(|point| (curve::name(point), facts(view, &point.found)));
    Picker::of(
        Picker::ARMS,
        arms.chain(points),
        head::first(view.report),
        charts,
    )
}

fn facts(view: Arms<'_>, arm: &ArmFinding) -> String {
    let quantile = view.findings().budget.quantile;
    let gained = arm.work_gained_share.filter(|_| arm.arm.has_job());
    let of_trials = |e| Written::pct(e).with_ends_of(" %", arm.trials);
    let gained = gained.map(|share| of_trials(table::pct(share)));
    let change = view
        .change(arm)
        .map(|c| table::signed(c) + " %" + &ends(c, arm.trials));
    let parts = [
        gained.map(|gained| format!("gained {gained}")),
        change.map(|change| format!("{quantile} {change}")),
        arm.latency_us
            .and_then(|l| l.p99)
            .map(|us| format!("p99 {}", time_us(us))),
        verdict_words(arm).map(str::to_owned),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "no valid trial".to_owned(),
        false => parts.join(" · "),
    }
}

/// ` (0.7 to 3.5)`, or why there is none.
fn ends(estimate: Estimate, trials: u32) -> String {
    match estimate.interval() {
        Some(_) => Written::pct(estimate).ends_in_brackets(),
        None => format!(" ({})", no_interval(trials)),
    }
}

fn verdict_words(arm: &ArmFinding) -> Option<&'static str> {
    Some(match arm.verdict? {
        BudgetVerdict::Within => "within the budget",
        BudgetVerdict::Beyond => "beyond the budget",
        BudgetVerdict::Inconclusive => "whether that is within the budget is inconclusive",
    })
}

/// The arms of which something is known, each with its place among all.
fn known<T>(view: Arms<'_>, of: impl Fn(&ArmFinding) -> Option<T>) -> Vec<(usize, &ArmFinding)> {
    let arms = view.report.findings.arms.iter().enumerate();
    arms.filter(|(_, arm)| of(arm).is_some()).collect()
}

fn rows(view: Arms<'_>, arms: &[(usize, &ArmFinding)]) -> Axis {
    let row = |(_, arm): &(usize, &ArmFinding)| row(arm.arm.name(), view.is_best(arm));
    Axis::of_rows(arms.iter().map(row).collect())
}

fn row(name: &str, is_best: bool) -> Row {
    Row {
        name: name.to_owned(),
        tone: if is_best { Tone::Best } else { Tone::Plain },
    }
}

/// From the top to the bottom of what stands in a row.
fn within_row(row: usize) -> (f64, f64) {
    (row as f64 + 0.2, row as f64 + 0.8)
}

fn alone<'a>(arms: &[(usize, &'a ArmFinding)]) -> Option<&'a ArmFinding> {
    let alone = arms.iter().find(|(_, arm)| !arm.arm.has_job());
    alone.map(|(_, arm)| *arm)
}
