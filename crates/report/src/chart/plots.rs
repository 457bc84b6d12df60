//! Charts for gnuplot: a script for each panel, and a CSV file for each of its series.

use super::axis::Axis;
use super::model::{Chart, Datum, Line, Panel, Ranges, Series};
use crate::document::csv;
use std::fmt::Write;

/// A file by its name, which has no folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlotFile {
    pub name: String,
    pub text: String,
}

/// Run `gnuplot NAME.gp` in their folder: it writes `NAME.svg`.
pub(crate) fn files(chart: &Chart) -> Vec<PlotFile> {
    let mut files = Vec::new();
    for (at, panel) in chart.panels.iter().enumerate() {
        let stem = match chart.panels.len() {
            1 => slug(&chart.id),
            _ => format!("{}-{}", slug(&chart.id), at + 1),
        };
        let series = panel.series.iter().filter(|series| !series.data.is_empty());
        let series: Vec<(String, &Series)> = series
            .enumerate()
            .map(|(at, series)| {
                (
                    format!("{stem}-{}{}.csv", at + 1, suffix(&series.name)),
                    series,
                )
            })
            .collect();
        if series.is_empty() {
            continue;
        }
        let text = script(chart, panel, &stem, &series);
        let name = format!("{stem}.gp");
        files.push(PlotFile { name, text });
        let csv = |(name, series): (String, &Series)| PlotFile {
            name,
            text: csv::table(&FIELDS, &series.data),
        };
        files.extend(series.into_iter().map(csv));
    }
    files
}

const FIELDS: [csv::Field<Datum>; 4] = [
    csv::Number("x", |datum| Some(datum.x)),
    csv::Number("y", |datum| Some(datum.y)),
    csv::Number("y_low", |datum| Some(datum.y_range?.0)),
    csv::Number("y_high", |datum| Some(datum.y_range?.1)),
];

fn script(chart: &Chart, panel: &Panel, stem: &str, series: &[(String, &Series)]) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# gnuplot {stem}.gp writes {stem}.svg.");
    out += "set terminal svg size 900,600 background 'white'\n";
    let _ = writeln!(out, "set output '{stem}.svg'");
    out += "set datafile separator ','\nset key outside bottom\nset grid\n";
    let title = match panel.title.as_str() {
        "" => chart.title.clone(),
        panel => format!("{}: {panel}", chart.title),
    };
    let _ = writeln!(out, "set title {} noenhanced", quoted(&title));
    for (name, axis) in [("x", &panel.x), ("y", &panel.y)] {
        let _ = writeln!(out, "set {name}label {} noenhanced", quoted(&label(axis)));
        if axis.scale.is_log() {
            let _ = writeln!(out, "set logscale {name}");
        }
    }
    let parts: Vec<String> = series.iter().map(|(name, s)| plotted(name, s)).collect();
    let _ = writeln!(out, "plot {}", parts.join(", \\\n     "));
    out
}

fn label(axis: &Axis) -> String {
    match axis.unit {
        super::Unit::Time => format!("{}, us", axis.label),
        _ => axis.label.clone(),
    }
}

fn plotted(file: &str, series: &Series) -> String {
    let title = match series.name.as_str() {
        "" => "notitle".to_owned(),
        name => format!("title {} noenhanced", quoted(name)),
    };
    let with = match (series.line, series.marker) {
        (Line::None, _) => "points",
        (_, None) => "lines",
        (_, Some(_)) => "linespoints",
    };
    let has_ranges = series.data.iter().any(|datum| datum.y_range.is_some());
    let ranges = match (has_ranges, series.ranges) {
        (false, _) => String::new(),
        (true, Ranges::Bars) => {
            format!(", '{file}' skip 1 using 1:2:3:4 with yerrorbars notitle")
        }
        (true, Ranges::Band) => format!(
            ", '{file}' skip 1 using 1:3:4 with filledcurves fillstyle transparent solid 0.2 notitle"
        ),
    };
    format!("'{file}' skip 1 using 1:2 with {with} {title}{ranges}")
}

/// In single quotes nothing is special but they themselves.
fn quoted(text: &str) -> String {
    format!("'{}'", plimsoll_model::safe(text).replace('\'', "''"))
}

fn suffix(name: &str) -> String {
    match slug(name) {
        slug if slug.is_empty() => slug,
        slug => format!("-{slug}"),
    }
}

/// Letters, digits and dashes: part of a file's name whatever the text is.
fn slug(text: &str) -> String {
    let of = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_lowercase(),
        false => '-',
    };
    let slug: String = text.chars().take(40).map(of).collect();
    slug.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{Scale, Shape, Tone, Unit};
    use super::*;
    use plimsoll_model::Estimate;

    fn chart(series: Vec<Series>) -> Chart {
        let x = Axis::new("grain", Scale::log([1.0, 100.0]), Unit::Time);
        let y = Axis::new("efficiency, %", Scale::up_to([100.0]), Unit::Number);
        Chart::of(Panel::of(x, y, series), "grain", "It's efficient", "")
    }

    #[test]
    fn a_script_names_the_files_of_its_series() {
        let data = vec![
            Datum::estimate(1.0, Estimate::within(50.0, 40.0, 60.0)),
            Datum::at(100.0, f64::NAN, None),
        ];
        let hostile = Series::points(Tone::Plain, Shape::Circle, vec![Datum::at(1.0, 2.0, None)]);
        let hostile = Series {
            name: "../'x'\n".to_owned(),
            ..hostile
        };
        let files = files(&chart(vec![Series::line("ours", Tone::P50, data), hostile]));
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["grain.gp", "grain-1-ours.csv", "grain-2-x.csv"]);
        assert_eq!(
            files[1].text,
            "x,y,y_low,y_high\r\n1,50,40,60\r\n100,,,\r\n"
        );
        let script = &files[0].text;
        assert!(script.contains("set title 'It''s efficient'"), "{script}");
        assert!(script.contains("set logscale x\n") && !script.contains("logscale y"));
        assert!(script.contains("'grain-1-ours.csv' skip 1 using 1:2:3:4 with yerrorbars"));
        assert!(script.contains(r"title '../''x''\u{a}'"), "{script}");
    }

    #[test]
    fn a_chart_without_series_has_no_files() {
        assert_eq!(files(&chart(Vec::new())), []);
    }
}
