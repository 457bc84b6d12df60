//! Whole reports, compared with files to the letter.

use super::sample::{copies, imported, nothing_valid, sweep, without_cpu};
use super::shown::is_snapshot;
use crate::chart::Charset;
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
    assert_eq!(head(200).split_whitespace().count(), 10);
    assert_eq!(
        head(60),
        "headroom  act at  CPU use      interval  linear  leaves"
    );
    assert_eq!(head(30), "headroom  act at");
}

#[test]
fn the_table_of_a_sweep_as_csv() {
    let csv = sweep().shown(Format::Csv);
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(
        lines[0],
        "load_pct,offered_rps,achieved_rps,cpu_pct,cpu_us_per_request,run_delay_us_per_request,\
         latency_p50_us,latency_p90_us,latency_p99_us,latency_p999_us,latency_max_us,\
         slip_p50_us,slip_p99_us,error_pct,errors_connect,errors_tls,errors_timeout,\
         errors_status,errors_protocol,errors_reset,unfinished,generator_cpu_pct,\
         trials,invalid_trials,invalid_reasons"
    );
    assert_eq!(
        lines[3],
        "80,8000,,,,,,,,,,,,,0,0,0,0,0,0,0,,0,3,\
         the hypervisor took 5.0 % of the CPU time (bound 2.0 %)"
    );
    assert_eq!(
        lines[4],
        "100,10000,9100,91,182.5,4.25,320,42650,85300,127950,170600,6.1,55.25,\
         0.012,0,0,12,0,0,0,3,23,4,0,"
    );
}

#[test]
fn the_table_of_copies_as_csv() {
    assert_eq!(
        copies().shown(Format::Csv),
        "copies,seconds,slowest_seconds,cpu_pct,efficiency_ratio,trials,invalid_trials\r\n\
         1,223,223,12.9,1,2,0\r\n4,262.4,271.33,,0.85,2,1\r\n8,354,360.1,99.6,0.63,2,0\r\n"
    );
}
