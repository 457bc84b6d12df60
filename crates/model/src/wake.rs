//! Wake-ups of sleeping threads: how a thread waits, where its waker runs, and what the CPUs do
//! meanwhile.

use crate::CpuId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// How a thread waits to be woken.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// In a futex that another thread wakes: locks and condition variables.
    Futex,
    /// In a read of an eventfd that another thread writes: event loops.
    Eventfd,
    /// For a time, without another thread: the timer of its own CPU wakes it.
    Timer,
}

impl Wait {
    pub const ALL: [Wait; 3] = [Wait::Futex, Wait::Eventfd, Wait::Timer];

    pub const fn name(self) -> &'static str {
        match self {
            Wait::Futex => "futex",
            Wait::Eventfd => "eventfd",
            Wait::Timer => "timer",
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where the waker runs, as seen from the CPU of the thread that is woken.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// On the same CPU: a timer.
    SameCpu,
    /// On the other thread of the same core.
    SameCore,
    /// On another core that shares the last-level cache.
    SameLlc,
    /// On a core of the same socket with another last-level cache.
    SameSocket,
    /// On another socket.
    OtherSocket,
}

impl Placement {
    pub const ALL: [Placement; 5] = [
        Placement::SameCpu,
        Placement::SameCore,
        Placement::SameLlc,
        Placement::SameSocket,
        Placement::OtherSocket,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Placement::SameCpu => "same-cpu",
            Placement::SameCore => "same-core",
            Placement::SameLlc => "same-llc",
            Placement::SameSocket => "same-socket",
            Placement::OtherSocket => "other-socket",
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a CPU did, by one of the kernel's tracepoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuEvent {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Where it happened; of a waking, the waker's CPU.
    pub cpu: CpuId,
    pub kind: CpuEventKind,
}

/// Which tracepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuEventKind {
    /// sched_waking: somebody wakes the task.
    Waking { tid: u32 },
    /// sched_wakeup: the task is in a run queue.
    Runnable { tid: u32 },
    /// sched_switch: the task runs.
    Runs { tid: u32 },
    /// cpu_idle: the CPU enters an idle state.
    IdleEntered,
    /// cpu_idle: the CPU has left its idle state.
    IdleLeft,
}

/// The parts of a wake-up, from the call in the kernel that wakes until the task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeParts {
    /// Until the CPU has left its idle state; `None` if it was in none.
    #[serde(rename = "idle_exit_ns", with = "crate::OptionNs")]
    pub idle_exit: Option<Duration>,
    /// Until the task is in the run queue.
    #[serde(rename = "activation_ns", with = "crate::Ns")]
    pub activation: Duration,
    /// In the run queue.
    #[serde(rename = "run_queue_ns", with = "crate::Ns")]
    pub run_queue: Duration,
}

impl WakeParts {
    pub fn total(&self) -> Duration {
        self.idle_exit.unwrap_or_default() + self.activation + self.run_queue
    }
}

/// What keeps which CPUs from sleeping during a trial.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IdlePolicy {
    /// Nothing: CPUs sleep as the system lets them.
    AsIs,
    /// The same once more: how far two equal trials differ (A/A).
    AsIsAgain,
    /// Every CPU, by the best means of this machine.
    AllAwake,
    /// The CPUs of the threads that are woken, by the best means.
    Gate,
    /// The same CPUs, by a thread of the class SCHED_IDLE that spins.
    Spinner,
}

impl IdlePolicy {
    pub const ALL: [IdlePolicy; 5] = [
        IdlePolicy::AsIs,
        IdlePolicy::AsIsAgain,
        IdlePolicy::AllAwake,
        IdlePolicy::Gate,
        IdlePolicy::Spinner,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            IdlePolicy::AsIs => "as-is",
            IdlePolicy::AsIsAgain => "as-is again",
            IdlePolicy::AllAwake => "all-awake",
            IdlePolicy::Gate => "gate",
            IdlePolicy::Spinner => "spinner",
        }
    }

    /// Whether CPUs sleep as the system lets them.
    pub fn is_as_is(self) -> bool {
        matches!(self, IdlePolicy::AsIs | IdlePolicy::AsIsAgain)
    }
}

impl fmt::Display for IdlePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
