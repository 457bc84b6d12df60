//! Sensor readings and the difference between two of them.

use crate::both;
use crate::busy::ReadTimes;
use crate::clock::ClockCounts;
use crate::node_metrics::NodeMetrics;
use crate::node_window::NodeDoubt;
use crate::pressure;
use crate::stat::CpuTimes;
use crate::task::{self, TaskTimes};
use plimsoll_model::{CpuSet, CpuTime, Energy, MachineUse, Pressure, ServiceUse};
use std::time::Instant;

/// All counters at one moment; see [`difference`].
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub(crate) at: Instant,
    pub(crate) cpu: Option<CpuTimes>,
    pub(crate) service_cpus: CpuSet,
    pub(crate) generator_cpus: CpuSet,
    pub(crate) pressure: Option<Pressure>,
    pub(crate) frequency_hz: Option<f64>,
    pub(crate) clock: Option<ClockCounts>,
    pub(crate) energy: Option<Energy>,
    pub(crate) service: Option<TaskTimes>,
    pub(crate) generator: Option<CpuTime>,
    pub(crate) observer: Option<CpuTime>,
    /// Whether the counters of CPUs and pressure are another host's.
    pub(crate) is_remote: bool,
}

impl Reading {
    pub(crate) fn blank(at: Instant) -> Reading {
        Reading {
            at,
            cpu: None,
            service_cpus: CpuSet::default(),
            generator_cpus: CpuSet::default(),
            pressure: None,
            frequency_hz: None,
            clock: None,
            energy: None,
            service: None,
            generator: None,
            observer: None,
            is_remote: false,
        }
    }

    /// This reading with the machine counters of the host that runs the
    /// service, all CPUs of which are the service's. This machine's own CPU
    /// time, pressure, frequency and energy do not describe that host. The
    /// host read its counters at some moment within `times`.
    #[must_use]
    pub fn with_node_metrics(self, metrics: NodeMetrics, times: ReadTimes) -> Reading {
        Reading {
            is_remote: true,
            service_cpus: metrics.cpu.each.keys().copied().collect(),
            generator_cpus: CpuSet::default(),
            cpu: Some(CpuTimes {
                at: Some(times),
                ..metrics.cpu
            }),
            pressure: metrics.pressure,
            frequency_hz: None,
            clock: None,
            energy: None,
            ..self
        }
    }
}

/// What was used between two readings.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Use of the machine that runs the service.
    pub machine: MachineUse,
    /// Use of the service; `None` if its processes are unknown.
    pub service: Option<ServiceUse>,
    /// Use of the threads of this process that generate load; `None` without
    /// any.
    pub generator_cpu: Option<CpuTime>,
    /// Why nothing is known of the counters of another host.
    pub doubt: Option<NodeDoubt>,
}

impl Window {
    /// The same without what another host's counters give, because of a doubt.
    #[must_use]
    pub fn doubted(self, doubt: NodeDoubt) -> Window {
        Window {
            machine: MachineUse {
                cpu: None,
                service_cpu: None,
                context_switches: None,
                pressure: None,
                doubt: Some(doubt.to_string()),
                ..self.machine
            },
            doubt: Some(doubt),
            ..self
        }
    }
}

/// Subtracts two readings of the same sensors. A counter that one of them lacks
/// is `None`, and so are all of another host whose counters are impossible.
pub fn difference(earlier: &Reading, later: &Reading) -> Window {
    let window = plain_difference(earlier, later);
    match doubt(earlier, later) {
        Some(doubt) => window.doubted(doubt),
        None => window,
    }
}

/// Why the counters of another host do not give what it used.
fn doubt(earlier: &Reading, later: &Reading) -> Option<NodeDoubt> {
    let (then, now) = earlier.cpu.as_ref().zip(later.cpu.as_ref())?;
    let (from, to) = then.at.zip(now.at).filter(|_| later.is_remote)?;
    NodeDoubt::between(then, now, from.until(to))
}

