//! What was used within a window: differences of the kernel's counters.
//!
//! A counter that this kernel does not give is `None`, never 0.

use crate::{CpuSet, CpuTime, Energy, InterruptTime, Millicores, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// CPU time by kind in a window. Guest time is part of `user` in the kernel's
/// counters and is counted once here: apart.
///
/// Linux measures idle time (with NO_HZ) and samples what a busy CPU does at its
/// ticks, so that it misses much of what runs between two of them. Busy time is
/// therefore what is not idle, and what no tick saw of it is `unsampled`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// User code, nice included, guests not.
    #[serde(rename = "user_ns")]
    pub user: CpuTime,
    /// Kernel code for tasks.
    #[serde(rename = "system_ns")]
    pub system: CpuTime,
    /// Interrupts.
    #[serde(rename = "irq_ns")]
    pub irq: CpuTime,
    /// Soft interrupts: the network, mostly.
    #[serde(rename = "softirq_ns")]
    pub softirq: CpuTime,
    /// Idle with a disk request under way.
    #[serde(rename = "iowait_ns")]
    pub iowait: CpuTime,
    /// Idle.
    #[serde(rename = "idle_ns")]
    pub idle: CpuTime,
    /// Wanted to run while the hypervisor ran something else.
    #[serde(rename = "steal_ns")]
    pub steal: CpuTime,
    /// Code of virtual machines that run here.
    #[serde(rename = "guest_ns")]
    pub guest: CpuTime,
    /// Busy, but at no tick: of an unknown kind. None in older records, whose busy time is sampled.
    #[serde(rename = "unsampled_ns", default)]
    pub unsampled: CpuTime,
    /// CPU time of all tasks as the scheduler measures it, part of the busy time above; `None` where the kernel
    /// does not add it up, and in older records.
    #[serde(rename = "tasks_ns", default)]
    pub tasks: Option<CpuTime>,
}

impl CpuUse {
    /// Time in which a CPU did something: all but idle, iowait and steal.
    pub fn busy(&self) -> CpuTime {
        self.user + self.system + self.irq + self.softirq + self.guest + self.unsampled
    }

    /// Kernel code for tasks, with the same part of what no tick saw as of what ticks saw.
    pub fn by_kernel(&self) -> CpuTime {
        let sampled = self.busy().since(self.unsampled).0;
        let part = Share::of(self.system.0, sampled).unwrap_or(Share::ZERO);
        CpuTime(self.busy().0.mul_f64(part.get()))
    }

    /// CPU time of tasks: measured, else what ticks saw of it, with the time of
    /// interrupts where the kernel charges that to tasks.
    pub fn by_tasks(&self, interrupts: InterruptTime) -> CpuTime {
        let sampled = self.user + self.system + self.guest;
        self.tasks.unwrap_or(match interrupts {
            InterruptTime::InTasks => sampled + self.irq + self.softirq,
            InterruptTime::Apart | InterruptTime::Unknown => sampled,
        })
    }

    /// All time, whatever was done in it.
    pub fn total(&self) -> CpuTime {
        self.busy() + self.iowait + self.idle + self.steal
    }

    /// Busy time as a share of all time but steal; `None` for an empty window.
    ///
    /// Steal is left out of the whole: it was never this machine's to use.
    pub fn busy_share(&self) -> Option<Share> {
        Share::of(self.busy().0, self.total().since(self.steal).0)
    }

    /// Steal as a share of all time.
    pub fn steal_share(&self) -> Option<Share> {
        Share::of(self.steal.0, self.total().0)
    }
}

impl std::ops::Add for CpuUse {
    type Output = CpuUse;
    fn add(self, o: CpuUse) -> CpuUse {
        CpuUse {
            user: self.user + o.user,
            system: self.system + o.system,
            irq: self.irq + o.irq,
            softirq: self.softirq + o.softirq,
            iowait: self.iowait + o.iowait,
            idle: self.idle + o.idle,
            steal: self.steal + o.steal,
            guest: self.guest + o.guest,
            unsampled: self.unsampled + o.unsampled,
            tasks: self.tasks.zip(o.tasks).map(|(a, b)| a + b),
        }
    }
}

/// Time in which tasks waited for a resource (PSI), within a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// At least one task waited for a CPU.
    #[serde(rename = "cpu_some_ns", with = "crate::OptionNs")]
    pub cpu_some: Option<Duration>,
    /// At least one task waited for memory.
    #[serde(rename = "memory_some_ns", with = "crate::OptionNs")]
    pub memory_some: Option<Duration>,
    /// At least one task waited for a disk.
    #[serde(rename = "io_some_ns", with = "crate::OptionNs")]
    pub io_some: Option<Duration>,
}

