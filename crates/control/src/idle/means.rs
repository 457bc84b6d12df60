//! Which means keep CPUs awake on this machine, and why the others do not.

use super::knob::Knob;
use crate::error::ControlError;
use crate::schedule::{Class, lowest_class};
use plimsoll_host::idle::{
    DMA_LATENCY, IdleSetup, IdleState, ResumeLatency, idle_setup, idle_states,
};
use plimsoll_host::{Root, is_virtual_machine, own_allowed_cpus};
use plimsoll_model::{CpuId, CpuSet, human_duration};
use rustix::fs::{Access, access};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// A way to keep a CPU from sleeping deeply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdleMeans {
    /// The limit on the wake-up latency of one CPU.
    ResumeLatency,
    /// The idle states of one CPU that take longer are switched off.
    DisableStates,
    /// The limit on all CPUs, in force while we hold its file open.
    DmaLatency,
    /// All CPUs of a guest poll for some time before they halt. The kernel adapts it: a CPU
    /// polls only after it has slept for less than that time.
    HaltPoll,
    /// A thread of class `SCHED_IDLE` runs on the CPU.
    Spinner,
}

impl IdleMeans {
    /// The order in which they are chosen: first those that leave other CPUs alone, of
    /// these first those that take no CPU time.
    pub const BY_PREFERENCE: [IdleMeans; 5] = [
        IdleMeans::ResumeLatency,
        IdleMeans::DisableStates,
        IdleMeans::Spinner,
        IdleMeans::HaltPoll,
        IdleMeans::DmaLatency,
    ];

    /// Whether it keeps all CPUs awake, rather than the one that is named.
    pub fn is_global(self) -> bool {
        matches!(self, IdleMeans::DmaLatency | IdleMeans::HaltPoll)
    }
}

impl fmt::Display for IdleMeans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IdleMeans::ResumeLatency => "a latency limit per CPU",
            IdleMeans::DisableStates => "idle states switched off per CPU",
            IdleMeans::DmaLatency => "a latency limit on all CPUs",
            IdleMeans::HaltPoll => "polling before a guest halts",
            IdleMeans::Spinner => "a spinner of class SCHED_IDLE",
        })
    }
}

/// Whether a means works here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeansHere {
    pub means: IdleMeans,
    /// Why it does not, as a sentence without its full stop; `None` if it works.
    pub why_not: Option<String>,
}

impl MeansHere {
    pub fn works(&self) -> bool {
        self.why_not.is_none()
    }
}

/// Which means keep these CPUs within `limit`, in the order in which to choose.
///
/// # Errors
/// If cpuidle cannot be read.
pub fn choose_means(
    root: &Root,
    cpus: &CpuSet,
    limit: ResumeLatency,
) -> Result<Vec<MeansHere>, ControlError> {
    let facts = Facts::read(root, cpus)?;
    let judged = IdleMeans::BY_PREFERENCE.map(|means| MeansHere {
        means,
        why_not: facts.why_not(means, limit),
    });
    Ok(judged.into())
}

const NO_DRIVER: &str = "there is no idle driver (cpuidle/current_driver)";

/// What the choice depends on.
#[derive(Debug, Clone)]
struct Facts {
    setup: IdleSetup,
    /// Of the CPU with the deepest one.
    states: Vec<IdleState>,
    is_guest: bool,
    resume_latency: Write,
    disable: Write,
    dma_latency: Write,
    halt_poll: Write,
    /// CPUs that this process may not run on.
    forbidden: CpuSet,
    has_idle_class: bool,
}

/// Whether this user may write a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Write {
    Permitted,
    Denied,
    Absent,
}

impl Write {
    fn of(path: &Path) -> Write {
        match (access(path, Access::WRITE_OK), path.exists()) {
            (Ok(()), _) => Write::Permitted,
            (Err(_), true) => Write::Denied,
            (Err(_), false) => Write::Absent,
        }
    }

    /// The least of what is permitted.
    fn of_all(paths: impl Iterator<Item = std::path::PathBuf>) -> Write {
        let all: Vec<Write> = paths.map(|path| Write::of(&path)).collect();
        let any = |write| all.contains(&write);
        match (any(Write::Absent) || all.is_empty(), any(Write::Denied)) {
            (true, _) => Write::Absent,
            (_, true) => Write::Denied,
            _ => Write::Permitted,
        }
    }

    fn why_not(self, file: &str) -> Option<String> {
        match self {
            Write::Permitted => None,
            Write::Denied => Some(format!(
                "this user may not write to {file} (root may, where /sys is writable)"
            )),
            Write::Absent => Some(format!("there is no {file}")),
        }
    }
}

