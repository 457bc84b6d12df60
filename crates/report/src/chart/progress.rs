//! The charts of a run that goes on: a dot per trial, dim where it is invalid.

use super::{At, Axis, Chart, Datum, Mark, MarkKind, Panel, Scale, Series, Shape, Tone, Unit};
use plimsoll_model::sort_by_number;

#[derive(Debug, Clone, Default)]
pub struct TrialPoint {
    /// Its place on the x axis.
    pub load: f64,
    /// In microseconds, one for each name; NaN for one that the trial does not have.
    pub times_us: Vec<f64>,
    /// In percent.
    pub cpu_pct: Option<f64>,
    pub is_valid: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveCharts {
    pub times_title: &'static str,
    pub cpu_title: &'static str,
    /// The names of a trial's times, at most three.
    pub times: &'static [&'static str],
    pub x_is_count: bool,
}

impl LiveCharts {
    pub const LATENCY: LiveCharts = LiveCharts {
        times_title: "Latency (log scale) by offered/s",
        cpu_title: "CPU use (%) by offered/s",
        times: &["p50", "p99", "p99.9"],
        x_is_count: false,
    };
}

#[derive(Debug, Clone)]
pub struct Progress {
    pub trials: Vec<TrialPoint>,
    pub charts: LiveCharts,
    /// The load of the trial that is under way.
    pub now: Option<f64>,
    /// A goal on latency, in microseconds, with its name.
    pub limit_us: Option<(f64, String)>,
}

const TONES: [Tone; 3] = [Tone::P50, Tone::P99, Tone::P999];

/// Times and CPU use over load; `None` for one of which nothing is known.
pub fn progress(run: &Progress) -> [Option<Chart>; 2] {
    [times(run), cpu(run)]
}

fn times(run: &Progress) -> Option<Chart> {
    let of = |which: usize| {
        move |trial: &TrialPoint| {
            let us = trial.times_us.get(which).copied();
            us.filter(|us| us.is_finite())
        }
    };
    // Of the invalid ones, the time that a goal is about most often.
    let mut series = vec![dots(run, ("", Tone::Dim), false, of(1))];
    let lines = run.charts.times.iter().zip(TONES).enumerate();
    series.extend(lines.map(|(which, (name, tone))| dots(run, (name, tone), true, of(which))));
    let data = series.iter().flat_map(|s| &s.data).map(|d| d.y);
    let us: Vec<f64> = data.chain(run.limit_us.iter().map(|(us, _)| *us)).collect();
    us.first()?;
    let goal = run.limit_us.iter().map(|(us, name)| Mark {
        short_name: name.clone(),
        tone: Tone::Budget,
        ..Mark::new(MarkKind::Goal, At::Y(*us))
    });
    let panel = Panel {
        marks: goal.collect(),
        ..Panel::of(Axis::default(), Axis::latency("", us), series)
    };
    Some(chart(run, run.charts.times_title, panel))
}

fn cpu(run: &Progress) -> Option<Chart> {
    let of = |trial: &TrialPoint| trial.cpu_pct;
    let series = [
        dots(run, ("", Tone::Dim), false, of),
        dots(run, ("CPU", Tone::Cpu), true, of),
    ];
    series.iter().find(|series| !series.data.is_empty())?;
    let panel = Panel {
        series: series.into(),
        ..Panel::of_cpu(Axis::default(), Series::default())
    };
    Some(chart(run, run.charts.cpu_title, panel))
}

/// A chart over load, whose title says what is on the axes: there is little
/// room.
fn chart(run: &Progress, title: &str, mut panel: Panel) -> Chart {
    let loads = run.trials.iter().map(|trial| trial.load).chain(run.now);
    let unit = if run.charts.x_is_count {
        Unit::Count
    } else {
        Unit::Rate
    };
    panel.x = Axis::new("", Scale::up_to(loads), unit);
    panel.y.label.clear();
    panel.marks.extend(run.now.map(|now| Mark {
        short_name: "now".to_owned(),
        tone: Tone::Dim,
        ..Mark::new(MarkKind::Moment, At::X(now))
    }));
    Chart::of(panel, "", title, "")
}

fn dots(
    run: &Progress,
    (name, tone): (&str, Tone),
    is_valid: bool,
    of: impl Fn(&TrialPoint) -> Option<f64>,
) -> Series {
    let trials = run.trials.iter().filter(|trial| trial.is_valid == is_valid);
    let point = |trial: &TrialPoint| Some(Datum::at(trial.load, of(trial)?, None));
    let mut data: Vec<Datum> = trials.filter_map(point).collect();
    // The name stands at the highest load.
    sort_by_number(&mut data, |one| one.x);
    Series {
        name: name.to_owned(),
        ..Series::points(tone, Shape::Circle, data)
    }
}
