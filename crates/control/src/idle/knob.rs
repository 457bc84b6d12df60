//! The settings that say how deeply CPUs may sleep, and which CPUs handle interrupts. All
//! programs share them: none has an owner, and none goes back to its former value when its writer ends.

use crate::error::ControlError;
use crate::files::{is_absent, is_denied};
use crate::schedule::set_affinity;
use plimsoll_host::idle::{HALT_POLL_NS, ResumeLatency, disable_file, resume_latency_file};
use plimsoll_host::{Root, Tid};
use plimsoll_model::{CpuId, CpuSet};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// One of these files. A journal names it by its meaning, not by its path, so that a
/// forged one cannot make a repair write elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Knob {
    /// The limit on the wake-up latency of one CPU.
    ResumeLatency { cpu: CpuId },
    /// Whether an idle state of one CPU is switched off.
    DisabledState { cpu: CpuId, state: u32 },
    /// How long a guest polls before it halts, in nanoseconds.
    HaltPollNs,
    /// The CPUs that may handle an interrupt.
    InterruptCpus { irq: u32 },
}

impl Knob {
    pub(crate) fn path(self, root: &Root) -> PathBuf {
        root.path(match self {
            Knob::ResumeLatency { cpu } => resume_latency_file(cpu),
            Knob::DisabledState { cpu, state } => disable_file(cpu, state),
            Knob::HaltPollNs => HALT_POLL_NS.to_owned(),
            Knob::InterruptCpus { irq } => format!("/proc/irq/{irq}/smp_affinity_list"),
        })
    }

    pub(crate) fn cpu(self) -> Option<CpuId> {
        match self {
            Knob::ResumeLatency { cpu } | Knob::DisabledState { cpu, .. } => Some(cpu),
            Knob::HaltPollNs | Knob::InterruptCpus { .. } => None,
        }
    }

    /// Whether `value` lets the CPU sleep more deeply than `other`, or has other CPUs; `None` if
    /// one of them is no value of this file.
    pub(crate) fn is_looser(self, value: &str, other: &str) -> Option<bool> {
        let numbers = || Some((value.parse::<u64>().ok()?, other.parse::<u64>().ok()?));
        match self {
            Knob::ResumeLatency { .. } => {
                let limit = |text: &str| text.parse::<ResumeLatency>().ok();
                Some(limit(value)?.is_looser_than(limit(other)?))
            }
            // Since Linux 5.6 bits of who has switched it off: any of them does.
            Knob::DisabledState { .. } => numbers().map(|(value, other)| value == 0 && other != 0),
            Knob::HaltPollNs => numbers().map(|(value, other)| value < other),
            Knob::InterruptCpus { .. } => {
                let cpus = |text: &str| text.parse::<CpuSet>().ok();
                Some(cpus(value)? != cpus(other)?)
            }
        }
    }

    /// The value; `None` if the file is not there, as when its CPU is offline.
    pub(crate) fn read(self, root: &Root) -> Result<Option<String>, ControlError> {
        let path = self.path(root);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(source) if is_absent(&source) => Ok(None),
            Err(source) => Err(ControlError::file(&path, "read", source)),
        }
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Knob::ResumeLatency { cpu } => write!(f, "the wake-up latency limit of CPU {cpu}"),
            Knob::DisabledState { cpu, state } => {
                write!(f, "the switch of idle state {state} of CPU {cpu}")
            }
            Knob::HaltPollNs => f.write_str("the guest's polling time (guest_halt_poll_ns)"),
            Knob::InterruptCpus { irq } => write!(f, "the CPUs of interrupt {irq}"),
        }
    }
}

/// What changes the machine: real, or a fake in tests.
pub(crate) trait Hands: fmt::Debug + Send + Sync {
    fn write(&self, path: &Path, value: &str) -> io::Result<()>;
    /// Gives a thread other CPUs.
    fn place(&self, tid: Tid, cpus: &CpuSet) -> Result<(), ControlError> {
        set_affinity(tid, cpus)
    }
    /// Makes a CPU leave its idle state, so that it chooses again under the new limit.
    fn kick(&self, cpu: CpuId);
}

/// The machine itself.
#[derive(Debug)]
pub(crate) struct Machine;

impl Hands for Machine {
    fn write(&self, path: &Path, value: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
        file.write_all(value.as_bytes())
    }

    /// The kernel does not do this: it updates the limit alone (`apply_constraint` in
    /// drivers/base/power/qos.c). A thread that starts on the CPU wakes it.
    fn kick(&self, cpu: CpuId) {
        let thread = std::thread::Builder::new().name("kick".to_owned());
        // Where this process may not run on the CPU, the next interrupt wakes it instead.
        let _ = thread.spawn(move || set_affinity(0, &[cpu].into_iter().collect()));
    }
}

pub(crate) fn write(
    hands: &dyn Hands,
    root: &Root,
    knob: Knob,
    value: &str,
) -> Result<(), ControlError> {
    let path = knob.path(root);
    let written = hands.write(&path, value);
    written.map_err(|source| explain(path, value, source))
}

/// Why a file that keeps CPUs awake was not written.
pub(crate) fn explain(path: PathBuf, value: &str, source: io::Error) -> ControlError {
    if is_absent(&source) {
        return ControlError::NoIdleFile { path };
    }
    if is_denied(&source) {
        return ControlError::IdleDenied { path };
    }
    ControlError::Refused {
        path,
        value: value.to_owned(),
        source,
        hint: "Documentation/admin-guide/pm/cpuidle.rst says what it takes",
    }
}
