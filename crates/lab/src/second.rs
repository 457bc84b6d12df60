//! A second of a service, as it is shown.

use crate::interval::{Interval, Totals};
use plimsoll_law::SettleDecision;
use plimsoll_model::{Rate, Share};
use serde::Serialize;
use std::time::Duration;

/// What happened in a second. Serialized as a line of JSON, with units in the names.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Second {
    /// Since the start, at its end.
    pub at_s: f64,
    pub asked_rps: f64,
    pub served_rps: f64,
    /// What was served, in percent of the rating.
    pub load_pct: f64,
    /// Of the service's CPUs, not idle.
    pub cpu_pct: Option<f64>,
    /// Of the service's CPUs, used by other processes or taken by a hypervisor.
    pub others_pct: Option<f64>,
    pub p50_us: Option<f64>,
    pub p95_us: Option<f64>,
    pub p99_us: Option<f64>,
    /// CPU time of the service by request served.
    pub cpu_us_per_request: Option<f64>,
    /// Requests that have arrived and are not served, at its end.
    pub in_flight: u64,
    pub failed: u64,
    /// What the law of a latency goal decided last.
    #[serde(flatten)]
    pub decision: Option<SettleDecision>,
}

impl Second {
    pub(crate) fn new(
        all: &Totals,
        last: &Interval,
        rated: Rate,
        decision: Option<SettleDecision>,
    ) -> Second {
        let us = |q| all.latency.quantile(q).map(in_us);
        let served = Rate::of(all.completed, all.length).get();
        Second {
            at_s: last.at.as_secs_f64(),
            asked_rps: all.asked_rate().get(),
            served_rps: served,
            load_pct: 100.0 * served / rated.get(),
            cpu_pct: all.cpu().map(Share::pct),
            others_pct: all.others().map(Share::pct),
            p50_us: us(0.5),
            p95_us: us(0.95),
            p99_us: us(0.99),
            cpu_us_per_request: all.service_cpu.us_per(all.completed as f64),
            in_flight: last.in_flight,
            failed: all.failed,
            decision,
        }
    }
}

fn in_us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