fn plain_difference(earlier: &Reading, later: &Reading) -> Window {
    let cpu = later.cpu.as_ref().zip(earlier.cpu.as_ref());
    let cpu = cpu.map(|(now, then)| now.since(then));
    let clock = later.clock.as_ref().zip(earlier.clock.as_ref());
    let used = |now: Energy, then: Energy| Energy((now.0 - then.0).max(0.0));
    let service = both(later.service, earlier.service, task::since);
    let generator = both(later.generator, earlier.generator, CpuTime::since);
    let of = |cpus: &CpuSet| cpu.as_ref()?.of(cpus);
    let (service_cpu, generator_cpu) = (of(&later.service_cpus), of(&later.generator_cpus));
    Window {
        machine: MachineUse {
            window: later.at.saturating_duration_since(earlier.at),
            cpu: cpu.as_ref().map(|cpu| cpu.all),
            service_cpus: later.service_cpus.clone(),
            service_cpu,
            generator_cpus: later.generator_cpus.clone(),
            generator_cpu,
            context_switches: cpu.and_then(|cpu| cpu.context_switches),
            pressure: both(later.pressure, earlier.pressure, pressure::since),
            frequency_hz: later.frequency_hz,
            clock_ratio: clock.and_then(|(now, then)| now.ratio_since(then)),
            energy: both(later.energy, earlier.energy, used),
            observer_cpu: both(later.observer, earlier.observer, CpuTime::since),
            // These are not kernel counters; the experiment sets them.
            service_quota: None,
            view_cpu: None,
            doubt: None,
        },
        service,
        generator_cpu: generator,
        doubt: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::ms;
    use plimsoll_model::CpuUse;
    use std::time::Duration;

    fn busy(user: u64, cpus: u32) -> CpuTimes {
        let one = CpuUse {
            user: ms(user),
            ..CpuUse::default()
        };
        CpuTimes {
            all: one,
            each: (0..cpus).map(|cpu| (cpu, one)).collect(),
            context_switches: Some(user),
            at: None,
        }
    }

    fn full(at: Instant, n: u64) -> Reading {
        Reading {
            at,
            cpu: Some(busy(n, 4)),
            service_cpus: "1-2".parse().unwrap(),
            generator_cpus: "3".parse().unwrap(),
            pressure: Some(Pressure {
                cpu_some: Some(ms(n).0),
                ..Pressure::default()
            }),
            frequency_hz: Some(n as f64),
            clock: Some(ClockCounts::alone(3 * n, 2 * n)),
            energy: Some(Energy(n as f64)),
            service: Some(TaskTimes {
                cpu: ms(n),
                run_delay: Some(ms(n).0),
                context_switches: Some(n),
            }),
            generator: Some(ms(n)),
            observer: Some(ms(n)),
            is_remote: false,
        }
    }

    #[test]
    fn a_window_holds_differences_and_the_last_frequency() {
        let begin = Instant::now();
        let end = begin + Duration::from_secs(1);
        let window = difference(&full(begin, 100), &full(end, 130));
        let machine = &window.machine;
        assert_eq!(machine.window, Duration::from_secs(1));
        assert_eq!(machine.cpu.unwrap().user, ms(4 * 30));
        assert_eq!(machine.service_cpu.unwrap().user, ms(2 * 30));
        assert_eq!(machine.service_cpus.len(), 2);
        assert_eq!(machine.context_switches, Some(30));
        assert_eq!(machine.pressure.unwrap().cpu_some, Some(ms(30).0));
        assert_eq!(machine.frequency_hz, Some(130.0));
        assert_eq!(machine.clock_ratio, Some(1.5));
        assert_eq!(machine.energy, Some(Energy(30.0)));
        assert_eq!(machine.observer_cpu, Some(ms(30)));
        let service = window.service.unwrap();
        assert_eq!(service.cpu, ms(30));
        assert_eq!(service.run_delay, Some(ms(30).0));
        assert_eq!(service.context_switches, Some(30));
        assert_eq!(window.generator_cpu, Some(ms(30)));
    }

    #[test]
    fn cpus_are_busy_while_they_are_not_idle() {
        let begin = Instant::now();
        let read = |at, idle, user| {
            let mut reading = full(at, 0);
            let cpu = reading.cpu.as_mut().unwrap();
            cpu.at = Some(ReadTimes::at(at));
            for used in cpu.each.values_mut() {
                (used.idle, used.user) = (ms(idle), ms(user));
            }
            reading
        };
        let end = read(begin + Duration::from_secs(1), 690, 5);
        let machine = difference(&read(begin, 0, 0), &end).machine;
        assert_eq!(machine.service_cpu.unwrap().busy(), ms(2 * 310));
        assert_eq!(machine.generator_cpu.unwrap().busy(), ms(310));
        assert_eq!(machine.cpu.unwrap().unsampled, ms(4 * 305));
    }

    #[test]
    fn counter_missing_in_either_reading_is_none() {
        let at = Instant::now();
        for (one, other) in [
            (Reading::blank(at), full(at, 1)),
            (full(at, 1), Reading::blank(at)),
        ] {
            let window = difference(&one, &other);
            let unknown = MachineUse {
                service_cpus: other.service_cpus,
                generator_cpus: other.generator_cpus,
                frequency_hz: other.frequency_hz,
                ..MachineUse::unknown(Duration::ZERO)
            };
            assert_eq!(window.machine, unknown);
            assert_eq!((window.service, window.generator_cpu), (None, None));
        }
    }

    #[test]
    fn remote_service_uses_its_own_hosts_counters() {
        let begin = Instant::now();
        let remote = |n| {
            let at = begin + ms(n).0;
            let metrics = NodeMetrics {
                cpu: busy(n, 8),
                pressure: None,
            };
            full(at, n).with_node_metrics(metrics, ReadTimes::at(at))
        };
        let window = difference(&remote(10), &remote(15));
        let machine = window.machine;
        assert_eq!(machine.service_cpus.to_string(), "0-7");
        assert_eq!(machine.service_cpu, machine.cpu);
        assert_eq!(machine.generator_cpu, None, "it is on another host");
        assert_eq!(machine.cpu.unwrap().user, ms(8 * 5));
        assert_eq!((machine.pressure, machine.energy), (None, None));
        assert_eq!((machine.frequency_hz, machine.clock_ratio), (None, None));
        assert_eq!(window.generator_cpu, Some(ms(5)));
        assert_eq!((window.doubt, machine.doubt), (None, None));
    }

    #[test]
    fn counters_of_another_host_that_fall_are_unknown_and_our_own_are_not() {
        let at = Instant::now();
        let remote = |user| {
            let metrics = NodeMetrics {
                cpu: busy(user, 2),
                pressure: Some(Pressure::default()),
            };
            full(at, 10).with_node_metrics(metrics, ReadTimes::at(at))
        };
        let window = difference(&remote(15), &remote(10));
        let machine = &window.machine;
        assert_eq!((machine.cpu, machine.service_cpu), (None, None));
        assert_eq!((machine.context_switches, machine.pressure), (None, None));
        let why = machine.doubt.as_deref().unwrap();
        assert_eq!(why, "the user time of CPU 0 fell");
        assert_eq!(window.generator_cpu, Some(ms(0)), "of this host");
        let here = difference(&full(at, 15), &full(at, 10));
        assert!(here.machine.cpu.is_some());
    }
}
