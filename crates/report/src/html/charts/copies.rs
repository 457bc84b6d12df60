//! A run of copies: how they slow each other down, how much work that is, and
//! what CPU use says of it.

use super::draw::{Drawing, Shape, Size, line, path, point, speck, text};
use super::label::EndLabel;
use super::scale::Scale;
use super::{Figure, View, both, pct_tick, rate_ticks, room_beyond};
use crate::copies::{columns, is_disturbed, sentences};
use crate::html::markup::El;
use crate::number::{self, counted};
use plimsoll_model::{CopiesFinding, Setting, TrialPicture};

/// `3 copies`
pub(crate) fn name(row: &CopiesFinding) -> String {
    counted(row.copies, "copy", "copies")
}

fn figure(
    view: View<'_>,
    id: &'static str,
    (title, hint): (String, &str),
    told: impl Fn(&CopiesFinding) -> String,
    draw: impl Fn(Size, &str, &str) -> El,
) -> Figure {
    let rows = &view.findings().copies;
    let disturbed = match rows.iter().any(is_disturbed) {
        true => " Hollow: disturbed, no trial counts.",
        false => "",
    };
    let hint = format!("{hint}{disturbed}");
    let description = format!("{hint} {title}.");
    Figure {
        id,
        hint,
        drawings: both(|size| draw(size, &title, &description)),
        title,
        told: rows
            .iter()
            .map(|r| {
                let but = match is_disturbed(r) {
                    true => " (disturbed: no trial counts)",
                    false => "",
                };
                format!("{}: {}{but}", name(r), told(r))
            })
            .collect(),
        table: columns(rows, &view.findings().smt),
        rows_are_levels: true,
    }
}

/// The row with the most copies of which a trial counts, and that of one.
fn ends(view: View<'_>) -> Option<(&CopiesFinding, &CopiesFinding)> {
    let counted = |r: &&CopiesFinding| r.trials > 0;
    let rows = &view.findings().copies;
    Some((rows.iter().find(counted)?, rows.iter().rfind(counted)?))
}

/// Time of a copy against copies at once.
pub(super) fn time(view: View<'_>) -> Option<Figure> {
    let (first, most) = ends(view)?;
    let title = match first.copies == most.copies {
        true => format!(
            "{} at once: {} s each",
            super::capital(&name(first)),
            number::short(first.seconds)
        ),
        false => format!(
            "A copy takes {} s with {} at once, and {} s with {}",
            number::short(first.seconds),
            name(first),
            number::short(most.seconds),
            most.copies
        ),
    };
    let hint = "Time of a copy against copies at once, and the slowest of them. Small dots: single \
                trials. Level: copies do not disturb each other.";
    let told = |r: &CopiesFinding| {
        let (mean, slowest) = (number::short(r.seconds), number::short(r.slowest_seconds));
        format!("{mean} s each, the slowest {slowest} s")
    };
    Some(figure(
        view,
        "latency",
        (title, hint),
        told,
        |size, title, description| draw_time(view, size).finish("latency", title, description),
    ))
}

fn along(view: View<'_>, pixels: (f64, f64)) -> Scale {
    let most = view.findings().copies.iter().map(|r| r.copies).max();
    Scale::linear((0.0, f64::from(most.unwrap_or(1).max(1)) * 1.04), pixels)
}

/// Numbers of copies for the axis: all of them where they have room.
fn copies_axis(chart: &mut Drawing, view: View<'_>, x: &Scale) {
    let rows = view.findings().copies.iter();
    let ticks: Vec<(f64, String)> = rows
        .map(|r| (f64::from(r.copies), r.copies.to_string()))
        .collect();
    chart.x_axis_at(x, "copies at once", &ticks);
    let places = view.findings().copies.iter();
    chart.levels_at(places.map(|r| Some(x.at(f64::from(r.copies)))).collect());
}

