//! The charts as they grow: a dot per trial, dim if it is invalid.

use crate::live::state::{Group, State};
use crate::paint::put_picture;
use plimsoll_engine::Ended;
use plimsoll_report::chart::{Chart, Progress, TrialPoint, progress};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Columns between the two.
const GAP: u16 = 3;

pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let each = area.width.saturating_sub(GAP) / 2;
    let shown = shown(state);
    if shown.is_empty() {
        super::coming::draw(state, area, buffer);
        return;
    }
    let (width, height) = (usize::from(each), usize::from(area.height));
    let charts = progress(&known(state, &shown));
    let [times, cpu] = charts;
    let times = times.map(|chart| with_legend(chart, state, &shown));
    for (chart, left) in [(times, 0), (cpu, each + GAP)] {
        let picture = chart.and_then(|chart| chart.draw(width, height, state.about.charset));
        if let Some(picture) = picture {
            put_picture(&picture, (area.x + left, area.y), buffer);
        }
    }
}

/// The trials to show: those under load, and once there are levels only those
/// that show the service as it is: not those that sought the rated rate far
/// beyond them, nor those on a part of its threads.
fn shown(state: &State) -> Vec<&Ended> {
    let of_levels =
        |done: &&Ended| !matches!(Group::of(done.phase), Group::Calibration | Group::Threads);
    let all: Vec<&Ended> = state.done.iter().filter(|done| done.x.is_some()).collect();
    let levels: Vec<&Ended> = all.iter().copied().filter(of_levels).collect();
    if levels.is_empty() { all } else { levels }
}

fn known(state: &State, shown: &[&Ended]) -> Progress {
    let point = |done: &&Ended| {
        Some(TrialPoint {
            load: done.x?,
            times_us: done.times_us.clone(),
            cpu_pct: done.cpu_pct,
            is_valid: done.is_valid(),
        })
    };
    Progress {
        trials: shown.iter().filter_map(point).collect(),
        charts: state.about.charts,
        now: state.now.as_ref().and_then(|now| now.trial.x),
        limit_us: state.about.limit_us.clone(),
    }
}

/// What a dot is that has no name, where there is one.
fn with_legend(mut chart: Chart, state: &State, shown: &[&Ended]) -> Chart {
    let panel = chart.panels.first_mut();
    if let Some(panel) = panel.filter(|_| !shown.iter().all(|done| done.is_valid())) {
        let dot = state.about.charset.pick("dim", "x");
        panel.y.label = format!("{dot}: invalid");
    }
    chart
}
