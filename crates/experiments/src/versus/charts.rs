//! The change of each figure, pass by pass.

use super::findings::{ComparedFigure, FigureFound, VersusFindings};
use plimsoll_report::chart::{Axis, Chart, Datum, Panel, Scale, Series, Tone, Unit, Width};

/// Of CPU time, and of the highest quantile that is shown.
pub(super) fn all(found: &VersusFindings) -> Vec<Chart> {
    let cpu = found
        .figures
        .iter()
        .find(|f| f.figure == ComparedFigure::Cpu);
    let last = found.figures.last().filter(|last| Some(*last) != cpu);
    let panels: Vec<Panel> = cpu.into_iter().chain(last).filter_map(panel).collect();
    let Some(first) = panels.first().cloned() else {
        return Vec::new();
    };
    let hint = "By how much the new service takes longer, in each pass. The horizontal line is their mean; above 0 the new service takes more.";
    let mut chart = Chart::of(first, "passes", "Change pass by pass", hint);
    chart.panels = panels;
    chart.width = Width::Full;
    vec![chart]
}

fn panel(found: &FigureFound) -> Option<Panel> {
    let passes = found.by_pass_pct.len();
    let point = |(nth, pct): (usize, &f64)| Datum::at((nth + 1) as f64, *pct, None);
    let points: Vec<Datum> = found.by_pass_pct.iter().enumerate().map(point).collect();
    let all = [1.0, passes as f64].map(|x| Datum::at(x, found.change_pct.value, None));
    let values = || found.by_pass_pct.iter().copied();
    let least = values().fold(0.0, f64::min);
    let most = values().fold(0.0, f64::max);
    let series = vec![
        Series {
            marker: None,
            ..Series::line("mean", Tone::Plain, all.to_vec())
        },
        Series::line("pass", Tone::Rate, points),
    ];
    let x = Axis::new("pass", Scale::linear(1.0, passes as f64), Unit::Count);
    let y = Axis::new(
        "change, %",
        Scale::around_zero(least, most, 10.0),
        Unit::Signed,
    );
    (passes >= 2).then(|| Panel {
        title: found.figure.name().to_owned(),
        ..Panel::of(x, y, series)
    })
}
