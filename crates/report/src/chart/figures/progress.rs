//! The charts of a run that goes on: a dot per trial, dim where it is invalid.

use super::{cpu_panel, diagonal, latency_axis, offered_axis};
use crate::chart::{
    At, Axis, Chart, Datum, Mark, MarkKind, Panel, Scale, Series, Shape, Tone, Unit,
};

/// What a trial comes to.
#[derive(Debug, Clone, Default)]
pub struct TrialPoint {
    /// Requests per second that were offered, or how many copies ran at once.
    pub load: f64,
    /// In microseconds: p50, p99, p99.9; of copies, the mean and the slowest.
    pub times_us: Vec<f64>,
    /// In percent.
    pub cpu_pct: Option<f64>,
    /// Whether it counts.
    pub is_valid: bool,
}

/// A run as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// In the order they were made.
    pub trials: Vec<TrialPoint>,
    /// Whether loads are numbers of copies.
    pub is_copies: bool,
    /// The load of the trial that is under way.
    pub now: Option<f64>,
    /// A goal on latency, in microseconds, with its name.
    pub limit_us: Option<(f64, String)>,
}

const LATENCIES: [(&str, Tone); 3] = [
    ("p50", Tone::P50),
    ("p99", Tone::P99),
    ("p99.9", Tone::P999),
];
const COPIES: [(&str, Tone); 2] = [("mean", Tone::P50), ("slowest", Tone::P99)];

/// Times and CPU use over load; `None` for one of which nothing is known.
pub fn progress(run: &Progress) -> [Option<Chart>; 2] {
    [times(run), cpu(run)]
}

fn times(run: &Progress) -> Option<Chart> {
    let lines = if run.is_copies {
        &COPIES[..]
    } else {
        &LATENCIES[..]
    };
    let of = |which: usize| move |trial: &TrialPoint| trial.times_us.get(which).copied();
    // Of the invalid ones, the time that a goal is about most often.
    let mut series = vec![dots(run, ("", Tone::Dim), false, of(1))];
    let lines = lines.iter().enumerate();
    series.extend(lines.map(|(which, line)| dots(run, *line, true, of(which))));
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
    let title = match run.is_copies {
        true => "Time of a copy (log scale) by copies",
        false => "Latency (log scale) by offered/s",
    };
    let panel = Panel {
        y: latency_axis(us),
        marks: goal.collect(),
        series,
        ..Panel::default()
    };
    Some(chart(run, title, panel))
}

fn cpu(run: &Progress) -> Option<Chart> {
    let of = |trial: &TrialPoint| trial.cpu_pct;
    let series = [
        dots(run, ("", Tone::Dim), false, of),
        dots(run, ("CPU", Tone::Cpu), true, of),
    ];
    series.iter().find(|series| !series.data.is_empty())?;
    let title = match run.is_copies {
        true => "CPU use (%) by copies",
        false => "CPU use (%) by offered/s",
    };
    let panel = Panel {
        series: series.into(),
        ..cpu_panel(Axis::default(), diagonal("", 0.0))
    };
    Some(chart(run, title, panel))
}

/// A chart over load, whose title says what is on the axes: there is little
/// room.
fn chart(run: &Progress, title: &str, mut panel: Panel) -> Chart {
    let loads = run.trials.iter().map(|trial| trial.load).chain(run.now);
    panel.x = match run.is_copies {
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
