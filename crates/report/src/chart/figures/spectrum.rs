//! The percentile spectrum: which part of the requests is answered within
//! which time, one line per level.

use super::{View, goal_marks, latency_axis, load_name};
use crate::chart::{
    Axis, Chart, Datum, Height, Line, Mark, Panel, Ring, Scale, Series, Tone, Unit,
};
use crate::levels::known;
use crate::number::{self, TimeUnit, time_us};
use crate::table::Column;
use plimsoll_model::{CapacityFinding, Goal, LatencySummary, LevelFinding, LevelPicture};

pub(super) fn chart(view: View<'_>) -> Option<Chart> {
    // A single number per row has no spectrum.
    if view.report.is_imported() {
        return None;
    }
    view.picture.levels.iter().find(|l| l.spectrum.len() > 1)?;
    Some(Chart {
        id: "spectrum".to_owned(),
        title: title(view.levels())?,
        hint:
            "One line per load level: to the right, fewer and fewer requests take longer. Pick a \
               level below, or in any chart."
                .to_owned(),
        description: "Latency over percentile, both axes logarithmic, one line per level; the \
                      picked level is drawn strongly."
            .to_owned(),
        panels: vec![panel(view)],
        details: view.details(detail),
        table: table(view.levels()),
        rows_are_picks: true,
        ..Chart::default()
    })
}

/// The tail at the lowest and at the highest level.
fn title(levels: &[LevelFinding]) -> Option<String> {
    let has = |l: &&LevelFinding| l.latency_us.is_some();
    let (first, last) = (levels.iter().find(has)?, levels.iter().rfind(has)?);
    let tail = |l: &LevelFinding| l.latency_us.as_ref().map_or(0.0, |s| s.p999);
    Some(format!(
        "One request in 1,000 takes longer than {} at {}, and than {} at {}",
        time_us(tail(first)),
        load_name(first),
        time_us(tail(last)),
        load_name(last)
    ))
}

fn detail(level: &LevelFinding) -> String {
    match &level.latency_us {
        Some(l) => format!(
            "half within {}, 90 % within {}, 99 % within {}, 99.9 % within {}, all within {}",
            time_us(l.p50),
            time_us(l.p90),
            time_us(l.p99),
            time_us(l.p999),
            time_us(l.max)
        ),
        None => "no trial counts".to_owned(),
    }
}

fn table(levels: &[LevelFinding]) -> Vec<Column> {
    let column = |name, of: fn(&LatencySummary) -> f64| {
        let values = levels.iter().map(|l| l.latency_us.as_ref().map(of));
        let unit = TimeUnit::of(values.clone().flatten());
        Column::new(
            name,
            unit.name,
            0,
            values.map(|us| known(us, |us| unit.show(us))),
        )
    };
    vec![
        Column::new(
            "load",
            "%",
            0,
            levels.iter().map(|l| number::trimmed_pct(l.load_pct)),
        ),
        column("p50", |l| l.p50),
        column("p90", |l| l.p90),
        column("p99", |l| l.p99),
        column("p99.9", |l| l.p999),
        column("max", |l| l.max),
    ]
}

/// How many requests there are for one that takes longer.
fn rarity(share: f64) -> f64 {
    1.0 / (1.0 - share).max(1e-9)
}

fn panel(view: View<'_>) -> Panel {
    let all = || view.picture.levels.iter().flat_map(|l| &l.spectrum);
    let rarest = all().map(|p| rarity(p.share)).fold(100.0, f64::max);
    let limits = view.findings().capacity.iter();
    let limits = limits.filter_map(CapacityFinding::latency_limit_us);
    let shares = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999];
    let x = Axis {
        only: shares.map(rarity).to_vec(),
        ..Axis::new(
            "requests answered within this time",
            Scale::log([2.0, rarest]),
            Unit::OneIn,
        )
    };
    let line = |(level, of): (usize, &LevelPicture)| {
        let points = of.spectrum.iter().filter(|_| of.spectrum.len() > 1);
        let point =
            |p: &plimsoll_model::SpectrumPoint| Datum::at(rarity(p.share), p.latency_us, None);
        let data: Vec<Datum> = points.map(point).collect();
        (!data.is_empty()).then_some(Series {
            line: Line::Solid,
            pick: Some(level),
            data,
            ..Series::default()
        })
    };
    // Lines are of levels here, and have none of the percentiles' colours.
    let plain = |mark| Mark {
        tone: Tone::Plain,
        ..mark
    };
    Panel {
        x,
        y: latency_axis(all().map(|p| p.latency_us).chain(limits)),
        height: Height::Fixed(284.0),
        marks: goal_marks(view.findings()).map(plain).collect(),
        series: view
            .picture
            .levels
            .iter()
            .enumerate()
            .filter_map(line)
            .collect(),
        rings: view.findings().capacity.iter().filter_map(ring).collect(),
        ..Panel::default()
    }
}

/// A goal at its percentile, which the axis names.
fn ring(capacity: &CapacityFinding) -> Option<Ring> {
    let Goal::Latency { quantile, .. } = capacity.goal else {
        return None;
    };
    Some(Ring {
        at: (rarity(quantile.fraction()), capacity.latency_limit_us()?),
        ..Ring::default()
    })
}
