//! Which CPUs to keep out of deep idle states for latency-sensitive tasks.
//!
//! Nothing in Linux follows a task: limits on idle states are per CPU or global.
//! [`KeepAwake`] follows tasks by samples. A core is *held* (its CPUs are kept awake)
//! from the sample in which a followed task ran on it. A held core without work costs
//! *burn*, and a wake-up on a released core costs latency. [`Price`] puts both into one
//! unit; [`HoldRule`] says when an idle core is released.
//!
//! # What is bounded
//! For each core, with all times as sampled, without a budget and with readable tasks:
//! the cost of [`HoldRule::Rent`] and of [`HoldRule::BreakEven`] is at most twice that of
//! the best decisions in hindsight, where
//!
//! ```text
//! cost = burn while held without work + (wake-ups on a released core) * Price::wakeup
//! ```
//!
//! This is ski rental (Karlin, Manasse, Rudolph, Sleator 1988, "Competitive snoopy
//! caching"): of a gap that is longer than the break-even time, hindsight pays one
//! wake-up and the rule at most one break-even time of burn more. A gap that ends earlier
//! costs both the same. The burn alone is never above the cost in hindsight.
//!
//! [`HoldRule::Rent`] shortens the hold where recent gaps were long. It may: each gap that
//! cost less than twice the hindsight leaves slack, and a hold of `break_even - slack` or
//! more keeps the sum of all gaps below twice the hindsight.

mod boundary;
mod core;
mod decide;
mod log;
mod reason;
mod sample;

pub use self::core::CoreState;
pub use boundary::{IdleLimit, StateLatency, snap};
pub use decide::{AwakeDecision, AwakeState};
pub use log::{AwakeEntry, replay_awake};
pub use reason::{Change, Why};
pub use sample::{AwakeSample, TaskCpus};

use plimsoll_model::{CpuSet, CpuTime, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// When a core without work is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldRule {
    /// After a time learnt from recent gaps, at most the break-even time.
    Rent,
    /// After the break-even time: plain ski rental.
    BreakEven,
    /// When no followed task has it as its last CPU, however long they sleep. This is
    /// the rule of the kernel patches "IDLE gating in presence of latency-sensitive
    /// tasks" (Parth Shah, IBM, 7 May 2020).
    LastRan,
}

/// What burn and wake-ups cost, in one unit: CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// The burn that avoiding one wake-up from a deep state is worth.
    #[serde(rename = "wakeup_ns")]
    pub wakeup: CpuTime,
    /// The burn of one held CPU without work, as CPU time per time: 1 for a CPU that
    /// polls or spins. In (0, 1].
    #[serde(rename = "burn_share")]
    pub burn: Share,
}

impl Price {
    /// The idle time of a core of `cpus` CPUs whose burn costs as much as one wake-up:
    /// `wakeup / (burn * cpus)`.
    pub fn break_even(&self, cpus: usize) -> Duration {
        let rate = self.burn.get().max(0.001) * cpus.max(1) as f64;
        self.wakeup.0.div_f64(rate)
    }
}

/// The law: parameters of the decisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeepAwake {
    pub rule: HoldRule,
    pub price: Price,
    /// CPUs that share a core are held together: a core is as deep asleep as the
    /// shallowest request of its threads. A CPU in none is a core of its own.
    pub cores: Vec<CpuSet>,
    /// A core is held for at least this long (hysteresis); one sampling period is the
    /// least that a sampler can do.
    #[serde(rename = "least_hold_ns", with = "plimsoll_model::Ns")]
    pub least_hold: Duration,
    /// The burn to stay below, as a share of the CPU time of all online CPUs.
    #[serde(rename = "budget_share")]
    pub budget: Option<Share>,
    /// Everything is released after this time without a reading of the tasks.
    #[serde(rename = "blind_after_ns", with = "plimsoll_model::Ns")]
    pub blind_after: Duration,
    /// Changed CPUs a second, on average. A burst may change each CPU once. What has to
    /// be released because the tasks cannot be read is not delayed.
    pub writes_per_second: u32,
}

impl KeepAwake {
    /// The law with the usual bounds, for the cores of a machine and a sampling period.
    pub fn new(rule: HoldRule, price: Price, cores: Vec<CpuSet>, period: Duration) -> KeepAwake {
        KeepAwake {
            rule,
            price,
            cores,
            least_hold: period,
            budget: None,
            blind_after: Duration::from_secs(1),
            writes_per_second: 20,
        }
    }
}
