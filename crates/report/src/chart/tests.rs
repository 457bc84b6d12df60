//! Charts of characters, to the letter.

use super::{
    At, Axis, Bar, Charset, Chart, Datum, Line, Mark, MarkKind, Panel, Picture, Scale, Series,
    Shape, Tone, Unit,
};
use crate::table::Paint;

fn chart() -> Chart {
    let axis = |label| Axis::new(label, Scale::linear(0.0, 100.0), Unit::Number);
    let mark = |name: &str, at| Mark {
        short_name: name.to_owned(),
        tone: Tone::Budget,
        ..Mark::new(MarkKind::Load, at)
    };
    Chart {
        title: "Twice as much".to_owned(),
        panels: vec![Panel {
            x: axis("load, requests/s"),
            y: axis("CPU use, %"),
            series: vec![Series {
                name: "CPU".to_owned(),
                tone: Tone::Cpu,
                line: Line::Solid,
                marker: Some(Shape::Circle),
                data: data(&[(0.0, 0.0), (50.0, 100.0), (500.0, 100.0)]),
                ..Series::default()
            }],
            marks: vec![mark("load line", At::X(40.0)), mark("goal", At::Y(80.0))],
            ..Panel::default()
        }],
        ..Chart::default()
    }
}

fn data(points: &[(f64, f64)]) -> Vec<Datum> {
    points
        .iter()
        .map(|(x, y)| Datum::at(*x, *y, None))
        .collect()
}

fn draw(chart: &Chart, width: usize, height: usize, charset: Charset) -> Picture {
    chart.draw(width, height, charset).unwrap()
}

#[test]
fn a_chart_in_ascii() {
    let text = draw(&chart(), 40, 11, Charset::Ascii).text(Paint(false));
    let expected = "\
Twice as much
CPU use, %   load line
100 +            | .*               CPU
    |-  -  -  - ... -  -  -  -  -   goal
    |        ... |
 50 +     ...    |
    |  ...       |
  0 +*.          |
    ++-----+-----+----+-----+-----+
     0    20    40   60    80   100
                   load, requests/s
";
    assert_eq!(text, expected);
}

#[test]
fn a_value_that_is_not_known_is_a_gap_in_the_line() {
    let mut gap = chart();
    gap.panels[0].marks.clear();
    gap.panels[0].series[0].data = data(&[(0.0, 50.0), (50.0, f64::NAN), (100.0, 50.0)]);
    let text = draw(&gap, 40, 11, Charset::Ascii).text(Paint(false));
    let row = text.lines().find(|line| line.contains('*')).unwrap();
    assert_eq!(row, " 50 +*                             * CPU");
}

#[test]
fn a_chart_is_as_large_as_it_was_asked_to_be() {
    for charset in [Charset::Unicode, Charset::Ascii] {
        for (width, height) in [(0, 0), (1, 1), (5, 3), (20, 8), (80, 24), (300, 100)] {
            let picture = draw(&chart(), width, height, charset);
            assert_eq!(picture.rows().len(), height);
            assert!(picture.rows().iter().all(|row| row.len() == width));
        }
    }
}

#[test]
fn ascii_is_ascii() {
    let text = draw(&chart(), 80, 20, Charset::Ascii).text(Paint(false));
    assert!(text.is_ascii(), "{text}");
    assert!(
        !draw(&chart(), 80, 20, Charset::Unicode)
            .text(Paint(false))
            .is_ascii()
    );
}

#[test]
fn points_beyond_an_axis_are_left_out() {
    let mut far = chart();
    far.panels[0].series[0].data = data(&[(500.0, 100.0)]);
    far.panels[0].marks.clear();
    let text = draw(&far, 40, 11, Charset::Ascii).text(Paint(false));
    assert!(!text.contains('*') && !text.contains("CPU\n"), "{text}");
}

#[test]
fn a_chart_of_bars_has_no_terminal_form() {
    let mut bars = chart();
    bars.panels[0].bars.push(Bar::default());
    assert!(bars.draw(80, 20, Charset::Unicode).is_none());
    assert!(super::text(&[bars], 200, Charset::Unicode, Paint(false)).is_none());
}

#[test]
fn the_longest_title_that_fits_is_shown() {
    let mut titled = chart();
    titled.short_titles = ["CPU use lags: 76 % at the load line", "CPU use lags"]
        .map(str::to_owned)
        .to_vec();
    let first = |width| {
        let text = draw(&titled, width, 11, Charset::Ascii).text(Paint(false));
        text.lines().next().unwrap().to_owned()
    };
    assert_eq!(first(80), titled.short_titles[0]);
    assert_eq!(first(30), titled.short_titles[1]);
}
