//! The time line of a run: each trial as a bar.

use super::axis::clock;
use super::{Axis, Bar, Chart, Height, Panel, Scale, Unit, Width};
use crate::number::{self, for_count, per_second, time_us};
use crate::sentence::{words_if, words_of};
use crate::table::{Column, ColumnsOf, known};
use plimsoll_model::{Invalid, Phase, PictureSetting, TrialPicture};

pub(crate) fn of_loads(
    trials: &[TrialPicture],
    title: String,
    label: &str,
    unit: Unit,
) -> Option<Chart> {
    let bar = |trial: &TrialPicture| Bar {
        pick: trial.row,
        ..bar(trial, (0.0, load(trial)))
    };
    let panel = Panel {
        y: Axis::new(label, Scale::from_zero(trials.iter().map(load), 4), unit),
        height: Height::Fixed(168.0),
        bars: trials.iter().map(bar).collect(),
        ..Panel::default()
    };
    let hint = "Each bar is a trial, as high as its load; the pale parts are warm-up and drain.";
    time_line(trials, title, hint, panel)
}

pub(crate) fn time_line(
    trials: &[TrialPicture],
    title: String,
    hint: &str,
    mut panel: Panel,
) -> Option<Chart> {
    trials.iter().find(|t| !t.took.is_zero())?;
    let codes = codes(trials);
    let marked = format!(" Hatched: invalid, because {}.", codes.join(", "));
    let marked = words_if(!codes.is_empty(), &marked);
    let end = trials.last().map(|t| (t.began + t.took).as_secs_f64());
    let scale = Scale::linear(0.0, end.unwrap_or_default().max(0.001));
    panel.x = Axis::new("time in trials, minutes:seconds", scale, Unit::Clock);
    Some(Chart {
        description: "Every trial as a bar over time; hatched ones are invalid.".to_owned(),
        width: Width::Full,
        table: table(trials),
        ..Chart::of(panel, "time", title, format!("{hint}{marked}"))
    })
}

pub(crate) fn bar(trial: &TrialPicture, y: (f64, f64)) -> Bar {
    let began = trial.began.as_secs_f64();
    let window = began + trial.warm_up.as_secs_f64();
    let achieved = match trial.setting {
        PictureSetting::Offer { .. } => format!(", {} answered", per_second(trial.achieved_rps)),
        _ => String::new(),
    };
    let p99 = words_of(trial.p99_us, |us| format!(", p99 {}", time_us(us)));
    let verdict = format!(": invalid: {}", reasons(trial));
    let verdict = words_if(!trial.invalid.is_empty(), &verdict);
    // A generator that was disturbed is late for that reason.
    let is_slip = |r: &&Invalid| matches!(r, Invalid::Slip { .. });
    let disturbed = trial.invalid.iter().find(|r| !is_slip(r));
    let reason = disturbed.or(trial.invalid.first());
    Bar {
        x: (began, began + trial.took.as_secs_f64()),
        y,
        window: Some((window, window + trial.window.as_secs_f64())),
        invalid: reason.map(|reason| code(reason).0),
        tooltip: format!("{}{achieved}{p99}{verdict}", what(trial)),
        ..Bar::default()
    }
}

/// A letter for a reason, and what it stands for.
fn code(reason: &Invalid) -> (char, &'static str) {
    match reason {
        Invalid::Slip { .. } => ('G', "G the generator was late"),
        Invalid::Steal { .. } => ('H', "H the hypervisor took CPU time"),
        Invalid::OtherLoad { .. } => ('O', "O other processes used CPU time"),
    }
}

fn codes(trials: &[TrialPicture]) -> Vec<&'static str> {
    let reasons = trials.iter().flat_map(|t| &t.invalid);
    let mut codes: Vec<&str> = reasons.map(|r| code(r).1).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

fn what(trial: &TrialPicture) -> String {
    let again = match trial.attempt {
        0 => String::new(),
        n => format!(" (attempt {})", n + 1),
    };
    let what = match (trial.phase, trial.setting) {
        (_, PictureSetting::Copies { copies }) => {
            format!("{copies} {}", for_count(copies, "copy", "copies"))
        }
        (_, PictureSetting::Beside { arm, headroom, .. }) => headroom.map_or_else(
            || arm.to_string(),
            |share| format!("{arm}, {} % headroom", number::trimmed_pct(share.pct())),
        ),
        (Phase::Idle, _) | (_, PictureSetting::Idle) => "no load".to_owned(),
        (Phase::WarmUp, _) => "warming the service up".to_owned(),
        (Phase::Calibration, _) => "finding the rated rate".to_owned(),
        (Phase::OneThreadPerCore, _) => "full load, one thread of each core".to_owned(),
        (Phase::TwoThreadsPerCore, _) => "full load, both threads of each core".to_owned(),
        (Phase::Search, _) => "narrowing down".to_owned(),
        (Phase::Confirmation, _) => "confirming".to_owned(),
        (Phase::Level { level: Some(level) }, _) => {
            format!("{} % load", number::trimmed_pct(level.pct()))
        }
        (Phase::Level { level: None }, _) => "a level".to_owned(),
    };
    what + &again
}

fn reasons(trial: &TrialPicture) -> String {
    let reasons: Vec<String> = trial.invalid.iter().map(ToString::to_string).collect();
    match reasons.is_empty() {
        true => "valid".to_owned(),
        false => reasons.join("; "),
    }
}

fn load(trial: &TrialPicture) -> f64 {
    match trial.setting {
        PictureSetting::Offer { rate } | PictureSetting::Beside { rate, .. } => rate.get(),
        PictureSetting::Copies { copies } => f64::from(copies),
        PictureSetting::Idle => 0.0,
    }
}

fn table(trials: &[TrialPicture]) -> Vec<Column> {
    let of = ColumnsOf(trials);
    vec![
        Column::new("trial", "", 0, (1..=trials.len()).map(|n| n.to_string())),
        of.column("began", "min:s", |t| clock(t.began.as_secs_f64())),
        of.column("what", "", what),
        of.column("load", "", |t| number::rate(load(t))),
        of.column("achieved", "/s", |t| number::rate(t.achieved_rps)),
        of.column("p99", "us", |t| {
            known(t.p99_us, |us| number::grouped(us, 0))
        }),
        of.column("CPU", "%", |t| known(t.cpu_pct, number::pct)),
        of.column("verdict", "", reasons),
    ]
}
