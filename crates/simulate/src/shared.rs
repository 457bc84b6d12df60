//! A service and a sideload that share CPUs, on virtual time, to test control
//! laws.
//!
//! A control period is divided into slices of 10 ms. In each slice, interrupts
//! and steal come first; the service demands its load (with noise, plus its
//! backlog) and the sideload what its quota allows; the rest is shared by
//! weight. Unserved demand becomes the service's backlog, which measures the
//! interference of the sideload.
//!
//! Two effects are not modelled: waiting within a slice, and contention for
//! caches and cores. A law that fails here fails; one that succeeds may still
//! fail on a real machine.

use crate::random::SeededRng;
use plimsoll_model::{CpuTime, CpuUse};
use std::time::Duration;

/// The length of a slice, which is also the quota period, in seconds.
const SLICE: f64 = 0.01;

#[derive(Debug, Clone, PartialEq)]
pub struct SharedSpec {
    pub cpus: u32,
    pub service_weight: f64,
    pub sideload_weight: f64,
    /// Variation of the service's load between slices, uniform: 0.3 means ±30
    /// %.
    pub noise: f64,
    /// The fraction of the machine that interrupts take.
    pub irq: f64,
    /// The fraction of the machine that the hypervisor takes.
    pub steal: f64,
    /// Resolution of the machine's CPU time; zero for exact. The sideload's is
    /// always exact, as in cgroups.
    pub tick: Duration,
    pub seed: u64,
}

impl Default for SharedSpec {
    /// Two CPUs, weights 100 to 1, ticks of 4 ms, 10 % noise.
    fn default() -> SharedSpec {
        SharedSpec {
            cpus: 2,
            service_weight: 100.0,
            sideload_weight: 1.0,
            noise: 0.1,
            irq: 0.01,
            steal: 0.0,
            tick: Duration::from_millis(4),
            seed: 1,
        }
    }
}

/// The result of one control period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedPeriod {
    /// The machine's CPU time by its counters.
    pub machine: CpuUse,
    pub sideload: CpuTime,
    pub service: CpuTime,
    /// The service's backlog at the end, in CPU time.
    pub backlog: CpuTime,
    /// The largest backlog at the end of any slice.
    pub max_backlog: CpuTime,
}

#[derive(Debug, Clone)]
pub struct SharedMachine {
    spec: SharedSpec,
    rng: SeededRng,
    /// CPU seconds since the start.
    sums: Sums,
    backlog: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    user: f64,
    irq: f64,
    steal: f64,
    idle: f64,
    sideload: f64,
    service: f64,
}

impl SharedMachine {
    pub fn new(spec: SharedSpec) -> SharedMachine {
        SharedMachine {
            rng: SeededRng::seeded(spec.seed),
            spec,
            sums: Sums::default(),
            backlog: 0.0,
        }
    }

    /// Changes the number of CPUs at once.
    pub fn set_cpus(&mut self, cpus: u32) {
        self.spec.cpus = cpus;
    }

    pub fn cpus(&self) -> u32 {
        self.spec.cpus
    }

    /// Runs for a control period. `load` is the service's demand, in CPUs, at a
    /// time within the period; the sideload demands `wish` of the machine and
    /// may use `quota` of it.
    pub fn run(
        &mut self,
        period: Duration,
        load: impl Fn(Duration) -> f64,
        wish: f64,
        quota: f64,
    ) -> SharedPeriod {
        let before = self.sums;
        let mut max_backlog = self.backlog;
        let slices = (period.as_secs_f64() / SLICE).round().max(1.0);
        let slice = period.as_secs_f64() / slices;
        for i in 0..slices as u32 {
            let at = Duration::from_secs_f64(f64::from(i) * slice);
            self.slice(slice, load(at), wish.min(quota));
            max_backlog = max_backlog.max(self.backlog);
        }
        let tick = self.spec.tick.as_secs_f64();
        let counted = |of: fn(&Sums) -> f64| {
            let read = |sums: &Sums| match tick > 0.0 {
                true => (of(sums) / tick).floor() * tick,
                false => of(sums),
            };
            cpu_time(read(&self.sums) - read(&before))
        };
        SharedPeriod {
            machine: CpuUse {
                user: counted(|s| s.user),
                irq: counted(|s| s.irq),
                steal: counted(|s| s.steal),
                idle: counted(|s| s.idle),
                ..CpuUse::default()
            },
            sideload: cpu_time(self.sums.sideload - before.sideload),
            service: cpu_time(self.sums.service - before.service),
            backlog: cpu_time(self.backlog),
            max_backlog: cpu_time(max_backlog),
        }
    }

