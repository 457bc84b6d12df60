use plimsoll_model::{CpuSet, CpuTime, human_duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// CPUs of one core that are held or released, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    pub cpus: CpuSet,
    /// Held from now on, or released.
    pub held: bool,
    pub why: Why,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Why {
    /// A followed task ran here since the sample before.
    RunsHere,
    /// A followed task ran here last, and may wake here.
    LastRanHere,
    /// No followed task ran here for the hold of this core.
    Idle {
        #[serde(rename = "idle_ns", with = "plimsoll_model::Ns")]
        idle: Duration,
        #[serde(rename = "hold_ns", with = "plimsoll_model::Ns")]
        hold: Duration,
    },
    /// No followed task has it as its last CPU.
    TasksLeft,
    /// The burn is over the budget by this much.
    OverBudget {
        #[serde(rename = "over_ns")]
        over: CpuTime,
    },
    /// The tasks could not be read for this long.
    Blind {
        #[serde(rename = "blind_ns", with = "plimsoll_model::Ns")]
        blind: Duration,
    },
    Offline,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.held { "hold" } else { "release" };
        write!(f, "{verb} CPU {}: {}", self.cpus, self.why)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::RunsHere => f.write_str("a followed task ran here"),
            Why::LastRanHere => f.write_str("a followed task ran here last"),
            Why::Idle { idle, hold } => write!(
                f,
                "no followed task ran here for {}, and the hold is {}",
                human_duration(*idle),
                human_duration(*hold)
            ),
            Why::TasksLeft => f.write_str("no followed task ran here last"),
            Why::OverBudget { over } => {
                write!(f, "the burn is {} over the budget", human_duration(over.0))
            }
            Why::Blind { blind } => write!(
                f,
                "the followed tasks could not be read for {}",
                human_duration(*blind)
            ),
            Why::Offline => f.write_str("it is offline"),
        }
    }
}
