//! The state of a service as OpenMetrics text (OpenMetrics 1.0, text format).

use crate::interval::{Interval, Totals};
use crate::rating::Rating;
use plimsoll_model::Histogram;
use std::fmt::Write;
use std::time::Duration;

/// What the text is served as.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the latency buckets, in microseconds: 1, 2.5 and 5 in each decade.
const BOUNDS_US: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// The text. Counters are sums since the start, gauges those of the last interval.
pub fn text(rating: &Rating, totals: &Totals, last: Option<&Interval>) -> String {
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, lines: &[(&str, f64)]| {
        // Writing to a string does not fail.
        let _ = writeln!(out, "# TYPE plimsoll_service_{name} {kind}");
        let _ = writeln!(out, "# HELP plimsoll_service_{name} {help}");
        for (suffix, value) in lines {
            let _ = writeln!(out, "plimsoll_service_{name}{suffix} {value}");
        }
    };
    let count = |n: u64| n as f64;
    let arrived = [("_total", count(totals.arrived))];
    family("arrivals", "counter", "Requests that arrived.", &arrived);
    let served = [("_total", count(totals.completed))];
    family("requests", "counter", "Requests that were served.", &served);
    let failed = [("_total", count(totals.failed))];
    family("failures", "counter", "Requests that failed.", &failed);
    let cpu = [("_total", totals.service_cpu.0.as_secs_f64())];
    let help = "CPU time of the service's threads.";
    family("cpu_seconds", "counter", help, &cpu);
    let rated = [("", rating.rated.get())];
    let help = "Requests per second at saturation, as calibrated.";
    family("rated_requests_per_second", "gauge", help, &rated);
    if let Some(last) = last {
        let asked = [("", last.asked.get())];
        let help = "Requests per second that are offered.";
        family("offered_requests_per_second", "gauge", help, &asked);
        let help = "Requests that have arrived and are not served.";
        family("in_flight", "gauge", help, &[("", count(last.in_flight))]);
        if let Some(busy) = last.cpu {
            let help = "The share of the service's CPUs that is not idle.";
            family("cpu_busy_ratio", "gauge", help, &[("", busy.get())]);
        }
    }
    latency(&mut out, &totals.latency);
    out.push_str("# EOF\n");
    out
}

fn latency(out: &mut String, latency: &Histogram) {
    const NAME: &str = "plimsoll_service_latency_seconds";
    let _ = writeln!(out, "# TYPE {NAME} histogram");
    let _ = writeln!(out, "# UNIT {NAME} seconds");
    let _ = writeln!(
        out,
        "# HELP {NAME} From the intended start of a request to its end."
    );
    let all = latency.count();
    for us in BOUNDS_US {
        let up_to = all - latency.above(Duration::from_micros(us));
        let _ = writeln!(out, "{NAME}_bucket{{le=\"{}\"}} {up_to}", us as f64 / 1e6);
    }
    let _ = writeln!(out, "{NAME}_bucket{{le=\"+Inf\"}} {all}");
    let sum = latency.mean().unwrap_or_default().as_secs_f64() * all as f64;
    let _ = writeln!(out, "{NAME}_sum {sum}");
    let _ = writeln!(out, "{NAME}_count {all}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Bytes, CpuTime, HashService, Rate};

    #[test]
    fn text_has_cumulative_buckets_and_an_end() {
        let service = HashService {
            mean_block: Bytes(1),
            deviation_share: 0.0,
            request_cpu: CpuTime(Duration::from_millis(1)),
            waiting: None,
            memory: None,
            files: None,
        };
        let cpus = "0".parse().unwrap();
        let rating = Rating::assumed(service, &cpus, Rate::per_second(990.0).unwrap());
        let mut totals = Totals {
            arrived: 4,
            completed: 3,
            ..Totals::default()
        };
        for ms in [1, 3, 30_000] {
            totals.latency.record(Duration::from_millis(ms));
        }
        let text = text(&rating, &totals, None);
        for line in [
            "plimsoll_service_arrivals_total 4",
            "plimsoll_service_rated_requests_per_second 990",
            "plimsoll_service_latency_seconds_bucket{le=\"0.0005\"} 0",
            "plimsoll_service_latency_seconds_bucket{le=\"0.001\"} 1",
            "plimsoll_service_latency_seconds_bucket{le=\"0.005\"} 2",
            "plimsoll_service_latency_seconds_bucket{le=\"10\"} 2",
            "plimsoll_service_latency_seconds_bucket{le=\"+Inf\"} 3",
            "plimsoll_service_latency_seconds_count 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}
