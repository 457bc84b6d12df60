//! A service and a sideload that share CPUs, on virtual time.
//!
//! What a control law is tried on: each control period is cut into slices of
//! 10 ms; in each the service wants its load (with noise, and with what it was owed
//! from before), the sideload wants what its quota allows, interrupts and steal
//! come first, and what is left is shared by weight. What the service did not get it
//! is owed, so the work that waits says what the sideload cost it.
//!
//! Two things are left out on purpose: waiting within a slice, and what sharing
//! caches and cores costs. A law that does badly here does badly; one that does
//! well may still do badly on a real machine.

use crate::chance::Chance;
use plimsoll_model::{CpuTime, CpuUse};
use std::time::Duration;

/// The length of a slice, which is also the period of the quota.
const SLICE: f64 = 0.01;

/// How the machine is built.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedSpec {
    /// How many CPUs there are.
    pub cpus: u32,
    /// The service's weight where CPUs are short.
    pub service_weight: f64,
    /// The sideload's weight where CPUs are short.
    pub sideload_weight: f64,
    /// How far the service's load differs from slice to slice: 0.3 is by up to
    /// 30 % to either side, uniformly.
    pub noise: f64,
    /// The share of the machine that interrupts take.
    pub irq: f64,
    /// The share of the machine that the hypervisor takes.
    pub steal: f64,
    /// How finely the machine's CPU time is counted; zero for exactly. The
    /// sideload's is always exact, as in cgroups.
    pub tick: Duration,
    /// Decides the noise.
    pub seed: u64,
}

impl Default for SharedSpec {
    /// Two CPUs, weights 100 to 1, ticks of 4 ms, a little noise.
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

/// What happened in one control period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedPeriod {
    /// The machine's CPU time, as its counters say.
    pub machine: CpuUse,
    /// The sideload's CPU time.
    pub sideload: CpuTime,
    /// The service's CPU time.
    pub service: CpuTime,
    /// The work that the service was owed at the end, in CPU time.
    pub owed: CpuTime,
    /// The most that it was owed at the end of any slice.
    pub most_owed: CpuTime,
}

/// The machine.
#[derive(Debug, Clone)]
pub struct SharedMachine {
    spec: SharedSpec,
    chance: Chance,
    /// CPU seconds since the start.
    sums: Sums,
    owed: f64,
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
    /// A machine on which nothing has happened yet.
    pub fn new(spec: SharedSpec) -> SharedMachine {
        SharedMachine {
            chance: Chance::seeded(spec.seed),
            spec,
            sums: Sums::default(),
            owed: 0.0,
        }
    }

    /// CPUs come or go, at once.
    pub fn set_cpus(&mut self, cpus: u32) {
        self.spec.cpus = cpus;
    }

    /// How many CPUs there are now.
    pub fn cpus(&self) -> u32 {
        self.spec.cpus
    }

    /// Runs for a control period. `load` gives what the service wants, in CPUs, at a
    /// time within the period; the sideload wants `wish` of the machine and may
    /// have `quota` of it.
    pub fn run(
        &mut self,
        period: Duration,
        load: impl Fn(Duration) -> f64,
        wish: f64,
        quota: f64,
    ) -> SharedPeriod {
        let before = self.sums;
        let mut most_owed = self.owed;
        let slices = (period.as_secs_f64() / SLICE).round().max(1.0);
        let slice = period.as_secs_f64() / slices;
        for i in 0..slices as u32 {
            let at = Duration::from_secs_f64(f64::from(i) * slice);
            self.slice(slice, load(at), wish.min(quota));
            most_owed = most_owed.max(self.owed);
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
            owed: cpu_time(self.owed),
            most_owed: cpu_time(most_owed),
        }
    }

    fn slice(&mut self, slice: f64, load: f64, side: f64) {
        let spec = &self.spec;
        let whole = slice * f64::from(spec.cpus);
        let noise = 1.0 + spec.noise * (2.0 * self.chance.unit() - 1.0);
        let wants = self.owed + load * slice * noise;
        let (irq, steal) = (spec.irq * whole, spec.steal * whole);
        let capacity = (whole - irq - steal).max(0.0);
        let side_wants = side.clamp(0.0, 1.0) * whole;
        let total_weight = spec.service_weight + spec.sideload_weight;
        let assured = capacity * spec.service_weight / total_weight;
        // By weight where both want more; what one leaves is the other's.
        let service = wants.min(assured.max(capacity - side_wants));
        let sideload = side_wants.min(capacity - service);
        self.owed = wants - service;
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
    fn what_nobody_wants_is_idle() {
        let mut machine = exact(SharedSpec::default());
        let seen = machine.run(SECOND, |_| 0.5, 1.0, 0.3);
        assert_eq!(seconds(seen.service), 0.5);
        assert_eq!(seconds(seen.sideload), 0.6);
        assert_eq!(seconds(seen.machine.idle), 0.9);
        assert_eq!(seconds(seen.owed), 0.0);
    }

    #[test]
    fn short_cpus_go_by_weight_and_the_rest_is_owed() {
        let mut machine = exact(SharedSpec {
            service_weight: 3.0,
            ..SharedSpec::default()
        });
        let seen = machine.run(SECOND, |_| 2.0, 1.0, 1.0);
        assert_eq!(seconds(seen.service), 1.5);
        assert_eq!(seconds(seen.sideload), 0.5);
        assert_eq!(seconds(seen.owed), 0.5);
        let later = machine.run(SECOND, |_| 0.5, 0.0, 0.0);
        assert_eq!(seconds(later.service), 1.0);
        assert_eq!(seconds(later.owed), 0.0);
    }

    #[test]
    fn all_time_is_counted_once_and_to_the_tick() {
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
    fn a_seed_decides_the_noise() {
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
