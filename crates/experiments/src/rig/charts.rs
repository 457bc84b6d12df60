//! The charts of a rig. Pure.

use super::findings::{BreakFinding, GrainFinding, PeakFinding, RigFindings};
use super::outcome::{ConcurrencyCurve, Direction};
use super::plan::RigPlan;
use super::runs::Series as Runs;
use super::waiting;
use plimsoll_model::{Estimate, counted, sort_by_number};
use plimsoll_report::chart::{
    At, Axis, Chart, Datum, Line, Mark, MarkKind, Panel, Ranges, Scale, Series, Shape, Tone, Unit,
};
use plimsoll_report::time_us;
use plimsoll_study::rig::breaking::Trial;

pub(super) fn all(plan: &RigPlan, found: &RigFindings, runs: &Runs) -> Vec<Chart> {
    let charts = [
        efficiency(plan, found),
        peaks(plan, found, runs),
        concurrency(plan, runs),
        breaking(plan, found, runs),
        waiting::chart(&found.waiting),
    ];
    charts.into_iter().flatten().collect()
}

/// A tone of its own for each scheduler.
fn tone(plan: &RigPlan, scheduler: &str) -> Tone {
    let at = plan.schedulers.iter().position(|name| name == scheduler);
    Tone::Nth(at.unwrap_or_default())
}

/// A panel for jobs without dependencies, and one for those with some.
fn efficiency(plan: &RigPlan, found: &RigFindings) -> Option<Chart> {
    let mut counts: Vec<u32> = found.grain.iter().map(|row| row.dependencies).collect();
    counts.sort_unstable();
    counts.dedup();
    let panels = counts.into_iter().filter_map(|dependencies| {
        let rows = found.grain.iter().filter(|row| !row.efficiency.is_empty());
        let rows = rows.filter(|row| row.dependencies == dependencies);
        let series: Vec<Series> = rows.map(|row| of_grains(plan, row)).collect();
        let points = series.iter().flat_map(|s| &s.data);
        let x = Scale::log(points.clone().map(|d| d.x));
        let y = Scale::up_to(points.map(|d| d.y).chain([100.0]));
        let x = Axis::new("length of a job", x, Unit::Time);
        let y = Axis::new("efficiency, %", y, Unit::Number);
        let mark = |at: f64| Mark {
            name: format!("{at} %"),
            ..Mark::new(MarkKind::Guide, At::Y(at))
        };
        (!series.is_empty()).then(|| Panel {
            title: match dependencies {
                0 => "independent jobs".to_owned(),
                n => format!("jobs that wait for {}", counted(n, "other", "others")),
            },
            marks: vec![mark(50.0), mark(95.0)],
            ..Panel::of(x, y, series)
        })
    });
    let hint = "The share of the workers' time that is work. Where a line meets 50 % is METG(50 %): shorter jobs are mostly overhead. Bars are 95 % confidence intervals.";
    of_panels(
        panels.collect(),
        "efficiency",
        "Efficiency by length of the jobs",
        hint,
    )
}

fn of_grains(plan: &RigPlan, row: &GrainFinding) -> Series {
    let points = row.efficiency.iter();
    let data = points.map(|p| Datum::estimate(p.grain_us, percent(p.efficiency_ratio)));
    Series::line(&row.scheduler, tone(plan, &row.scheduler), data.collect())
}

fn of_panels(panels: Vec<Panel>, id: &str, title: &str, hint: &str) -> Option<Chart> {
    let first = panels.first().cloned()?;
    let mut chart = Chart::of(first, id, title, hint);
    chart.panels = panels;
    Some(chart)
}

fn percent(ratio: Estimate) -> Estimate {
    ratio.map_rising(|ratio| 100.0 * ratio)
}

/// Run time against jobs: the runs, the line, and its band.
fn peaks(plan: &RigPlan, found: &RigFindings, runs: &Runs) -> Option<Chart> {
    let mut panels = Vec::new();
    for grain in &plan.peak_grains {
        let grain_us = grain.as_secs_f64() * 1e6;
        let rows = found.peak.iter().zip(&runs.peaks);
        let rows = rows.filter(|(row, points)| row.grain_us == grain_us && !points.is_empty());
        let series: Vec<Series> = rows
            .flat_map(|(row, points)| of_peak(plan, row, points))
            .collect();
        if series.is_empty() {
            continue;
        }
        let points = series.iter().flat_map(|s| &s.data);
        let x = Axis::new(
            "jobs",
            Scale::up_to(points.clone().map(|d| d.x)),
            Unit::Count,
        );
        let y = Axis::new("run time", Scale::up_to(points.map(|d| d.y)), Unit::Time);
        panels.push(Panel {
            title: format!("jobs of {}", time_us(grain_us)),
            ..Panel::of(x, y, series)
        });
    }
    let hint = "Each dot is a run after a pause of 10 ms. The line is a robust fit with its 95 % band; where it meets no jobs is the start-up cost.";
    of_panels(panels, "peaks", "Run time by jobs of a load peak", hint)
}

