use plimsoll_model::{CpuSet, CpuTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The measurements of one sampling period.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AwakeSample {
    /// The end of the period, since the start.
    #[serde(rename = "at_ns", with = "plimsoll_model::Ns")]
    pub at: Duration,
    pub online: CpuSet,
    /// `None` if the followed tasks could not be read.
    pub tasks: Option<TaskCpus>,
    /// The burn since the sample before, at most: CPU time for which CPUs were held,
    /// without that which followed tasks used.
    #[serde(rename = "burn_ns", default)]
    pub burn: CpuTime,
}

/// Where the followed tasks are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskCpus {
    /// CPUs of tasks that have run since the sample before.
    pub ran: CpuSet,
    /// The last CPUs of all followed tasks, running or asleep.
    pub last: CpuSet,
}
