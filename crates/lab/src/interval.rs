//! What happened between two steps, and since the start.

use plimsoll_model::{CpuTime, Histogram, Rate, Share};
use std::time::Duration;

/// What happened between two steps of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Since the start, at the end of the interval.
    pub at: Duration,
    pub length: Duration,
    /// The rate that was asked for, on average over the interval.
    pub asked: Rate,
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests that were served, whenever they arrived.
    pub completed: u64,
    pub failed: u64,
    /// Requests that have arrived and are not served, at the end.
    pub in_flight: u64,
    /// From the intended start to the end of the hash.
    pub latency: Histogram,
    /// CPU time of the service's threads.
    pub service_cpu: Option<CpuTime>,
    /// The share of the service's CPUs that is not idle, whatever uses it.
    pub cpu: Option<Share>,
    /// The share of the service's CPUs that other processes used or a hypervisor took.
    pub others: Option<Share>,
}

/// Sums since the start. Histograms are merged, never averaged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Totals {
    pub length: Duration,
    /// Requests that were to arrive, on average of the arrival process.
    pub asked: f64,
    pub arrived: u64,
    pub completed: u64,
    pub failed: u64,
    pub latency: Histogram,
    pub service_cpu: CpuTime,
    /// Shares of the CPUs, weighted by the length of their intervals.
    pub(crate) cpu_s: f64,
    pub(crate) others_s: f64,
}

impl Totals {
    pub fn add(&mut self, interval: &Interval) {
        self.length += interval.length;
        self.asked += interval.asked.get() * interval.length.as_secs_f64();
        self.arrived += interval.arrived;
        self.completed += interval.completed;
        self.failed += interval.failed;
        self.latency.merge(&interval.latency);
        self.service_cpu = self.service_cpu + interval.service_cpu.unwrap_or_default();
        // One that is unknown makes the mean unknown.
        let weighted = |share: Option<Share>| {
            share.map_or(f64::NAN, Share::get) * interval.length.as_secs_f64()
        };
        self.cpu_s += weighted(interval.cpu);
        self.others_s += weighted(interval.others);
    }

    /// Requests per second that were to arrive.
    pub fn asked_rate(&self) -> Rate {
        let rate = Rate::per_second(self.asked / self.length.as_secs_f64());
        rate.unwrap_or(Rate::ZERO)
    }

    /// The share of the service's CPUs that was not idle.
    pub fn cpu(&self) -> Option<Share> {
        self.mean(self.cpu_s)
    }

    /// The share of the service's CPUs that other processes used or a hypervisor took.
    pub fn others(&self) -> Option<Share> {
        self.mean(self.others_s)
    }

    fn mean(&self, weighted: f64) -> Option<Share> {
        let seconds = self.length.as_secs_f64();
        let mean = weighted / seconds;
        // The sum of rounded lengths may be below that of the weights.
        let mean = if mean > 1.0 { 1.0 } else { mean };
        Share::new(mean).filter(|_| seconds > 0.0)
    }

    /// How far what was served is from what was asked for, as a share of it: 0.01 is 1 % more.
    pub fn deviation(&self) -> Option<f64> {
        (self.asked > 0.0).then(|| self.completed as f64 / self.asked - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(nanos: u64, cpu: Option<f64>) -> Interval {
        Interval {
            at: Duration::ZERO,
            length: Duration::from_nanos(nanos),
            asked: Rate::ZERO,
            arrived: 0,
            completed: 0,
            failed: 0,
            in_flight: 0,
            latency: Histogram::default(),
            service_cpu: None,
            cpu: cpu.and_then(Share::new),
            others: None,
        }
    }

    #[test]
    fn full_cpus_are_known_whatever_the_lengths_and_an_unknown_part_is_not() {
        for nanos in [1, 3, 333_333_333, 500_000_007, 499_999_999] {
            let mut all = Totals::default();
            for more in 0..3 {
                all.add(&interval(nanos + more, Some(1.0)));
            }
            let cpu = all.cpu().map(Share::get);
            assert!(cpu.is_some_and(|cpu| cpu > 0.999), "{nanos}: {cpu:?}");
            assert_eq!(all.others(), None);
        }
        let mut all = Totals::default();
        all.add(&interval(5, Some(1.0)));
        all.add(&interval(5, None));
        assert_eq!(all.cpu(), None);
    }
}