    fn slice(&mut self, slice: f64, load: f64, side: f64) {
        let spec = &self.spec;
        let whole = slice * f64::from(spec.cpus);
        let noise = 1.0 + spec.noise * (2.0 * self.rng.unit() - 1.0);
        let wants = self.backlog + load * slice * noise;
        let (irq, steal) = (spec.irq * whole, spec.steal * whole);
        let capacity = (whole - irq - steal).max(0.0);
        let side_wants = side.clamp(0.0, 1.0) * whole;
        let total_weight = spec.service_weight + spec.sideload_weight;
        let assured = capacity * spec.service_weight / total_weight;
        // By weight if both demand more; unused time goes to the other.
        let service = wants.min(assured.max(capacity - side_wants));
        let sideload = side_wants.min(capacity - service);
        self.backlog = wants - service;
        let sums = &mut self.sums;
        sums.user += service + sideload;
        sums.service += service;
        sums.sideload += sideload;
        sums.irq += irq;
        sums.steal += steal;
        sums.idle += (capacity - service - sideload).max(0.0);
    }
}

fn cpu_time(seconds: f64) -> CpuTime {
    CpuTime(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn exact(spec: SharedSpec) -> SharedMachine {
        SharedMachine::new(SharedSpec {
            noise: 0.0,
            irq: 0.0,
            tick: Duration::ZERO,
            ..spec
        })
    }

    fn seconds(time: CpuTime) -> f64 {
        (time.0.as_secs_f64() * 1e6).round() / 1e6
    }

    #[test]
    fn unused_time_is_idle() {
        let mut machine = exact(SharedSpec::default());
        let seen = machine.run(SECOND, |_| 0.5, 1.0, 0.3);
        assert_eq!(seconds(seen.service), 0.5);
        assert_eq!(seconds(seen.sideload), 0.6);
        assert_eq!(seconds(seen.machine.idle), 0.9);
        assert_eq!(seconds(seen.backlog), 0.0);
    }

    #[test]
    fn contention_is_by_weight_and_leaves_a_backlog() {
        let mut machine = exact(SharedSpec {
            service_weight: 3.0,
            ..SharedSpec::default()
        });
        let seen = machine.run(SECOND, |_| 2.0, 1.0, 1.0);
        assert_eq!(seconds(seen.service), 1.5);
        assert_eq!(seconds(seen.sideload), 0.5);
        assert_eq!(seconds(seen.backlog), 0.5);
        let later = machine.run(SECOND, |_| 0.5, 0.0, 0.0);
        assert_eq!(seconds(later.service), 1.0);
        assert_eq!(seconds(later.backlog), 0.0);
    }

    #[test]
    fn time_is_counted_once_in_whole_ticks() {
        let mut machine = SharedMachine::new(SharedSpec {
            steal: 0.1,
            ..SharedSpec::default()
        });
        for _ in 0..100 {
            let seen = machine.run(Duration::from_millis(100), |_| 1.0, 1.0, 0.2);
            let total = seen.machine.total().0.as_secs_f64();
            assert!((total - 0.2).abs() <= 0.0161, "{total}");
        }
    }

    #[test]
    fn seed_determines_the_noise() {
        let run = |seed| {
            let mut machine = SharedMachine::new(SharedSpec {
                seed,
                ..SharedSpec::default()
            });
            machine.run(SECOND, |_| 1.0, 1.0, 0.2)
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