impl Facts {
    fn read(root: &Root, cpus: &CpuSet) -> Result<Facts, ControlError> {
        let mut deepest: Option<(CpuId, Vec<IdleState>)> = None;
        for cpu in cpus.iter() {
            let states = idle_states(root, cpu)?;
            let depth = |states: &[IdleState]| states.iter().map(|s| s.latency).max();
            if deepest
                .as_ref()
                .is_none_or(|d| depth(&states) > depth(&d.1))
            {
                deepest = Some((cpu, states));
            }
        }
        let (cpu, states) = deepest.unwrap_or_default();
        let disable = states.iter().filter(|state| state.index > 0);
        let disable = disable.map(|state| Knob::DisabledState {
            cpu,
            state: state.index,
        });
        let of_cpus = cpus
            .iter()
            .map(|cpu| Knob::ResumeLatency { cpu }.path(root));
        Ok(Facts {
            setup: idle_setup(root)?,
            disable: Write::of_all(disable.map(|knob| knob.path(root))),
            states,
            is_guest: is_virtual_machine(root),
            resume_latency: Write::of_all(of_cpus),
            dma_latency: Write::of(&root.path(DMA_LATENCY)),
            halt_poll: Write::of(&Knob::HaltPollNs.path(root)),
            forbidden: cpus.without(&own_allowed_cpus(root)?),
            has_idle_class: lowest_class() == Class::Idle,
        })
    }

    fn why_not(&self, means: IdleMeans, limit: ResumeLatency) -> Option<String> {
        match means {
            IdleMeans::ResumeLatency => self.limit_has_no_effect(limit, true).or_else(|| {
                self.resume_latency
                    .why_not("cpuN/power/pm_qos_resume_latency_us")
            }),
            IdleMeans::DmaLatency => self
                .limit_has_no_effect(limit, true)
                .or_else(|| self.dma_latency.why_not(DMA_LATENCY)),
            IdleMeans::DisableStates => self
                .limit_has_no_effect(limit, false)
                .or_else(|| self.disable.why_not("cpuN/cpuidle/stateM/disable")),
            IdleMeans::HaltPoll if self.setup.driver.is_none() => Some(NO_DRIVER.to_owned()),
            IdleMeans::HaltPoll if self.setup.governor.as_deref() != Some("haltpoll") => {
                Some("the idle governor is not haltpoll".to_owned())
            }
            IdleMeans::HaltPoll => self.halt_poll.why_not("guest_halt_poll_ns"),
            IdleMeans::Spinner => self.no_spinner(limit),
        }
    }

    /// Why cpuidle would sleep as deeply as before; `by_limit`: under a limit on latency,
    /// otherwise with states switched off.
    fn limit_has_no_effect(&self, limit: ResumeLatency, by_limit: bool) -> Option<String> {
        let longest = match limit.longest() {
            None => return Some("no limit was named".to_owned()),
            Some(longest) => longest,
        };
        let Some(driver) = &self.setup.driver else {
            return Some(NO_DRIVER.to_owned());
        };
        if self.deepest().is_none_or(|deepest| deepest <= longest) {
            return Some(self.no_state_takes_longer(longest, driver));
        }
        // `haltpoll_select` in drivers/cpuidle/governors/haltpoll.c asks for a limit of zero
        // and for nothing else.
        let is_haltpoll = self.setup.governor.as_deref() == Some("haltpoll");
        match (is_haltpoll, by_limit && longest.is_zero()) {
            (true, false) => Some(
                "the idle governor haltpoll heeds no limit but n/a, and no state that is switched off"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    fn deepest(&self) -> Option<Duration> {
        let in_use = self.states.iter().filter(|s| s.index > 0 && !s.disabled);
        in_use.map(|state| state.latency).max()
    }

    fn no_state_takes_longer(&self, longest: Duration, driver: &str) -> String {
        let longest = human_duration(longest);
        match self.deepest() {
            Some(deepest) => format!(
                "no idle state of {driver} takes longer than {longest} to leave: the deepest says {}",
                human_duration(deepest)
            ),
            None => format!("{driver} has one idle state in use, and it cannot be switched off"),
        }
    }

    fn no_spinner(&self, limit: ResumeLatency) -> Option<String> {
        let longest = limit.longest().unwrap_or(Duration::MAX);
        // What a guest's driver says about a state is not what the hypervisor takes.
        if let (false, Some(driver)) = (self.is_guest, &self.setup.driver)
            && self.deepest().is_some_and(|deepest| deepest <= longest)
        {
            return Some(format!(
                "none is needed: {}",
                self.no_state_takes_longer(longest, driver)
            ));
        }
        if !self.forbidden.is_empty() {
            return Some(format!(
                "this process may not run on CPU {}",
                self.forbidden
            ));
        }
        (!self.has_idle_class).then(|| "the class SCHED_IDLE is not permitted here".to_owned())
    }
}

#[cfg(test)]
mod tests;
