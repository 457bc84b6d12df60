//! A row per arm, and its name at the left.

use super::super::draw::{Drawing, FONT, Size, line, text};
use super::super::layout::{BOLD, fitting};
use super::Arms;
use crate::html::markup::El;
use plimsoll_model::ArmFinding;

/// Height of a row.
pub(super) const ROW: f64 = 24.0;

/// Width of the names: of the longest that is not cut.
const NAMES: f64 = 118.0;

/// An empty drawing of so many rows, with room above and below them.
pub(super) fn drawing(
    size: Size,
    width: f64,
    rows: usize,
    [top, right, bottom]: [f64; 3],
) -> Drawing {
    let height = top + ROW * rows.max(1) as f64 + bottom;
    let margins = [top, right, bottom, NAMES];
    Drawing::new(size, width, height, margins)
}

/// The middle of a row.
pub(super) fn middle(chart: &Drawing, row: usize) -> f64 {
    chart.plot.top + ROW * (row as f64 + 0.5)
}

/// A name at the left of its row; `class` for that of the arm to take.
pub(super) fn name(chart: &mut Drawing, row: usize, name: &str, is_best: bool) -> El {
    let room = (chart.plot.left - 12.0) / BOLD;
    let class = match is_best {
        true => "name end best",
        false => "row-name end",
    };
    let at = (chart.plot.left - 8.0, middle(chart, row) + 4.0);
    text(at, class, &fitting(name, room, FONT))
}

/// The names of these arms, and a line under each but the last.
pub(super) fn names(chart: &mut Drawing, view: Arms<'_>, rows: &[(usize, &ArmFinding)]) {
    for (row, (_, arm)) in rows.iter().enumerate() {
        let name = name(chart, row, &arm.arm.to_string(), view.is_best(arm));
        chart.put(name);
        let y = chart.plot.top + ROW * (row + 1) as f64;
        if row + 1 < rows.len() {
            chart.put(line((0.0, y), (chart.plot.right, y), "grid"));
        }
    }
}

/// The arms of which something is known, each with its place among all.
pub(super) fn known<T>(
    view: Arms<'_>,
    of: impl Fn(&ArmFinding) -> Option<T>,
) -> Vec<(usize, &'_ ArmFinding)> {
    let arms = view.report.findings.arms.iter().enumerate();
    arms.filter(|(_, arm)| of(arm).is_some()).collect()
}
