//! The time line of the run: a row for each arm, a bar for each trial.

use super::{Arms, row, within_row};
use crate::chart::time_line::{bar, time_line};
use crate::chart::{Axis, Bar, Chart, Panel};
use plimsoll_model::{Arm, PictureSetting, TrialPicture};

pub(super) fn chart(view: Arms<'_>) -> Option<Chart> {
    let mut rows: Vec<Option<Arm>> = view.trials.iter().map(arm).collect();
    rows.sort_unstable();
    rows.dedup();
    let bar = |trial: &TrialPicture| {
        let arm = arm(trial);
        let row = rows.iter().position(|row| *row == arm).unwrap_or(0);
        Bar {
            pick: view.arms().iter().position(|a| Some(a.arm) == arm),
            ..bar(trial, within_row(row))
        }
    };
    let best = view.best();
    let name = |arm: &Option<Arm>| {
        let name = arm.map_or("rated rate", Arm::name);
        row(name, arm.is_some() && *arm == best)
    };
    let y = Axis::of_rows(rows.iter().map(name).collect());
    let bars = view.trials.iter().map(bar).collect();
    let title = view.report.record.trials.in_words();
    let hint = "Each bar is a trial; the pale parts are warm-up and drain. A pass visits every arm \
                once, in shuffled order, so that a machine that drifts does not favour one.";
    time_line(
        view.trials,
        title,
        hint,
        Panel::of_rows(Axis::default(), y, bars),
    )
}

/// The row that a trial stands in: that of its arm, or, before all arms, that
/// of the search for what the service carries alone.
fn arm(trial: &TrialPicture) -> Option<Arm> {
    match trial.setting {
        PictureSetting::Beside { arm, .. } => Some(arm),
        PictureSetting::Idle | PictureSetting::Offer { .. } | PictureSetting::Copies { .. } => None,
    }
}
