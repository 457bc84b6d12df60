//! A row per level, for spreadsheets and plots.

use super::levels::why_invalid;
use crate::document::csv::{Field, Number, Text};
use plimsoll_model::LevelFinding;

/// A load to a millionth of a percent: what is beyond is no measurement but
/// what binary fractions add.
fn asked_pct(load_pct: f64) -> f64 {
    (1e6 * load_pct).round() / 1e6
}

pub(super) const LEVELS: [Field<LevelFinding>; 25] = [
    Number("load_pct", |l| Some(asked_pct(l.load_pct))),
    Number("offered_rps", |l| Some(l.offered_rps)),
    Number("achieved_rps", |l| l.achieved_rps),
    Number("cpu_pct", |l| l.cpu_pct),
    Number("cpu_us_per_request", |l| l.cpu_us_per_request),
    Number("run_delay_us_per_request", |l| l.run_delay_us_per_request),
    Number("latency_p50_us", |l| Some(l.latency_us.as_ref()?.p50)),
    Number("latency_p90_us", |l| Some(l.latency_us.as_ref()?.p90)),
    Number("latency_p99_us", |l| Some(l.latency_us.as_ref()?.p99)),
    Number("latency_p999_us", |l| Some(l.latency_us.as_ref()?.p999)),
    Number("latency_max_us", |l| Some(l.latency_us.as_ref()?.max)),
    Number("slip_p50_us", |l| Some(l.slip_us.as_ref()?.p50)),
    Number("slip_p99_us", |l| Some(l.slip_us.as_ref()?.p99)),
    Number("error_pct", |l| l.error_pct),
    Text("errors_connect", |l| l.errors.connect.to_string()),
    Text("errors_tls", |l| l.errors.tls.to_string()),
    Text("errors_timeout", |l| l.errors.timeout.to_string()),
    Text("errors_status", |l| l.errors.status.to_string()),
    Text("errors_protocol", |l| l.errors.protocol.to_string()),
    Text("errors_reset", |l| l.errors.reset.to_string()),
    Text("unfinished", |l| l.unfinished.to_string()),
    Number("generator_cpu_pct", |l| l.generator_cpu_pct),
    Text("trials", |l| l.trials.to_string()),
    Text("invalid_trials", |l| l.invalid_trials.to_string()),
    Text("invalid_reasons", why_invalid),
];

#[cfg(test)]
mod tests {
    use super::asked_pct;

    #[test]
    fn a_load_has_no_more_digits_than_it_was_asked_for_with() {
        assert_eq!(asked_pct(5.000000000000001), 5.0);
        assert_eq!(asked_pct(12.5), 12.5);
    }
}