/// What the machine did in a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineUse {
    /// How long the window was by the sensors' own clock.
    #[serde(rename = "window_ns", with = "crate::Ns")]
    pub window: Duration,
    /// CPU time of all CPUs.
    pub cpu: Option<CpuUse>,
    /// The CPUs that the service may run on.
    pub service_cpus: CpuSet,
    pub service_cpu: Option<CpuUse>,
    /// The quota of the service, where that and not its CPUs is the least of its limits.
    #[serde(default)]
    pub service_quota: Option<Millicores>,
    /// The CPUs that the generator is pinned to, where it is on the service's machine.
    /// Older records have none.
    #[serde(default)]
    pub generator_cpus: CpuSet,
    #[serde(default)]
    pub generator_cpu: Option<CpuUse>,
    /// Context switches of the whole machine.
    pub context_switches: Option<u64>,
    pub pressure: Option<Pressure>,
    /// Mean clock frequency over the service's CPUs, in Hz, at the window's end.
    pub frequency_hz: Option<f64>,
    /// Mean clock of the service's CPUs while they were not halted, as a ratio
    /// to the nominal one (APERF over MPERF).
    #[serde(default)]
    pub clock_ratio: Option<f64>,
    /// Energy of all packages (RAPL or the like).
    #[serde(rename = "energy_joules")]
    pub energy: Option<Energy>,
    /// CPU time of Plimsoll's threads that neither serve nor generate: what
    /// observing cost.
    #[serde(rename = "observer_cpu_ns")]
    pub observer_cpu: Option<CpuTime>,
    /// The part of that which went into drawing what was going on, to within
    /// one redrawing; `None` where nothing was drawn. Older records have none.
    #[serde(rename = "view_cpu_ns", default)]
    pub view_cpu: Option<CpuTime>,
    /// Why the counters of another host do not give what it used: they are impossible.
    /// `None` where they do, for this host, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

impl MachineUse {
    /// A window of which no counter is known.
    pub fn unknown(window: Duration) -> MachineUse {
        MachineUse {
            window,
            ..MachineUse::default()
        }
    }

    /// CPU use of the service's CPUs, by whomever. Of a service under a quota, its own CPU
    /// time over what the quota allows: it ends there, however idle its CPUs are.
    pub fn service_share(&self, service: Option<&ServiceUse>) -> Option<Share> {
        match self.service_quota {
            Some(quota) => service?.share_of(quota, self.window),
            None => self.service_cpu.as_ref()?.busy_share(),
        }
    }
}

/// What the service used in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceUse {
    /// CPU time of all its threads.
    #[serde(rename = "cpu_ns")]
    pub cpu: CpuTime,
    /// Time that its threads were runnable but waited for a CPU.
    #[serde(rename = "run_delay_ns", with = "crate::OptionNs")]
    pub run_delay: Option<Duration>,
    /// Context switches of its threads.
    pub context_switches: Option<u64>,
}

impl ServiceUse {
    /// Its CPU time as a share of what it could use in a window.
    pub fn share_of(&self, usable: Millicores, window: Duration) -> Option<Share> {
        Share::of(self.cpu.0, window.mul_f64(usable.cpus()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_of_a_service_under_a_quota_is_its_own() {
        let s = |n| CpuTime(Duration::from_secs(n));
        let mut machine = MachineUse::unknown(Duration::from_secs(10));
        machine.service_cpu = Some(CpuUse {
            user: s(8),
            idle: s(12),
            ..CpuUse::default()
        });
        let service = ServiceUse {
            cpu: s(4),
            run_delay: None,
            context_switches: None,
        };
        let share = |machine: &MachineUse| machine.service_share(Some(&service));
        assert_eq!(share(&machine), Share::new(0.4), "of its two CPUs");
        machine.service_quota = Some(Millicores(500));
        assert_eq!(share(&machine), Share::new(0.8), "of half a CPU");
        assert_eq!(machine.service_share(None), None);
    }

    #[test]
    fn ticks_that_miss_half_make_no_kernel_time_grow() {
        let ms = |n| CpuTime(Duration::from_millis(n));
        let of = |user, system, unsampled| {
            let cpu = CpuUse {
                user: ms(user),
                system: ms(system),
                unsampled: ms(unsampled),
                ..CpuUse::default()
            };
            cpu.by_kernel()
        };
        assert_eq!((of(30, 10, 40), of(60, 20, 0)), (ms(20), ms(20)));
        assert_eq!(of(0, 0, 40), CpuTime::ZERO);
    }

    #[test]
    fn steal_is_neither_busy_nor_part_of_the_whole() {
        let s = |n| CpuTime(Duration::from_secs(n));
        let cpu = CpuUse {
            user: s(4),
            idle: s(4),
            steal: s(2),
            ..CpuUse::default()
        };
        assert_eq!(cpu.busy_share(), Share::new(0.5));
        assert_eq!(cpu.steal_share(), Share::new(0.2));
    }
}
