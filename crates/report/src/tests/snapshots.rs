//! Whole reports, compared with files to the letter.

use super::sample::{copies, imported, nothing_valid, sweep, without_cpu};
use super::shown::is_snapshot;
use crate::chart::Charset;
use crate::yields::tests::sample::{self as yields, curve, step};
use crate::{Format, Look};

/// Name, which ends with the width, and what is shown.
type Snapshot = (&'static str, fn(Look) -> String);

const REPORTS: [Snapshot; 9] = [
    ("sweep-80", |look| sweep().looking(look)),
    ("sweep-ascii-80", |look| sweep().looking(look)),
    ("sweep-200", |look| sweep().looking(look)),
    ("no-cpu-80", |look| without_cpu().looking(look)),
    ("nothing-valid-80", |look| nothing_valid().looking(look)),
    ("imported-80", |look| imported().looking(look)),
    ("imported-200", |look| imported().looking(look)),
    ("copies-80", |look| copies().looking(look)),
    ("copies-200", |look| copies().looking(look)),
];

#[test]
fn reports_are_as_in_the_files_and_colours_only_where_they_were_asked_for() {
    for (name, text) in REPORTS {
        let charset = match name.contains("ascii") {
            true => Charset::Ascii,
            false => Charset::Unicode,
        };
        let (_, width) = name.rsplit_once('-').unwrap();
        let width = width.parse().unwrap();
        let look = |colour| Look {
            width,
            colour,
            charts: Some(charset),
        };
        let plain = text(look(false));
        is_snapshot(&format!("tests/{name}"), width, &plain);
        assert!(!plain.contains('\u{1b}'), "{name}");
        assert!(text(look(true)).contains("\u{1b}[1m"), "{name}");
    }
}

#[test]
fn at_120_columns_everything_is_shown() {
    let heads = |width| sweep().text(width).lines().nth(3).unwrap().to_owned();
    assert_eq!(heads(120), heads(1000));
    assert_eq!(heads(120).split_whitespace().count(), 16);
    assert!(heads(60).starts_with("load"));
    assert!(heads(60).len() <= 60);
}

#[test]
fn the_threshold_table_keeps_what_matters_in_a_narrow_terminal() {
    let head = |width| {
        let text = sweep().text(width);
        let mut heads = text
            .lines()
            .filter(|line| line.starts_with("headroom  act"));
        heads.next().unwrap().to_owned()
    };
    assert_eq!(head(200).split_whitespace().count(), 12);
    assert_eq!(
        head(60),
        "headroom  act at  CPU use      interval  linear  leaves"
    );
    assert_eq!(head(30), "headroom  act at");
}

#[test]
fn csv_is_as_in_the_file() {
    let mut out = String::new();
    for (name, csv) in [
        ("sweep", sweep().shown(Format::Csv)),
        ("copies", copies().shown(Format::Csv)),
        ("yield", yields::sample().shown(Format::Csv)),
        ("yield --curve", curve::two().shown(Format::Csv)),
        ("yield --step", step::stepped().shown(Format::Csv)),
    ] {
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(csv, lines.join("\r\n") + "\r\n", "{name}");
        let commas = |line: &&str| line.matches(',').count();
        assert!(
            lines.iter().all(|line| commas(line) == commas(&lines[0])),
            "{name}"
        );
        out += &format!("# {name}\n{}\n\n", lines.join("\n"));
    }
    is_snapshot("tests/csv", usize::MAX, &out);
}