fn trials(view: View<'_>) -> impl Iterator<Item = (f64, &TrialPicture)> {
    let counted = view.picture.trials.iter().filter(|t| t.invalid.is_empty());
    counted.filter_map(|t| match t.setting {
        Setting::Copies { copies } => Some((f64::from(copies), t)),
        _ => None,
    })
}

/// How the point of a row looks.
fn class_of(row: &CopiesFinding, line: &str) -> String {
    let hollow = if is_disturbed(row) { " hollow" } else { "" };
    format!("pt {line}{hollow}")
}

/// A time of a number of copies.
type Seconds = fn(&CopiesFinding) -> f64;

fn draw_time(view: View<'_>, size: Size) -> Drawing {
    let rows = &view.findings().copies;
    let margins = [34.0, 76.0, 42.0, size.pick(58.0, 50.0)];
    let mut chart = Drawing::new(
        size,
        size.pick(900.0, 360.0),
        size.pick(360.0, 300.0),
        margins,
    );
    let x = along(view, chart.plot.x());
    let most = rows
        .iter()
        .map(|r| r.slowest_seconds.max(r.seconds))
        .fold(0.0, f64::max);
    let y = Scale::from_zero(most, chart.plot.y(), 5);
    copies_axis(&mut chart, view, &x);
    chart.y_axis(&y, "time of a copy, seconds", rate_ticks(y.most()));
    if let Some(alone) = rows.iter().find(|r| r.copies == 1) {
        let at = y.at(alone.seconds);
        let plot = chart.plot;
        chart.put(line((plot.left, at), (plot.right, at), "diagonal"));
    }
    for (copies, trial) in trials(view) {
        if let Some(seconds) = trial.copy_s {
            chart.put(speck((x.at(copies), y.at(seconds)), "speck p99"));
        }
    }
    // Where a row is one number, as in a table, its slowest copy is that copy.
    let differ = rows
        .iter()
        .any(|r| r.slowest_seconds > r.seconds * 1.000_001);
    let mut labels = Vec::new();
    let slowest = |r: &CopiesFinding| r.slowest_seconds;
    let mean = |r: &CopiesFinding| r.seconds;
    let lines: [(&str, &str, Shape, Seconds); 2] = [
        ("p999", "slowest", Shape::Diamond, slowest),
        ("p99", "mean", Shape::Square, mean),
    ];
    for (class, name, shape, of) in lines.into_iter().skip(usize::from(!differ)) {
        let place = |r: &CopiesFinding| (x.at(f64::from(r.copies)), y.at(of(r)));
        let points: Vec<(f64, f64)> = rows.iter().map(place).collect();
        chart.put(path(&points, &format!("line {class}")));
        for (i, (at, row)) in points.iter().zip(rows).enumerate() {
            chart.put(point(*at, shape, &class_of(row, class)).level(i));
        }
        if let Some((_, y)) = points.last().filter(|_| differ) {
            labels.push(EndLabel {
                y: *y,
                class,
                text: name,
            });
        }
    }
    chart.end_labels(&labels);
    chart
}

/// Work of all copies against copies at once.
pub(super) fn work(view: View<'_>) -> Option<Figure> {
    let rows = &view.findings().copies;
    rows.iter()
        .find(|r| r.efficiency_ratio.is_some() && r.copies > 1)?;
    let title = sentences(rows)
        .first()?
        .text
        .trim_end_matches('.')
        .to_owned();
    let hint = "Work of all copies together, in copies that run alone. On the dotted diagonal they \
                do not disturb each other.";
    let told = |r: &CopiesFinding| match r.efficiency_ratio {
        Some(ratio) => format!(
            "each at {:.0} % of the speed of one alone, together the work of {}",
            100.0 * ratio,
            number::short(ratio * f64::from(r.copies))
        ),
        None => "efficiency is not known".to_owned(),
    };
    Some(figure(
        view,
        "work",
        (title, hint),
        told,
        |size, title, description| draw_work(view, size).finish("work", title, description),
    ))
}

