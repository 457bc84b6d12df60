//! Charts as they are drawn, to the letter.

use super::{At, Axis, Charset, Chart, Line, Mark, Scale, Series};
use crate::table::{Ink, Paint};

fn chart() -> Chart {
    let axis = |label: &str, scale| Axis {
        label: label.to_owned(),
        scale,
        show: crate::number::tick,
    };
    Chart {
        title: "Twice as much".to_owned(),
        x: axis("load, requests/s", Scale::from_zero([100.0].into_iter())),
        y: axis("CPU use, %", Scale::from_zero([100.0].into_iter())),
        series: vec![Series {
            name: "CPU".to_owned(),
            ink: Ink::Cyan,
            glyph: '*',
            line: Line::Solid,
            points: vec![(0.0, 0.0), (50.0, 100.0), (500.0, 100.0)],
        }],
        marks: vec![
            Mark {
                name: "load line".to_owned(),
                ink: Ink::Green,
                at: At::X(40.0),
            },
            Mark {
                name: "goal".to_owned(),
                ink: Ink::Green,
                at: At::Y(80.0),
            },
        ],
    }
}

#[test]
fn a_chart_in_ascii() {
    let text = chart().draw(40, 11, Charset::Ascii).text(Paint(false));
    let expected = "\
Twice as much
CPU use, %   load line
100 +            | .*               CPU
    |-  -  -  - ... -  -  -  -  -   goal
    |        ... |
 50 +     ...    |
    |  ...       |
  0 +*.          |
    ++--------------+-------------+
     0             50           100
                   load, requests/s
";
    assert_eq!(text, expected);
}

#[test]
fn a_value_that_is_not_known_is_a_gap_in_the_line() {
    let mut gap = chart();
    gap.marks.clear();
    gap.series[0].points = vec![(0.0, 50.0), (50.0, f64::NAN), (100.0, 50.0)];
    let text = gap.draw(40, 11, Charset::Ascii).text(Paint(false));
    let row = text.lines().find(|line| line.contains('*')).unwrap();
    assert_eq!(row, " 50 +*                             * CPU");
}

#[test]
fn a_chart_is_as_large_as_it_was_asked_to_be() {
    for charset in [Charset::Unicode, Charset::Ascii] {
        for (width, height) in [(0, 0), (1, 1), (5, 3), (20, 8), (80, 24), (300, 100)] {
            let picture = chart().draw(width, height, charset);
            assert_eq!(picture.rows().len(), height);
            assert!(picture.rows().iter().all(|row| row.len() == width));
        }
    }
}

#[test]
fn ascii_is_ascii() {
    let text = chart().draw(80, 20, Charset::Ascii).text(Paint(false));
    assert!(text.is_ascii(), "{text}");
    assert!(
        !chart()
            .draw(80, 20, Charset::Unicode)
            .text(Paint(false))
            .is_ascii()
    );
}

#[test]
fn points_beyond_an_axis_are_left_out() {
    let mut far = chart();
    far.series[0].points = vec![(500.0, 100.0)];
    far.marks.clear();
    let text = far.draw(40, 11, Charset::Ascii).text(Paint(false));
    assert!(!text.contains('*') && !text.contains("CPU\n"), "{text}");
}
