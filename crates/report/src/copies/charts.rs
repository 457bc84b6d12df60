//! A run of copies: how they slow each other down, how much work that is, and
//! what CPU use says of it.

use super::findings::{columns, is_disturbed, sentences, speed};
use crate::chart::{
    At, Axis, Chart, Datum, Height, Mark, MarkKind, Panel, Scale, Series, Shape, Tone, Unit, Width,
    time_line,
};
use crate::html::Picker;
use crate::number::{self, counted};
use crate::sentence::{capital, words_if};
use plimsoll_model::{CopiesFinding, CopiesFindings, PictureSetting, TrialPicture};

#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) findings: &'a CopiesFindings,
    pub(super) trials: &'a [TrialPicture],
    pub(super) is_table: bool,
}

pub(super) fn figures(view: View<'_>, time_line: Option<Chart>) -> Vec<Chart> {
    let charts = [time(view), work(view), cpu(view), time_line];
    charts.into_iter().flatten().collect()
}

pub(super) fn of_trials(trials: &[TrialPicture], tally: String) -> Option<Chart> {
    time_line::of_loads(trials, tally, "copies at once", Unit::Count)
}

pub(super) fn terminal(view: View<'_>) -> Vec<Chart> {
    // Of one number of copies there is no curve.
    match view
        .findings
        .copies
        .iter()
        .filter(|row| row.trials > 0)
        .count()
    {
        0 | 1 => Vec::new(),
        _ => [time(view), cpu(view)].into_iter().flatten().collect(),
    }
}

/// The numbers of copies to pick from, the largest first.
pub(super) fn picker(view: View<'_>, charts: &[Chart]) -> Picker {
    let rows = &view.findings.copies;
    let items = rows
        .iter()
        .map(|row| (name(row), facts(row, view.is_table)));
    Picker::of(Picker::LEVELS, items, rows.len().saturating_sub(1), charts)
}

