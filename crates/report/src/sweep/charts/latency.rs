//! Latency against load.

pub(super) mod title;

use super::{View, goal_marks, goal_tone, leads, load_marks, load_name};
use crate::capacity::seen_missed;
use crate::chart::{
    At, Axis, Chart, Datum, Height, Panel, Ranges, Ring, Series, Shape, Tone, Width,
};
use crate::number::{per_second, time_us};
use plimsoll_model::{
    CapacityFinding, Goal, LatencySpread, LatencySummary, LevelFinding, Phase, PictureSetting,
    Span, TrialPicture,
};

#[derive(Clone, Copy)]
pub(super) struct Percentile {
    pub(super) name: &'static str,
    pub(super) tone: Tone,
    pub(super) shape: Shape,
    of: fn(&LatencySummary) -> f64,
    spread: fn(&LatencySpread) -> Span,
}

impl Percentile {
    const fn new(
        name: &'static str,
        (tone, shape): (Tone, Shape),
        of: fn(&LatencySummary) -> f64,
        spread: fn(&LatencySpread) -> Span,
    ) -> Percentile {
        Percentile {
            name,
            tone,
            shape,
            of,
            spread,
        }
    }
}

pub(super) const PERCENTILES: [Percentile; 3] = [
    Percentile::new(
        "p99.9",
        (Tone::P999, Shape::Diamond),
        |l| l.p999,
        |s| s.p999,
    ),
    Percentile::new("p99", (Tone::P99, Shape::Square), |l| l.p99, |s| s.p99),
    Percentile::new("p50", (Tone::P50, Shape::Circle), |l| l.p50, |s| s.p50),
];

/// Of a table it is not known which percentile its latency is.
const TABLE: Percentile =
    Percentile::new("latency", (Tone::P99, Shape::Square), |l| l.p99, |s| s.p99);

pub(super) fn chart(view: View<'_>) -> Option<Chart> {
    let levels = view.levels();
    levels.iter().find(|l| l.latency_us.is_some())?;
    let lines: &[Percentile] = match view.report.is_imported() {
        true => &[TABLE],
        false => &PERCENTILES,
    };
    let panel = panel(view, lines);
    let (title, hint) = (title::title(view), title::hint(view, &panel));
    Some(Chart {
        short_titles: vec![title::short(view.findings())],
        description: format!(
            "Latency over the offered rate, from {} to {}, latency on a logarithmic axis.",
            per_second(levels.first()?.offered_rps),
            per_second(levels.last()?.offered_rps),
        ),
        picks: levels.iter().map(|l| Some(l.offered_rps)).collect(),
        details: levels.iter().map(|l| detail(l, lines)).collect(),
        width: Width::Full,
        table: view.level_table(),
        rows_are_picks: true,
        ..Chart::of(panel, "latency", title, hint)
    })
}

fn detail(level: &LevelFinding, lines: &[Percentile]) -> String {
    let (name, rate) = (load_name(level), per_second(level.offered_rps));
    let Some(latency) = &level.latency_us else {
        return format!("{name}: no valid trial");
    };
    let part = |line: &Percentile| format!("{} {}", line.name, time_us((line.of)(latency)));
    let parts: Vec<String> = lines.iter().rev().map(part).collect();
    format!("{name}, {rate}: {}", parts.join(", "))
}

fn panel(view: View<'_>, lines: &[Percentile]) -> Panel {
    let findings = view.findings();
    let loads = load_marks(findings, Some);
    let searched: Vec<(f64, f64)> = view.picture.trials.iter().filter_map(search).collect();
    let mut series: Vec<Series> = lines.iter().map(|line| percentile(view, *line)).collect();
    series.push(Series::specks(Tone::P99, searched.iter().copied()));
    // Marks beyond the axis would all be drawn at its edge.
    let ends = loads.iter().flat_map(|mark| {
        let at = match mark.at {
            At::X(at) | At::Y(at) => at,
        };
        [at, mark.range.map_or(at, |(_, high)| high)]
    });
    let rates = view.levels().iter().map(|l| l.offered_rps).chain(ends);
    let x = Axis::offered(rates.chain(searched.iter().map(|(rate, _)| *rate)));
    let data = series.iter().flat_map(|s| &s.data);
    let values = data.flat_map(|d| {
        let (low, high) = d.y_range.unwrap_or((d.y, d.y));
        [low, d.y, high]
    });
    let goals = findings.capacity.iter();
    let limits = goals.filter_map(CapacityFinding::latency_limit_us);
    let y = Axis::latency("latency", values.chain(limits));
    Panel {
        height: Height::Fixed(320.0),
        marks: loads.into_iter().chain(goal_marks(view)).collect(),
        rings: rings(view),
        ..Panel::of(x, y, series)
    }
}

fn search(trial: &TrialPicture) -> Option<(f64, f64)> {
    let is_search = matches!(trial.phase, Phase::Search | Phase::Confirmation);
    match trial.setting {
        PictureSetting::Offer { rate } if is_search && trial.invalid.is_empty() => {
            Some((rate.get(), trial.p99_us?))
        }
        _ => None,
    }
}

fn percentile(view: View<'_>, line: Percentile) -> Series {
    let datum = |(i, level): (usize, &LevelFinding)| {
        let latency = level.latency_us.as_ref().map_or(f64::NAN, line.of);
        let spread = view.picture.levels.get(i).and_then(|more| more.spread);
        let span = spread.as_ref().map(line.spread);
        Datum {
            y_range: span.map(|span| (span.low, span.high)),
            ..Datum::at(level.offered_rps, latency, Some(i))
        }
    };
    let data = view.levels().iter().enumerate().map(datum).collect();
    Series {
        ranges: Ranges::Band,
        ..Series::joined(line.name, line.tone, line.shape, data)
    }
}

/// Whether a rate was found at which a percentile of latency reaches its
/// limit.
fn is_met(finding: &CapacityFinding) -> bool {
    let found = seen_missed(finding) && finding.rate_rps.is_some();
    found && finding.latency_limit_us().is_some()
}

/// Where a goal's percentile reaches its limit: in the colour of that
/// percentile and with its name, because the lines of others may pass by the
/// same place.
fn rings(view: View<'_>) -> Vec<Ring> {
    let ring = |finding: &CapacityFinding| {
        let (Goal::Latency { quantile, .. }, Some(us)) = (finding.goal, finding.latency_limit_us())
        else {
            return None;
        };
        let rate = finding.rate_rps?;
        Some(Ring {
            at: (rate.value, us),
            x_range: rate.interval(),
            tone: goal_tone(finding),
            is_other: !leads(view.findings(), finding),
            // The one latency of a table is named by the axis.
            name: match view.report.is_imported() {
                true => String::new(),
                false => quantile.to_string(),
            },
        })
    };
    let capacity = view.findings().capacity.iter();
    capacity.filter(|c| is_met(c)).filter_map(ring).collect()
}
