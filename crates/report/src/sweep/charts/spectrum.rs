//! The percentile spectrum: which part of the requests is answered within
//! which time, one line per level.

use super::{View, goal_marks, load_name};
use crate::chart::{
    Axis, Chart, Datum, Height, Line, Mark, Panel, Ring, Scale, Series, Tone, Unit,
};
use crate::number::{self, time_us};
use crate::sweep::levels::latency_column;
use crate::table::{Column, ColumnsOf};
use plimsoll_model::{CapacityFinding, Goal, LevelFinding, LevelPicture, SpectrumPoint};

pub(super) fn chart(view: View<'_>) -> Option<Chart> {
    // A single number per row has no spectrum.
    if view.report.is_imported() {
        return None;
    }
    view.picture.levels.iter().find(|l| l.spectrum.len() > 1)?;
    let hint = "One line per load level: to the right, fewer and fewer requests take longer. Pick a \
                level below, or in any chart.";
    let description = "Latency over percentile, both axes logarithmic, one line per level; the \
                       picked level is drawn strongly.";
    Some(Chart {
        description: description.to_owned(),
        details: view.details(detail),
        table: table(view.levels()),
        rows_are_picks: true,
        ..Chart::of(panel(view), "spectrum", title(view.levels())?, hint)
    })
}

fn title(levels: &[LevelFinding]) -> Option<String> {
    let tail = |l: &LevelFinding| Some((load_name(l), time_us(l.latency_us.as_ref()?.p999)));
    let (first, least) = levels.iter().find_map(tail)?;
    let (last, most) = levels.iter().rev().find_map(tail)?;
    Some(format!(
        "One request in 1,000 takes longer than {least} at {first}, and than {most} at {last}"
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
        None => "no valid trial".to_owned(),
    }
}

fn table(levels: &[LevelFinding]) -> Vec<Column> {
    vec![
        ColumnsOf(levels).column("load", "%", |l| number::trimmed_pct(l.load_pct)),
        latency_column(levels, "p50", 0, |l| l.p50),
        latency_column(levels, "p90", 0, |l| l.p90),
        latency_column(levels, "p99", 0, |l| l.p99),
        latency_column(levels, "p99.9", 0, |l| l.p999),
        latency_column(levels, "max", 0, |l| l.max),
    ]
}

/// How many requests there are for one that takes longer.
fn rarity(share: f64) -> f64 {
    1.0 / (1.0 - share).max(1e-9)
}

fn panel(view: View<'_>) -> Panel {
    let levels = &view.picture.levels;
    let all = || levels.iter().flat_map(|l| &l.spectrum);
    let rarest = all().map(|p| rarity(p.share)).fold(100.0, f64::max);
    let goals = || view.findings().capacity.iter();
    let limits = goals().filter_map(CapacityFinding::latency_limit_us);
    let shares = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999];
    let (label, scale) = (
        "requests answered within this time",
        Scale::log([2.0, rarest]),
    );
    let x = Axis {
        only: shares.map(rarity).to_vec(),
        ..Axis::new(label, scale, Unit::OneIn)
    };
    let y = Axis::latency("latency", all().map(|p| p.latency_us).chain(limits));
    let line = |(level, of): (usize, &LevelPicture)| {
        let point = |p: &SpectrumPoint| Datum::at(rarity(p.share), p.latency_us, None);
        (of.spectrum.len() > 1).then(|| Series {
            line: Line::Solid,
            pick: Some(level),
            data: of.spectrum.iter().map(point).collect(),
            ..Series::default()
        })
    };
    // Lines are of levels here, and have none of the percentiles' colours.
    let plain = |mark| Mark {
        tone: Tone::Plain,
        ..mark
    };
    Panel {
        height: Height::Fixed(284.0),
        marks: goal_marks(view).map(plain).collect(),
        rings: goals().filter_map(ring).collect(),
        ..Panel::of(x, y, levels.iter().enumerate().filter_map(line).collect())
    }
}

fn ring(capacity: &CapacityFinding) -> Option<Ring> {
    let Goal::Latency { quantile, .. } = capacity.goal else {
        return None;
    };
    Some(Ring {
        at: (rarity(quantile.fraction()), capacity.latency_limit_us()?),
        ..Ring::default()
    })
}
