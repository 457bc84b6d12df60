//! The time line of the run: each trial as a bar.

use super::draw::{Drawing, FONT, Size, line, text};
use super::layout::{BOLD, thinned, width_of};
use super::scale::Scale;
use super::{Figure, View, both, rate_ticks};
use crate::html::markup::{El, el};
use crate::levels::known;
use crate::number::{self, for_count, per_second, time_us};
use crate::table::Column;
use plimsoll_model::{Invalid, Phase, Setting, TrialPicture};

pub(super) fn figure(view: View<'_>) -> Option<Figure> {
    let trials = &view.picture.trials;
    // Of a table it is not known when its rows were measured.
    if view.report.is_imported() || trials.iter().all(|t| t.took.is_zero()) {
        return None;
    }
    let title = view.report.record.trials.in_words();
    let description = format!(
        "Every trial as a bar over time, as high as the load it offered; hatched ones do not \
         count. {title}."
    );
    let codes = codes(trials);
    let marked = if codes.is_empty() {
        String::new()
    } else {
        format!(" Hatched: does not count, because {}.", codes.join(", "))
    };
    Some(Figure {
        id: "time",
        hint: format!(
            "Each bar is a trial, as high as its load; the pale parts are warm-up and drain.{marked}"
        ),
        drawings: both(|size| draw(view, size, &title, &description)),
        title,
        told: Vec::new(),
        table: table(trials),
        rows_are_levels: false,
    })
}

/// A letter for a reason, and what it stands for.
fn code(reason: &Invalid) -> (&'static str, &'static str) {
    match reason {
        Invalid::Slip { .. } => ("G", "G the generator was late"),
        Invalid::Steal { .. } => ("H", "H the hypervisor took CPU time"),
        Invalid::OtherLoad { .. } => ("O", "O other processes used CPU time"),
    }
}

/// What the letters in the chart stand for.
pub(super) fn codes(trials: &[TrialPicture]) -> Vec<&'static str> {
    let mut codes: Vec<&str> = trials
        .iter()
        .flat_map(|t| &t.invalid)
        .map(|r| code(r).1)
        .collect();
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
        (_, Setting::Copies { copies }) => {
            format!("{copies} {}", for_count(copies, "copy", "copies"))
        }
        (_, Setting::Beside { arm, headroom, .. }) => headroom.map_or_else(
            || arm.to_string(),
            |share| format!("{arm}, {} % headroom", number::trimmed_pct(share.pct())),
        ),
        (Phase::Idle, _) | (_, Setting::Idle) => "no load".to_owned(),
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
        true => "counts".to_owned(),
        false => reasons.join("; "),
    }
}

/// What a trial was set to, in the unit of the axis.
fn height(trial: &TrialPicture) -> f64 {
    match trial.setting {
        Setting::Offer { rate } | Setting::Beside { rate, .. } => rate.get(),
        Setting::Copies { copies } => f64::from(copies),
        Setting::Idle => 0.0,
    }
}

pub(super) fn table(trials: &[TrialPicture]) -> Vec<Column> {
    let asked = |t: &TrialPicture| known(Some(height(t)), number::rate);
    let p99 = |t: &TrialPicture| known(t.p99_us, |us| number::grouped(us, 0));
    vec![
        Column::new("trial", "", 0, (1..=trials.len()).map(|n| n.to_string())),
        Column::new(
            "began",
            "min:s",
            0,
            trials.iter().map(|t| clock(t.began.as_secs_f64())),
        ),
        Column::new("what", "", 0, trials.iter().map(what)),
        Column::new("load", "", 0, trials.iter().map(asked)),
        Column::new(
            "achieved",
            "/s",
            0,
            trials.iter().map(|t| number::rate(t.achieved_rps)),
        ),
        Column::new("p99", "us", 0, trials.iter().map(p99)),
        Column::new(
            "CPU",
            "%",
            0,
            trials.iter().map(|t| known(t.cpu_pct, number::pct)),
        ),
        Column::new("verdict", "", 0, trials.iter().map(reasons)),
    ]
}

/// `1:05`
fn clock(seconds: f64) -> String {
    let seconds = seconds.round().max(0.0) as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// Round times in seconds for an axis as long as this.
pub(super) fn time_ticks(seconds: f64, about: usize) -> Vec<(f64, String)> {
    let steps = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200,
    ];
    let fits = |step: &&u32| seconds / f64::from(**step) <= about as f64;
    let step = f64::from(*steps.iter().find(fits).unwrap_or(&86_400));
    let count = (seconds / step).floor().clamp(0.0, 100.0) as u32;
    (0..=count)
        .map(|i| f64::from(i) * step)
        .map(|at| (at, clock(at)))
        .collect()
}

