//! The table for spreadsheets and plots.

use crate::Report;
use crate::escape::safe;
use plimsoll_model::{CopiesFinding, LevelFinding};

/// A column: its name with the unit, and its value in a row.
pub(crate) type Column<T> = (&'static str, fn(&T) -> String);

/// One row per level, or per number of copies, under a head that carries the
/// units; RFC 4180. What is not known is an empty field.
pub fn csv(report: &Report<'_>) -> String {
    let findings = report.findings;
    if report.is_copies() {
        table(&COPIES, &findings.copies)
    } else {
        table(&LEVELS, &findings.levels)
    }
}

/// A line per row under a head, in the form of RFC 4180.
pub(crate) fn table<T>(columns: &[Column<T>], rows: &[T]) -> String {
    let mut out = line(columns.iter().map(|(name, _)| (*name).to_owned()));
    for row in rows {
        out += &line(columns.iter().map(|(_, value)| value(row)));
    }
    out
}

fn line(fields: impl Iterator<Item = String>) -> String {
    let fields: Vec<String> = fields.map(|field| quoted(&field)).collect();
    fields.join(",") + "\r\n"
}

/// A field in quotes if it needs them.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// A number that is none has no form in CSV.
pub(crate) fn number(value: impl Into<Option<f64>>) -> String {
    let value = value.into().filter(|v| v.is_finite());
    value.map_or_else(String::new, |v| v.to_string())
}

/// A load to a millionth of a percent: what is beyond is no measurement but
/// what binary fractions add.
fn asked_pct(load_pct: f64) -> f64 {
    (1e6 * load_pct).round() / 1e6
}

const LEVELS: [Column<LevelFinding>; 25] = [
    ("load_pct", |l| number(asked_pct(l.load_pct))),
    ("offered_rps", |l| number(l.offered_rps)),
    ("achieved_rps", |l| number(l.achieved_rps)),
    ("cpu_pct", |l| number(l.cpu_pct)),
    ("cpu_us_per_request", |l| number(l.cpu_us_per_request)),
    ("run_delay_us_per_request", |l| {
        number(l.run_delay_us_per_request)
    }),
    ("latency_p50_us", |l| {
        number(l.latency_us.as_ref().map(|q| q.p50))
    }),
    ("latency_p90_us", |l| {
        number(l.latency_us.as_ref().map(|q| q.p90))
    }),
    ("latency_p99_us", |l| {
        number(l.latency_us.as_ref().map(|q| q.p99))
    }),
    ("latency_p999_us", |l| {
        number(l.latency_us.as_ref().map(|q| q.p999))
    }),
    ("latency_max_us", |l| {
        number(l.latency_us.as_ref().map(|q| q.max))
    }),
    ("slip_p50_us", |l| number(l.slip_us.as_ref().map(|q| q.p50))),
    ("slip_p99_us", |l| number(l.slip_us.as_ref().map(|q| q.p99))),
    ("error_pct", |l| number(l.error_pct)),
    ("errors_connect", |l| l.errors.connect.to_string()),
    ("errors_tls", |l| l.errors.tls.to_string()),
    ("errors_timeout", |l| l.errors.timeout.to_string()),
    ("errors_status", |l| l.errors.status.to_string()),
    ("errors_protocol", |l| l.errors.protocol.to_string()),
    ("errors_reset", |l| l.errors.reset.to_string()),
    ("unfinished", |l| l.unfinished.to_string()),
    ("generator_cpu_pct", |l| number(l.generator_cpu_pct)),
    ("trials", |l| l.trials.to_string()),
    ("invalid_trials", |l| l.invalid_trials.to_string()),
    ("invalid_reasons", |l| safe(&l.invalid_reasons.join("; "))),
];

const COPIES: [Column<CopiesFinding>; 7] = [
    ("copies", |c| c.copies.to_string()),
    ("seconds", |c| number(c.seconds)),
    ("slowest_seconds", |c| number(c.slowest_seconds)),
    ("cpu_pct", |c| number(c.cpu_pct)),
    ("efficiency_ratio", |c| number(c.efficiency_ratio)),
    ("trials", |c| c.trials.to_string()),
    ("invalid_trials", |c| c.invalid_trials.to_string()),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_commas_and_quotes_ask_for_it() {
        for (given, written) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
        ] {
            assert_eq!(quoted(given), written);
        }
    }

    #[test]
    fn a_load_has_no_more_digits_than_it_was_asked_for_with() {
        assert_eq!(number(asked_pct(5.000000000000001)), "5");
        assert_eq!(number(asked_pct(12.5)), "12.5");
    }

    #[test]
    fn what_is_no_number_is_empty() {
        assert_eq!(number(f64::NAN), "");
        assert_eq!(number(None), "");
        assert_eq!(number(1e21), "1000000000000000000000");
        assert_eq!(number(0.1), "0.1");
    }
}
