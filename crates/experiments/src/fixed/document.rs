//! The findings as a document: one screen.

use super::experiment::FixedRate;
use super::study::{FixedFindings, Quantiles};
use crate::experiment::ReportOf;
use plimsoll_model::{Rate, Second};
use plimsoll_report::chart::{Axis, Chart, Datum, Panel, Scale, Series, Tone, Unit, Width};
use plimsoll_report::{Column, Document, Ink, Role, Table, time_us};
use std::time::Duration;

pub(super) fn document<'a>(
    report: &'a ReportOf<'a, FixedRate>,
    seconds: &'a [Second],
) -> Document<'a> {
    let found = report.findings;
    let mut out = Document::of_run(report, 1, "rates");
    if found.intended == 0 {
        out.answer(Ink::Red, "Nothing was measured.".to_owned());
        return out;
    }
    out.answer(ink(found), answer(found));
    let doubts = doubts(found);
    out.say(
        Role::Doubt,
        doubts.into_iter().map(|text| Ink::Yellow.says(text)),
    );
    let note =
        "One trial: no interval. plimsoll sweep, or several runs, show how much figures vary.";
    out.say(Role::Note, [Ink::Dim.says(note)]);
    out.table(times(found));
    out.table(counts(found));
    out.charts(chart(seconds));
    out
}

fn ink(found: &FixedFindings) -> Ink {
    match found.failed + found.unfinished {
        0 if found.valid => Ink::Green,
        _ if found.completed == 0 => Ink::Red,
        _ => Ink::Yellow,
    }
}

/// `1,998/s answered of 2,000/s for 10s; p50 410us, p99 1.2ms`
fn answer(found: &FixedFindings) -> String {
    let of = |name: &str, value: Option<f64>| value.map(|us| format!("{name} {}", time_us(us)));
    let latency = &found.latency_us;
    let times = [
        of("p50", latency.p50),
        of("p99", latency.p99),
        of("max", latency.max),
    ];
    let times: Vec<String> = times.into_iter().flatten().collect();
    let measured = Duration::from_secs_f64(found.measured_s);
    format!(
        "{} answered of {} for {}; {}",
        per_second(found.served_rps),
        per_second(found.asked_rps),
        plimsoll_model::human_duration(measured),
        match times.is_empty() {
            true => "no latency".to_owned(),
            false => times.join(", "),
        }
    )
}

fn per_second(rps: f64) -> String {
    Rate::per_second(rps).unwrap_or(Rate::ZERO).to_string()
}

fn doubts(found: &FixedFindings) -> Vec<String> {
    let mut doubts = Vec::new();
    let kinds = found.errors.by_kind().into_iter();
    let kinds: Vec<String> = kinds
        .filter(|(_, n)| *n > 0)
        .map(|(kind, n)| format!("{n} {kind}"))
        .collect();
    if !kinds.is_empty() {
        let share = 100.0 * found.failed as f64 / found.intended as f64;
        doubts.push(format!(
            "{} requests failed ({share:.2} %): {}.",
            found.failed,
            kinds.join(", ")
        ));
    }
    if found.unfinished > 0 {
        doubts.push(format!(
            "{} requests had no answer at the end; they count with the time that they had waited.",
            found.unfinished
        ));
    }
    if found.slow_seconds > 0 {
        doubts.push(format!(
            "In {} of the seconds fewer than 90 % of the requests were answered: the service does not carry this rate, or something else used its CPUs.",
            found.slow_seconds
        ));
    }
    doubts
}

/// A row for each quantile, so that it fits any terminal.
fn times(found: &FixedFindings) -> Table {
    type Of = fn(&Quantiles) -> Option<f64>;
    let rows: [(&str, Of); 8] = [
        ("mean", |q| q.mean),
        ("p50", |q| q.p50),
        ("p75", |q| q.p75),
        ("p90", |q| q.p90),
        ("p95", |q| q.p95),
        ("p99", |q| q.p99),
        ("p99.9", |q| q.p999),
        ("max", |q| q.max),
    ];
    let written = |value: Option<f64>| value.map_or("-".to_owned(), time_us);
    let columns = vec![
        Column::words("of answers", "", 0, &rows, |(name, _)| (*name).to_owned()),
        Column::words("latency", "", 0, &rows, |(_, of)| {
            written(of(&found.latency_us))
        }),
        Column::words("slip", "", 1, &rows, |(_, of)| written(of(&found.slip_us))),
    ];
    let explained = [
        (
            "latency",
            "from the time at which a request was due to the last byte of its answer",
        ),
        (
            "slip",
            "how late the generator itself was, which is part of the latency",
        ),
    ];
    Table::of(columns)
        .explained("Times", &explained)
        .on_page("times")
}

/// A row for each figure, so that it fits any width.
fn counts(found: &FixedFindings) -> Table {
    let figure = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
    let rows = [
        ("requests due", found.intended.to_string()),
        ("answered", found.completed.to_string()),
        ("failed", found.failed.to_string()),
        ("unanswered at the end", found.unfinished.to_string()),
        ("CPU use of the service's CPUs, %", figure(found.cpu_pct)),
        (
            "CPU time of the service, us per answer",
            figure(found.cpu_us_per_request),
        ),
        (
            "CPU time of the generator, us per answer",
            figure(found.generator_us_per_request),
        ),
    ];
    let columns = vec![
        Column::words("figure", "", 0, &rows, |(name, _)| (*name).to_owned()),
        Column::words("value", "", 0, &rows, |(_, value)| value.clone()),
    ];
    Table::of(columns).on_page("requests")
}

/// Latency second by second.
fn chart(seconds: &[Second]) -> Option<Chart> {
    let measured = || seconds.iter().filter(|second| second.measured);
    let first = measured().next()?.at.as_secs_f64();
    let line = |name: &str, tone, of: fn(&Second) -> Option<Duration>| {
        let point = |second: &Second| {
            let x = second.at.as_secs_f64() - first + 1.0;
            Some(Datum::at(x, of(second)?.as_secs_f64() * 1e6, None))
        };
        Series {
            marker: None,
            ..Series::line(name, tone, measured().filter_map(point).collect())
        }
    };
    let p50 = line("p50", Tone::P50, |second| second.p50);
    let p99 = line("p99", Tone::P99, |second| second.p99);
    let all = || p50.data.iter().chain(&p99.data);
    if all().count() < 4 {
        return None;
    }
    let end = all().map(|datum| datum.x).fold(1.0, f64::max);
    let x = Axis::new("second", Scale::linear(1.0, end), Unit::Number);
    let y = Axis::new(
        "latency",
        Scale::log(all().flat_map(Datum::y_extent)),
        Unit::Time,
    );
    let hint = "Of the answers of each second; the latency axis is logarithmic.";
    let panel = Panel::of(x, y, vec![p50, p99]);
    let mut chart = Chart::of(panel, "seconds", "Latency second by second", hint);
    chart.width = Width::Full;
    Some(chart)
}
