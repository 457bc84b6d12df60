//! The charts: each from findings and points to a drawing, a title that
//! states what it shows, a text for those who do not see it, and a table.
//!
//! Nothing is computed here but places on a page.

mod arms;
mod copies;
mod cpu;
mod draw;
mod growth;
mod label;
mod latency;
mod layout;
mod machines;
mod offered;
#[cfg(test)]
mod overlaps;
mod overlay;
mod scale;
mod spectrum;
mod time_line;
mod work;

pub(crate) use crate::sentence::capital;
pub(crate) use arms::{Arms, figures as arm_figures, picks as arm_picks};
pub(crate) use copies::name as copies_name;
pub(crate) use latency::kept;
pub(crate) use machines::capacities;
#[cfg(test)]
pub(crate) use overlaps::overlapping;
pub(crate) use overlay::{
    Basis, Machine, cpu as cpu_overlay, latency as latency_overlay, work as work_overlay,
};

use super::markup::El;
use crate::capacity::{is_told, leading};
use crate::number::{self, Written, time_us};
use crate::table::Column;
use crate::{Report, levels};
use draw::Size;
use label::LoadLine;
use plimsoll_model::{CapacityFinding, CapacityStatus, Findings, Goal, LevelFinding, Picture};

/// What charts are drawn from.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) report: &'a Report<'a>,
    pub(crate) picture: &'a Picture,
}

impl<'a> View<'a> {
    fn findings(&self) -> &'a Findings {
        self.report.findings
    }
}

/// A chart with all that goes with it.
pub(crate) struct Figure {
    /// Names it within the page.
    pub(crate) id: &'static str,
    /// What it shows, as a sentence.
    pub(crate) title: String,
    /// How to read it.
    pub(crate) hint: String,
    /// For a phone and for the rest; the same measurements in both.
    pub(crate) drawings: Vec<El>,
    /// What is under the picture when a level is picked, one per level.
    pub(crate) told: Vec<String>,
    /// The numbers behind it.
    pub(crate) table: Vec<Column>,
    /// Whether a row of the table is a level.
    pub(crate) rows_are_levels: bool,
}

/// All charts of a run that there is something to draw for, in two parts:
/// those before the threshold table, and those after it.
pub(crate) fn figures(view: View<'_>) -> (Vec<Figure>, Vec<Figure>) {
    if view.report.is_copies() {
        let first = [copies::time(view), copies::work(view), copies::cpu(view)];
        return (
            first.into_iter().flatten().collect(),
            time_line::figure(view).into_iter().collect(),
        );
    }
    let before = [latency::figure(view), cpu::figure(view), work::figure(view)];
    let after = [
        spectrum::figure(view),
        offered::figure(view),
        time_line::figure(view),
        growth::figure(view),
    ];
    (
        before.into_iter().flatten().collect(),
        after.into_iter().flatten().collect(),
    )
}

/// `80 % load`, with a decimal where it needs one.
pub(crate) fn load_name(level: &LevelFinding) -> String {
    format!("{} % load", number::trimmed_pct(level.load_pct))
}

/// The table of all levels.
pub(crate) fn level_table(view: View<'_>) -> Vec<Column> {
    levels::columns(&view.findings().levels, view.report.is_imported())
}

/// The loads that are not to be exceeded, as far as they are known, that of
/// the goal that leads last, so that it is drawn over the others. `place` says
/// where a rate stands.
fn load_lines(findings: &Findings, place: impl Fn(f64) -> Option<f64>) -> Vec<LoadLine> {
    let known = findings.capacity.iter().filter_map(|capacity| {
        let rate = capacity.rate_rps.filter(|_| is_told(capacity))?;
        Some((capacity, rate))
    });
    let several = known.clone().count() > 1;
    let first = leading(&findings.capacity);
    let lines = known.filter_map(|(capacity, rate)| {
        let written = Written::rate(rate).value;
        let goal = if several {
            format!("{}: ", capacity.goal)
        } else {
            String::new()
        };
        let at_least = match capacity.status {
            CapacityStatus::NotReached => "at least ",
            _ => "",
        };
        let leads = first.is_some_and(|first| first.is(capacity));
        Some(LoadLine {
            at: place(rate.value)?,
            // Several bands on each other show none of them.
            between: rate
                .interval()
                .filter(|_| leads)
                .and_then(|(low, high)| Some((place(low)?, place(high)?))),
            name: format!("{goal}{at_least}{written}/s"),
            leads,
        })
    });
    let mut lines: Vec<LoadLine> = lines.collect();
    lines.sort_by_key(|line| line.leads);
    lines
}

/// The class of what belongs to a goal: that of the percentile it is about, if
/// that is drawn.
fn goal_class(capacity: &CapacityFinding) -> &'static str {
    let Goal::Latency { quantile, .. } = capacity.goal else {
        return "";
    };
    match quantile.to_string().as_str() {
        "p50" => "p50",
        "p99" => "p99",
        "p99.9" => "p999",
        _ => "",
    }
}

/// Whether the report leads with this goal.
fn leads(findings: &Findings, capacity: &CapacityFinding) -> bool {
    leading(&findings.capacity).is_some_and(|first| first.is(capacity))
}

/// A goal as it is labelled in a chart: `p99 < 4.34ms`.
fn goal_name(capacity: &CapacityFinding) -> String {
    match (capacity.goal, capacity.latency_limit_us()) {
        (Goal::Latency { quantile, .. }, Some(us)) => format!("goal: {quantile} < {}", time_us(us)),
        (goal, _) => format!("goal: {goal}"),
    }
}

/// Ticks of rates up to `most`, all in one unit: `500`, `20 k`, `1.5 M`.
fn rate_ticks(most: f64) -> impl Fn(f64) -> String {
    let (size, unit) = match most {
        most if most >= 2e6 => (1e6, " M"),
        most if most >= 2e4 => (1e3, " k"),
        _ => (1.0, ""),
    };
    move |rate| match rate {
        0.0 => "0".to_owned(),
        rate => number::grouped(rate / size, decimals(rate / size)) + unit,
    }
}

/// A tick of a latency: `100us`, `2ms`.
fn time_tick(us: f64) -> String {
    time_us(us)
}

/// As many decimals as a tick of this size has.
fn decimals(value: f64) -> usize {
    match value.abs() {
        x if x == 0.0 || (x - x.round()).abs() < 1e-9 => 0,
        x if (10.0 * x - (10.0 * x).round()).abs() < 1e-9 => 1,
        _ => 2,
    }
}

/// A tick in percent.
fn pct_tick(pct: f64) -> String {
    number::trimmed(pct)
}

/// The end of an axis from 0: a little beyond the largest value.
fn room_beyond(most: f64) -> f64 {
    if most.is_finite() && most > 0.0 {
        most * 1.04
    } else {
        1.0
    }
}

/// Both sizes of a drawing.
fn both(draw: impl Fn(Size) -> El) -> Vec<El> {
    [Size::Wide, Size::Narrow].map(draw).into()
}