fn facts(row: &CopiesFinding, is_table: bool) -> String {
    let speed = |ratio| format!("{} of the speed of one alone", speed(row, ratio, is_table));
    let parts = [
        Some(format!("{} s each", number::short(row.seconds))),
        row.efficiency_ratio.map(speed),
        row.cpu_pct.map(|cpu| format!("CPU {} %", number::pct(cpu))),
        is_disturbed(row).then(|| "disturbed: no valid trial".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

fn name(row: &CopiesFinding) -> String {
    counted(row.copies, "copy", "copies")
}

fn chart(
    view: View<'_>,
    id: &str,
    (title, hint): (String, &str),
    tell: impl Fn(&CopiesFinding) -> String,
    panel: Panel,
) -> Chart {
    let rows = &view.findings.copies;
    let disturbed = words_if(
        rows.iter().any(is_disturbed),
        " Hollow: disturbed, no valid trial.",
    );
    let hint = format!("{hint}{disturbed}");
    let detail = |r: &CopiesFinding| {
        let but = words_if(is_disturbed(r), " (disturbed: no valid trial)");
        format!("{}: {}{but}", name(r), tell(r))
    };
    Chart {
        picks: rows.iter().map(|r| Some(f64::from(r.copies))).collect(),
        details: rows.iter().map(detail).collect(),
        table: columns(view.findings, view.is_table),
        rows_are_picks: true,
        ..Chart::of(panel, id, title, hint)
    }
}

/// Something of each row, hollow where it rests on invalid trials; a copy is
/// `each` on the x axis.
fn data(rows: &[CopiesFinding], each: f64, of: fn(&CopiesFinding) -> Option<f64>) -> Vec<Datum> {
    let datum = |(i, row): (usize, &CopiesFinding)| {
        let x = each * f64::from(row.copies);
        Datum {
            hollow: is_disturbed(row),
            ..Datum::at(x, of(row).unwrap_or(f64::NAN), Some(i))
        }
    };
    rows.iter().enumerate().map(datum).collect()
}

/// The row with the most copies that has a valid trial, and that of one.
fn ends<'a>(view: View<'a>) -> Option<(&'a CopiesFinding, &'a CopiesFinding)> {
    let counted = |r: &&CopiesFinding| r.trials > 0;
    let rows = &view.findings.copies;
    Some((rows.iter().find(counted)?, rows.iter().rfind(counted)?))
}

fn copies_axis(view: View<'_>) -> Axis {
    let tried = view.findings.copies.iter().map(|r| f64::from(r.copies));
    Axis {
        only: tried.clone().collect(),
        ..Axis::new("copies at once", Scale::up_to(tried), Unit::Count)
    }
}

fn trials<'a>(view: View<'a>) -> impl Iterator<Item = (f64, &'a TrialPicture)> {
    let counted = view.trials.iter().filter(|t| t.invalid.is_empty());
    counted.filter_map(|t| match t.setting {
        PictureSetting::Copies { copies } => Some((f64::from(copies), t)),
        _ => None,
    })
}

fn time(view: View<'_>) -> Option<Chart> {
    let (first, most) = ends(view)?;
    let (alone, slow) = (number::short(first.seconds), number::short(most.seconds));
    let title = match first.copies == most.copies {
        true => format!("{} at once: {alone} s each", capital(&name(first))),
        false => format!(
            "A copy takes {alone} s with {} at once, and {slow} s with {}",
            name(first),
            most.copies
        ),
    };
    let hint = "Time of a copy against copies at once, and the slowest of them. Small dots: single \
                trials. Level: copies do not disturb each other.";
    let of_table =
        "Time of a copy against copies at once. Level: copies do not disturb each other.";
    let hint = if view.is_table { of_table } else { hint };
    let tell = |r: &CopiesFinding| {
        let (mean, slowest) = (number::short(r.seconds), number::short(r.slowest_seconds));
        format!("{mean} s each, the slowest {slowest} s")
    };
    Some(Chart {
        width: Width::Full,
        ..chart(view, "latency", (title, hint), tell, time_panel(view))
    })
}

fn time_panel(view: View<'_>) -> Panel {
    let rows = &view.findings.copies;
    let times = rows.iter().map(|r| r.slowest_seconds.max(r.seconds));
    let y = Axis::new(
        "time of a copy, seconds",
        Scale::from_zero(times, 5),
        Unit::Rate,
    );
    let single = trials(view).filter_map(|(copies, t)| Some((copies, t.copy_s?)));
    let mut series = vec![Series::specks(Tone::P99, single)];
    // Where a row is one number, as in a table, its slowest copy is that copy.
    let slower = |r: &CopiesFinding| r.slowest_seconds > r.seconds * 1.000_001;
    if rows.iter().any(slower) {
        let slowest = data(rows, 1.0, |r| Some(r.slowest_seconds));
        series.push(Series::joined(
            "slowest",
            Tone::P999,
            Shape::Diamond,
            slowest,
        ));
    }
    let mean = data(rows, 1.0, |r| Some(r.seconds));
    series.push(Series::joined("mean", Tone::P99, Shape::Square, mean));
    let alone = rows.iter().find(|r| r.copies == 1);
    let alone = alone.map(|alone| Mark::new(MarkKind::Guide, At::Y(alone.seconds)));
    Panel {
        height: Height::Fixed(284.0),
        marks: alone.into_iter().collect(),
        ..Panel::of(copies_axis(view), y, series)
    }
}

fn work(view: View<'_>) -> Option<Chart> {
    let rows = &view.findings.copies;
    rows.iter()
        .find(|r| r.efficiency_ratio.is_some() && r.copies > 1)?;
    let sentences = sentences(rows, view.is_table);
    let title = sentences.first()?.text.trim_end_matches('.');
    let hint = "Work of all copies together, in copies that run alone. On the dotted diagonal they \
                do not disturb each other.";
    let tell = |r: &CopiesFinding| match r.efficiency_ratio {
        Some(ratio) => format!(
            "each at {} of the speed of one alone, together the work of {}",
            speed(r, ratio, view.is_table),
            number::short(ratio.value * f64::from(r.copies))
        ),
        None => "efficiency is not known".to_owned(),
    };
    // More work than that of copies alone is a sign of disturbed trials, and
    // shall be seen as such.
    let work = |r: &CopiesFinding| Some(f64::from(r.copies) * r.efficiency_ratio?.value);
    let x = copies_axis(view);
    let most = rows.iter().filter_map(work).map(|work| 1.04 * work);
    let scale = Scale::linear(0.0, most.fold(x.scale.high(), f64::max));
    let y = Axis::new("work, in copies that run alone", scale, Unit::Rate);
    let series = vec![
        Series::diagonal("no disturbance", x.scale.high()),
        Series::line("", Tone::Work, data(rows, 1.0, work)),
    ];
    let panel = Panel {
        height: Height::Fixed(324.0),
        ..Panel::of(x, y, series)
    };
    Some(chart(view, "work", (title.to_owned(), hint), tell, panel))
}

fn cpu(view: View<'_>) -> Option<Chart> {
    let rows = &view.findings.copies;
    let (first, most) = ends(view)?;
    let known = |r: &CopiesFinding| r.cpu_pct.map(number::pct);
    let title = match (known(first), known(most)) {
        (Some(low), Some(high)) if first.copies < most.copies => format!(
            "CPU use goes from {low} % with {} to {high} % with {}",
            name(first),
            most.copies
        ),
        (_, Some(high)) => format!("CPU use is {high} % with {}", name(most)),
        _ => return None,
    };
    let hint = "CPU use against copies at once, in percent of the most copies tried. On the dotted \
                diagonal CPU use is proportional to the copies.";
    let tell = |r: &CopiesFinding| {
        let told = known(r).map(|cpu| format!("CPU use {cpu} %"));
        told.unwrap_or_else(|| "CPU use is not known".to_owned())
    };
    let tried = rows.iter().map(|r| f64::from(r.copies)).fold(1.0, f64::max);
    let scale = Scale::linear(0.0, 100.0);
    let percent = |copies: f64| 100.0 * copies / tried;
    let data = data(rows, percent(1.0), |r| r.cpu_pct);
    let x = Axis::new("copies, % of the most tried", scale, Unit::Number);
    let mut panel = Panel::of_cpu(x, Series::diagonal("", 100.0));
    panel.height = Height::Equal;
    let single = trials(view).filter_map(|(copies, t)| Some((percent(copies), t.cpu_pct?)));
    panel.series.extend([
        Series::specks(Tone::Cpu, single),
        Series::line("CPU", Tone::Cpu, data),
    ]);
    let places = rows.iter().map(|r| Some(percent(f64::from(r.copies))));
    Some(Chart {
        picks: places.collect(),
        ..chart(view, "cpu", (title, hint), tell, panel)
    })
}
