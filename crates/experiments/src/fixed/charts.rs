//! Rates and latency second by second.

use plimsoll_model::Second;
use plimsoll_report::chart::{Axis, Chart, Datum, Panel, Scale, Series, Tone, Unit, Width};
use std::time::Duration;

/// A second of the window.
#[derive(Debug, Clone)]
pub struct SecondOf {
    pub(super) second: Second,
    /// Requests that were due in it, on average.
    pub(super) due: f64,
}

/// Rates where they change, and latency.
pub(super) fn all(seconds: &[SecondOf], rate_changes: bool) -> Vec<Chart> {
    let rates = rate_changes.then(|| rates(seconds)).flatten();
    rates.into_iter().chain(latencies(seconds)).collect()
}

fn line(
    seconds: &[SecondOf],
    (name, tone): (&str, Tone),
    of: impl Fn(&SecondOf) -> Option<f64>,
) -> Series {
    let first = seconds
        .first()
        .map_or(0.0, |first| first.second.at.as_secs_f64());
    let point = |second: &SecondOf| {
        let x = second.second.at.as_secs_f64() - first + 1.0;
        Some(Datum::at(x, of(second)?, None))
    };
    Series {
        marker: None,
        ..Series::line(name, tone, seconds.iter().filter_map(point).collect())
    }
}

fn latencies(seconds: &[SecondOf]) -> Option<Chart> {
    let us = |time: Option<Duration>| Some(time?.as_secs_f64() * 1e6);
    let p50 = line(seconds, ("p50", Tone::P50), |s| us(s.second.p50));
    let p99 = line(seconds, ("p99", Tone::P99), |s| us(s.second.p99));
    let values = p50.data.iter().chain(&p99.data).flat_map(Datum::y_extent);
    let y = Axis::new("latency", Scale::log(values), Unit::Time);
    let hint = "Of the answers of each second; the latency axis is logarithmic.";
    chart(
        vec![p50, p99],
        y,
        ("seconds", "Latency second by second", hint),
    )
}

fn rates(seconds: &[SecondOf]) -> Option<Chart> {
    let per_second = |count: f64, s: &SecondOf| Some(count / s.second.length.as_secs_f64());
    let asked = line(seconds, ("asked", Tone::Plain), |s| per_second(s.due, s));
    let answered = line(seconds, ("answered", Tone::Rate), |s| {
        per_second(s.second.completed as f64, s)
    });
    let values = asked.data.iter().chain(&answered.data).map(|datum| datum.y);
    let y = Axis::new("rate", Scale::up_to(values), Unit::Rate);
    let hint = "Answers in each second, and the requests that were due in it on average.";
    chart(
        vec![asked, answered],
        y,
        ("rates", "Rate second by second", hint),
    )
}

/// `None` for less than a line.
fn chart(lines: Vec<Series>, y: Axis, (name, title, hint): (&str, &str, &str)) -> Option<Chart> {
    let all = || lines.iter().flat_map(|line| &line.data);
    if all().count() < 4 {
        return None;
    }
    let end = all().map(|datum| datum.x).fold(1.0, f64::max);
    let x = Axis::new("second", Scale::linear(1.0, end), Unit::Number);
    let mut chart = Chart::of(Panel::of(x, y, lines), name, title, hint);
    chart.width = Width::Full;
    Some(chart)
}