fn draw_work(view: View<'_>, size: Size) -> Drawing {
    let rows = &view.findings().copies;
    let margins = [34.0, 24.0, 42.0, size.pick(58.0, 50.0)];
    let mut chart = Drawing::new(
        size,
        size.pick(520.0, 360.0),
        size.pick(400.0, 340.0),
        margins,
    );
    let x = along(view, chart.plot.x());
    // More work than that of copies alone is a sign of disturbed trials, and
    // shall be seen as such.
    let work = |r: &CopiesFinding| Some(f64::from(r.copies) * r.efficiency_ratio?);
    let most = rows.iter().filter_map(work).fold(0.0, f64::max);
    let most = room_beyond(most).max(x.most());
    let y = Scale::linear((0.0, most), chart.plot.y());
    copies_axis(&mut chart, view, &x);
    chart.y_axis(&y, "work, in copies that run alone", rate_ticks(y.most()));
    chart.put(line(
        (x.at(0.0), y.at(0.0)),
        (x.at(x.most()), y.at(x.most())),
        "diagonal",
    ));
    let name_at = (x.at(0.2 * x.most()) + 6.0, y.at(0.2 * x.most()) + 14.0);
    chart.put(text(name_at, "diagonal-name", "no disturbance"));
    let place = |r: &CopiesFinding| Some((x.at(f64::from(r.copies)), y.at(work(r)?)));
    let points: Vec<(f64, f64)> = rows.iter().filter_map(place).collect();
    chart.put(path(&points, "line work"));
    for (i, row) in rows.iter().enumerate() {
        if let Some(at) = place(row) {
            chart.put(point(at, Shape::Circle, &class_of(row, "work")).level(i));
        }
    }
    chart
}

/// CPU use against copies, both as a part of the most.
pub(super) fn cpu(view: View<'_>) -> Option<Figure> {
    let rows = &view.findings().copies;
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
                diagonal CPU use would tell how many run.";
    let told = |r: &CopiesFinding| {
        known(r).map_or_else(
            || "CPU use is not known".to_owned(),
            |cpu| format!("CPU use {cpu} %"),
        )
    };
    Some(figure(
        view,
        "cpu",
        (title, hint),
        told,
        |size, title, description| draw_cpu(view, rows, size).finish("cpu", title, description),
    ))
}

fn draw_cpu(view: View<'_>, rows: &[CopiesFinding], size: Size) -> Drawing {
    let width = size.pick(520.0, 360.0);
    let (left, right, top, bottom) = (46.0, 20.0, 34.0, 42.0);
    let height = top + bottom + (width - left - right);
    let mut chart = Drawing::new(size, width, height, [top, right, bottom, left]);
    let x = Scale::linear((0.0, 100.0), chart.plot.x());
    let y = Scale::linear((0.0, 100.0), chart.plot.y());
    chart.x_axis(&x, "copies, % of the most tried", pct_tick);
    chart.y_axis(&y, "CPU use, %", pct_tick);
    chart.put(line(
        (x.at(0.0), y.at(0.0)),
        (x.at(100.0), y.at(100.0)),
        "diagonal",
    ));
    let most = f64::from(rows.iter().map(|r| r.copies).max().unwrap_or(1).max(1));
    let along = |copies: f64| x.at(100.0 * copies / most);
    chart.levels_at(
        rows.iter()
            .map(|r| Some(along(f64::from(r.copies))))
            .collect(),
    );
    for (copies, trial) in trials(view) {
        if let Some(cpu) = trial.cpu_pct {
            chart.put(speck((along(copies), y.at(cpu)), "speck cpu"));
        }
    }
    let place = |r: &CopiesFinding| Some((along(f64::from(r.copies)), y.at(r.cpu_pct?)));
    let points: Vec<(f64, f64)> = rows.iter().filter_map(place).collect();
    chart.put(path(&points, "line cpu"));
    for (i, row) in rows.iter().enumerate() {
        if let Some(at) = place(row) {
            chart.put(point(at, Shape::Circle, &class_of(row, "cpu")).level(i));
        }
    }
    chart
}