fn of_peak(plan: &RigPlan, row: &PeakFinding, points: &[(f64, f64)]) -> Vec<Series> {
    let tone = tone(plan, &row.scheduler);
    let dots = Series {
        marker: Some(Shape::Speck),
        tone,
        data: points
            .iter()
            .map(|(x, y)| Datum::at(*x, *y, None))
            .collect(),
        ..Series::default()
    };
    let line = row
        .line
        .iter()
        .map(|point| Datum::estimate(point.jobs, point.run_time_us));
    let line = Series {
        name: row.scheduler.clone(),
        tone,
        line: Line::Solid,
        ranges: Ranges::Band,
        data: line.collect(),
        ..Series::default()
    };
    let both = [line, dots].into_iter();
    both.filter(|series| !series.data.is_empty()).collect()
}

fn concurrency(plan: &RigPlan, runs: &Runs) -> Option<Chart> {
    let of = |(name, curve): &(String, ConcurrencyCurve)| {
        let width = curve.ends_ns as f64 / 1e3 / curve.parts.len().max(1) as f64;
        let parts = curve.parts.iter().enumerate();
        let data = parts.map(|(at, busy)| Datum::at((at as f64 + 0.5) * width, *busy, None));
        Series {
            marker: None,
            ..Series::line(name, tone(plan, name), data.collect())
        }
    };
    let series: Vec<Series> = runs.concurrency.iter().map(of).collect();
    let points = series.iter().flat_map(|s| &s.data);
    let workers = f64::from(plan.workers());
    let x = Axis::new("time", Scale::up_to(points.map(|d| d.x)), Unit::Time);
    let y = Axis::new("busy workers", Scale::up_to([workers]), Unit::Number);
    let hint =
        "Busy workers over the last peak of the shortest jobs, from the call of the scheduler on.";
    let has_data = !series.is_empty();
    let panel = Panel::of(x, y, series);
    has_data.then(|| Chart::of(panel, "concurrency", "Concurrency over time", hint))
}

/// Runs that miss a deadline by stress, from both sides: a panel for each scheduler.
fn breaking(plan: &RigPlan, found: &RigFindings, runs: &Runs) -> Option<Chart> {
    let rows = found.breaking.iter().zip(&runs.tried);
    let rows: Vec<(&BreakFinding, &Vec<Trial>)> =
        rows.filter(|(_, tried)| !tried.is_empty()).collect();
    let highest = rows.iter().flat_map(|(_, tried)| tried.iter());
    let highest = highest.map(|trial| trial.stress).fold(0.0, f64::max);
    let each = rows.chunk_by(|a, b| a.0.scheduler == b.0.scheduler);
    let panels = each.map(|both| {
        let series = both
            .iter()
            .map(|(row, tried)| of_search(plan, row, tried))
            .collect();
        let x = Axis::new("stress", Scale::up_to([highest]), Unit::Number);
        let y = Axis::new(
            "runs that miss a deadline, %",
            Scale::linear(0.0, 104.0),
            Unit::Number,
        );
        let marks = both.iter().filter_map(|(row, _)| {
            let stress = row.stress?;
            Some(Mark {
                range: stress.interval(),
                tone: tone(plan, &row.scheduler),
                name: row.direction.to_string(),
                ..Mark::new(MarkKind::Load, At::X(stress.value))
            })
        });
        Panel {
            title: both[0].0.scheduler.clone(),
            marks: marks.collect(),
            ..Panel::of(x, y, series)
        }
    });
    let hint = "At a stress of 1 the schedule is as long as a list schedule of jobs without any cost. Each point is of all runs at stresses within 5 %; the marks are the breaking points.";
    of_panels(
        panels.collect(),
        "breaking",
        "Missed deadlines by stress",
        hint,
    )
}

/// By their places on a logarithmic grid.
fn is_same_point(a: f64, b: f64) -> bool {
    let place = |stress: f64| (stress.ln() / SAME_POINT.ln()).floor();
    place(a) == place(b)
}

/// Stresses no further apart than this factor share a point: each was tried a few times only.
const SAME_POINT: f64 = 1.05;

fn of_search(plan: &RigPlan, row: &BreakFinding, tried: &[Trial]) -> Series {
    let mut tried: Vec<&Trial> = tried.iter().collect();
    sort_by_number(&mut tried, |one| one.stress);
    let data = tried
        .chunk_by(|a, b| is_same_point(a.stress, b.stress))
        .map(|near| {
            let sum = |of: fn(&Trial) -> f64| near.iter().map(|t| of(t)).sum::<f64>();
            let runs = sum(|t| f64::from(t.runs));
            let stress = sum(|t| t.stress * f64::from(t.runs)) / runs;
            let missed = sum(|t| f64::from(t.missed));
            Datum::at(stress, 100.0 * missed / runs, None)
        });
    let marker = match row.direction {
        Direction::Below => Shape::Triangle,
        Direction::Above => Shape::Diamond,
    };
    Series {
        marker: Some(marker),
        ..Series::line(
            &row.direction.to_string(),
            tone(plan, &row.scheduler),
            data.collect(),
        )
    }
}
