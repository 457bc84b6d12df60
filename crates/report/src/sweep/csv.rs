//! A row per level, for spreadsheets and plots.

use crate::document::csv::{Column, number};
use crate::escape::safe;
use plimsoll_model::LevelFinding;

/// A load to a millionth of a percent: what is beyond is no measurement but
/// what binary fractions add.
fn asked_pct(load_pct: f64) -> f64 {
    (1e6 * load_pct).round() / 1e6
}

/// Under a head that carries the units; what is not known is an empty field.
pub(super) const LEVELS: [Column<LevelFinding>; 25] = [
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_has_no_more_digits_than_it_was_asked_for_with() {
        assert_eq!(number(asked_pct(5.000000000000001)), "5");
        assert_eq!(number(asked_pct(12.5)), "12.5");
    }
}
