//! The last two minutes: load and CPU use on one axis, and latency.

use super::state::{REMEMBERED, Second, State};
use plimsoll_report::chart::{
    At, Axis, Chart, Datum, Mark, MarkKind, Panel, Scale, Series, Tone, Unit,
};

/// The load that the axis always has, in percent.
const FULL: f64 = 100.0;

pub(super) fn loads(state: &State) -> Chart {
    let load = line(state, "load", Tone::Nth(0), |second| Some(second.load_pct));
    let cpu = line(state, "CPU", Tone::Nth(2), |second| second.cpu_pct);
    let all = state.seconds.iter().map(|second| second.load_pct);
    let most = all.fold(FULL, f64::max);
    let scale = Scale::from_zero([most], 5);
    let panel = Panel::of(time(), Axis::new("", scale, Unit::Number), vec![load, cpu]);
    Chart::of(panel, "work", "Work done and CPU use, % (2 min)", "")
}

/// `None` if no request was served.
pub(super) fn latencies(state: &State) -> Option<Chart> {
    let names = [
        ("p50", Tone::Nth(0)),
        ("p95", Tone::Nth(1)),
        ("p99", Tone::Nth(2)),
    ];
    let lines = names.into_iter().enumerate();
    let lines = lines.map(|(nth, (name, tone))| line(state, name, tone, |second| second.us[nth]));
    let goal = state.about.goal;
    let limit = state.knobs.goal.then(|| goal.limit().as_secs_f64() * 1e6);
    let us = state.seconds.iter().flat_map(|second| second.us).flatten();
    let us: Vec<f64> = us.collect();
    us.first()?;
    let scale = Scale::log(us.into_iter().chain(limit));
    let marks = limit.map(|us| Mark {
        short_name: "goal".to_owned(),
        tone: Tone::Budget,
        ..Mark::new(MarkKind::Goal, At::Y(us))
    });
    let panel = Panel {
        marks: marks.into_iter().collect(),
        ..Panel::of(time(), Axis::new("", scale, Unit::Time), lines.collect())
    };
    Some(Chart::of(
        panel,
        "latency",
        "Latency (log scale, 2 min)",
        "",
    ))
}

/// Seconds before now.
fn time() -> Axis {
    let longest = REMEMBERED as f64;
    Axis {
        only: vec![-longest, -longest / 2.0, 0.0],
        ..Axis::new("", Scale::linear(-longest, 0.0), Unit::Number)
    }
}

fn line(state: &State, name: &str, tone: Tone, of: impl Fn(&Second) -> Option<f64>) -> Series {
    let now = state.last().map_or(0.0, |last| last.at.as_secs_f64());
    // What is not known is a gap.
    let datum = |second: &Second| {
        let x = second.at.as_secs_f64() - now;
        Datum::at(x, of(second).unwrap_or(f64::NAN), None)
    };
    Series {
        marker: None,
        ..Series::line(name, tone, state.seconds.iter().map(datum).collect())
    }
}
