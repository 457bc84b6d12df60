//! The time line of the run: a row for each arm, a bar for each trial.

use super::super::draw::{Size, line};
use super::super::scale::Scale;
use super::super::time_line::{LETTERS, bar, codes, letters, table, time_ticks};
use super::super::{Figure, both};
use super::Arms;
use super::rows::{self, ROW};
use crate::html::markup::El;
use plimsoll_model::{Arm, Setting, TrialPicture};

pub(super) fn figure(view: Arms<'_>) -> Option<Figure> {
    if view.trials.iter().all(|t| t.took.is_zero()) {
        return None;
    }
    let title = view.report.record.trials.in_words();
    let description = format!(
        "Every trial as a bar over time, in the row of its arm; hatched ones do not count. {title}."
    );
    let codes = codes(view.trials);
    let marked = match codes.is_empty() {
        true => String::new(),
        false => format!(" Hatched: does not count, because {}.", codes.join(", ")),
    };
    Some(Figure {
        id: "time",
        hint: format!(
            "Each bar is a trial; the pale parts are warm-up and drain. A pass visits every arm \
             once, in shuffled order, so that a machine that drifts does not favour one.{marked}"
        ),
        drawings: both(|size| draw(view, size, &title, &description)),
        title,
        told: Vec::new(),
        table: table(view.trials),
        rows_are_levels: false,
    })
}

/// The row that a trial stands in: that of its arm, or, before all arms, that
/// of the search for what the service carries alone.
fn arm(trial: &TrialPicture) -> Option<Arm> {
    match trial.setting {
        Setting::Beside { arm, .. } => Some(arm),
        Setting::Idle | Setting::Offer { .. } | Setting::Copies { .. } => None,
    }
}

fn draw(view: Arms<'_>, size: Size, title: &str, description: &str) -> El {
    let trials = view.trials;
    let mut rows: Vec<Option<Arm>> = trials.iter().map(arm).collect();
    rows.sort_unstable();
    rows.dedup();
    let below = match trials.iter().any(|t| !t.invalid.is_empty()) {
        true => LETTERS,
        false => 0.0,
    };
    let width = size.pick(900.0, 360.0);
    let mut chart = rows::drawing(size, width, rows.len(), [10.0, 12.0, 42.0 + below]);
    chart.below = below;
    let end = trials.last().map(|t| (t.began + t.took).as_secs_f64());
    let end = end.unwrap_or(0.0).max(0.001);
    let x = Scale::linear((0.0, end), chart.plot.x());
    let ticks = time_ticks(end, size.pick(12, 4));
    chart.x_axis_at(&x, "time in trials, minutes:seconds", &ticks);
    for (row, arm) in rows.iter().enumerate() {
        let name = arm.map_or("rated rate", Arm::name);
        let is_best = arm.is_some() && *arm == view.findings().recommended.arm;
        let name = rows::name(&mut chart, row, name, is_best);
        chart.put(name);
        let y = chart.plot.top + ROW * row as f64;
        chart.put(line((0.0, y), (chart.plot.right, y), "grid"));
    }
    for trial in trials {
        let row = rows.iter().position(|row| *row == arm(trial)).unwrap_or(0);
        let y = rows::middle(&chart, row);
        let place = view.arms().iter().position(|a| Some(a.arm) == arm(trial));
        let trial = TrialPicture {
            row: place,
            ..trial.clone()
        };
        chart.put(bar(&trial, &x, (y - 0.36 * ROW, y + 0.36 * ROW), size));
    }
    letters(&mut chart, trials, &x);
    chart.finish("time", title, description)
}