fn draw(view: View<'_>, size: Size, title: &str, description: &str) -> El {
    let trials = &view.picture.trials;
    let margins = [40.0, 12.0, 42.0, size.pick(58.0, 50.0)];
    let letters_below = match trials.iter().any(|t| !t.invalid.is_empty()) {
        true => LETTERS,
        false => 0.0,
    };
    let mut chart = Drawing::new(
        size,
        size.pick(900.0, 360.0),
        size.pick(250.0, 240.0) + letters_below,
        [
            margins[0],
            margins[1],
            margins[2] + letters_below,
            margins[3],
        ],
    );
    chart.below = letters_below;
    let plot = chart.plot;
    let end = trials
        .last()
        .map_or(1.0, |t| (t.began + t.took).as_secs_f64());
    let x = Scale::linear((0.0, end.max(0.001)), plot.x());
    let y = Scale::from_zero(trials.iter().map(height).fold(0.0, f64::max), plot.y(), 4);
    let name = match view.report.is_copies() {
        true => "copies at once",
        false => "offered, requests per second",
    };
    chart.x_axis_at(
        &x,
        "time in trials, minutes:seconds",
        &time_ticks(end, size.pick(12, 5)),
    );
    let show = rate_ticks(y.most());
    let whole = |tick: f64| match view.report.is_copies() && tick.fract() > 0.0 {
        true => String::new(),
        false => show(tick),
    };
    chart.y_axis(&y, name, whole);
    for trial in trials {
        let top = y.at(height(trial)).min(plot.bottom - 2.0);
        chart.put(bar(trial, &x, (top, plot.bottom), size));
    }
    letters(&mut chart, trials, &x);
    chart.finish("time", title, description)
}

/// A trial as a bar with this upper and this lower edge.
pub(super) fn bar(trial: &TrialPicture, x: &Scale, (top, bottom): (f64, f64), size: Size) -> El {
    let began = trial.began.as_secs_f64();
    let window = began + trial.warm_up.as_secs_f64();
    let rect = |from: f64, to: f64, class: &str| {
        let (from, to) = (x.at(from), x.at(to));
        el("rect")
            .class(class)
            .num("x", from)
            .num("y", top)
            .num("width", (to - from - 0.4).max(0.5))
            .num("height", bottom - top)
    };
    let achieved = match trial.setting {
        Setting::Offer { .. } => format!(", {} answered", per_second(trial.achieved_rps)),
        _ => String::new(),
    };
    let p99 = trial
        .p99_us
        .map_or_else(String::new, |us| format!(", p99 {}", time_us(us)));
    let verdict = match trial.invalid.is_empty() {
        true => String::new(),
        false => format!(": does not count: {}", reasons(trial)),
    };
    let told = format!("{}{achieved}{p99}{verdict}", what(trial));
    let class = if trial.invalid.is_empty() {
        "trial"
    } else {
        "trial bad"
    };
    let ended = began + trial.took.as_secs_f64();
    let measured = window + trial.window.as_secs_f64();
    // Of a bar as thin as a line no parts can be seen.
    let parts = match x.at(ended) - x.at(began) < 3.0 {
        true => vec![rect(began, ended, "window")],
        false => vec![
            rect(began, ended, "whole"),
            rect(window, measured, "window"),
        ],
    };
    // On a phone there is no pointer that could ask.
    let title = size.pick(Some(el("title").with(told)), None);
    let bar = el("g").class(class).with(title).with_all(parts);
    match trial.row {
        Some(row) => bar.level(row),
        None => bar,
    }
}

/// Height of the row of letters under the bars.
pub(super) const LETTERS: f64 = 16.0;

/// The reasons of the trials that do not count, in a row under their bars,
/// where no other bar is; a stroke where there is no room for a letter.
pub(super) fn letters(chart: &mut Drawing, trials: &[TrialPicture], x: &Scale) {
    let invalid: Vec<&TrialPicture> = trials.iter().filter(|t| !t.invalid.is_empty()).collect();
    // A generator that was disturbed is late for that reason.
    let letter = |t: &TrialPicture| {
        let disturbed = t
            .invalid
            .iter()
            .find(|r| !matches!(r, Invalid::Slip { .. }));
        disturbed.or(t.invalid.first()).map_or("", |r| code(r).0)
    };
    let middle = |t: &TrialPicture| x.at((t.began + t.took / 2).as_secs_f64());
    let places: Vec<(f64, f64)> = invalid
        .iter()
        .map(|t| (middle(t), BOLD * width_of(letter(t), FONT)))
        .collect();
    let top = chart.plot.bottom;
    for ((trial, (at, _)), shown) in invalid.iter().zip(&places).zip(thinned(&places, 3.0)) {
        if shown {
            chart.put(text((*at, top + 13.0), "reason mid", letter(trial)));
        } else {
            chart.put(line((*at, top + 3.0), (*at, top + 6.0), "reason-tick"));
        }
    }
}
