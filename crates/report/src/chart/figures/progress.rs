//! The charts of a run that goes on: a dot per trial, dim where it is invalid.

use super::{cpu_panel, diagonal, latency_axis, offered_axis};
use crate::chart::{
    At, Axis, Chart, Datum, Mark, MarkKind, Panel, Scale, Series, Shape, Tone, Unit,
};

/// What a trial comes to.
#[derive(Debug, Clone, Default)]
pub struct TrialPoint {
    /// Its place on the x axis.
    pub load: f64,
    /// In microseconds, one for each name.
    pub times_us: Vec<f64>,
    /// In percent.
    pub cpu_pct: Option<f64>,
    /// Whether it counts.
    pub is_valid: bool,
}

/// What the charts of a run that goes on show: times over the x axis, and CPU
/// use over the x axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveCharts {
    /// The title of the chart of times.
    pub times_title: &'static str,
    /// The title of the chart of CPU use.
    pub cpu_title: &'static str,
    /// The names of a trial's times, at most three.
    pub times: &'static [&'static str],
    /// Whether x counts things.
    pub x_is_count: bool,
}

impl LiveCharts {
    /// Latency over the offered load.
    pub const LATENCY: LiveCharts = LiveCharts {
        times_title: "Latency (log scale) by offered/s",
        cpu_title: "CPU use (%) by offered/s",
        times: &["p50", "p99", "p99.9"],
        x_is_count: false,
    };
}

impl Default for LiveCharts {
    fn default() -> LiveCharts {
        LiveCharts::LATENCY
    }
}

/// A run as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// In the order they were made.
    pub trials: Vec<TrialPoint>,
    /// What the charts show.
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
    let of = |which: usize| move |trial: &TrialPoint| trial.times_us.get(which).copied();
    // Of the invalid ones, the time that a goal is about most often.
    let mut series = vec![dots(run, ("", Tone::Dim), false, of(1))];
    let lines = run.charts.times.iter().zip(TONES).enumerate();
    series.extend(lines.map(|(which, (name, tone))| dots(run, (name, tone), true, of(which))));
    let limit = run.limit_us.iter().map(|(us, _)| *us);
    let us: Vec<f64> = series
        .iter()
        .flat_map(|s| &s.data)
        .map(|d| d.y)
        .chain(limit)
        .collect();
    if us.is_empty() {
        return None;
    }
    let goal = run.limit_us.iter().map(|(us, name)| Mark {
        short_name: name.clone(),
        tone: Tone::Budget,
        ..Mark::new(MarkKind::Goal, At::Y(*us))
    });
    let panel = Panel {
        y: latency_axis(us),
        marks: goal.collect(),
        series,
        ..Panel::default()
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
        ..cpu_panel(Axis::default(), diagonal("", 0.0))
    };
    Some(chart(run, run.charts.cpu_title, panel))
}

/// A chart over load, whose title says what is on the axes: there is little
/// room.
fn chart(run: &Progress, title: &str, mut panel: Panel) -> Chart {
    let loads = run.trials.iter().map(|trial| trial.load).chain(run.now);
    panel.x = match run.charts.x_is_count {
        true => Axis::new("", Scale::up_to(loads), Unit::Count),
        false => Axis {
            label: String::new(),
            ..offered_axis(loads)
        },
    };
    panel.y.label.clear();
    panel.marks.extend(run.now.map(|now| Mark {
        short_name: "now".to_owned(),
        tone: Tone::Dim,
        ..Mark::new(MarkKind::Guide, At::X(now))
    }));
    Chart {
        title: title.to_owned(),
        panels: vec![panel],
        ..Chart::default()
    }
}

/// A dot for each trial that counts, or for each that does not.
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
    data.sort_by(|a, b| a.x.total_cmp(&b.x));
    Series {
        name: name.to_owned(),
        tone,
        marker: Some(Shape::Circle),
        data,
        ..Series::default()
    }
}
