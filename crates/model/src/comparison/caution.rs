//! What a reader of a comparison should know.

use crate::{Doubt, Goal, Mismatch, Respect};
use schemars::JsonSchema;
use serde::Serialize;

/// What may make figures that can be compared mean different things, or is in
/// doubt about one of them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum ComparisonCaution {
    /// Each machine was measured in one run: the verdicts rest on an assumed or
    /// stated deviation from run to run.
    SingleRuns {
        /// The standard deviation from run to run, in percent. At 0 the verdicts
        /// hold for these runs only.
        deviation_pct: f64,
        /// Whether the user stated it.
        stated: bool,
    },
    /// More than one run, but too few to measure how runs differ.
    FewRuns {
        /// The standard deviation from run to run that is assumed at least, in percent.
        deviation_pct: f64,
    },
    /// All runs of one machine were made before those of the other, so that a
    /// slow change looks like a difference.
    NotAlternated {
        /// The one that was measured first.
        first: String,
        /// The other.
        then: String,
    },
    /// Servers were asked over different numbers of connections.
    Connections,
    /// Requests arrived at random at one machine and evenly at another.
    Arrivals,
    /// Imported tables do not say what they were measured with.
    OnTrust,
    /// Power has no interval, and is that of the CPU packages alone.
    ExactPower,
    /// The services had different numbers of CPUs.
    Cpus {
        /// By machine.
        cpus: Vec<MachineCpus>,
    },
    /// A capacity whose interval is wide.
    WideCapacity {
        /// The machine.
        name: String,
        /// The goal that it is within.
        goal: Goal,
        /// Half the width of its interval, in percent of it.
        half_width_pct: f64,
    },
    /// A goal that is a multiple of a machine's own latency asks for another
    /// latency on each of them.
    RelativeGoal {
        /// The goal.
        goal: Goal,
        /// What it comes to, by machine.
        limits: Vec<LimitOf>,
    },
    /// A run was made in other surroundings than another.
    Surroundings {
        /// The machine or run.
        name: String,
        /// The one that it is compared with.
        first: String,
        /// In what they differ.
        differs: Mismatch,
    },
    /// A run was made by another version of this program than another.
    Version {
        /// The machine or run.
        name: String,
        /// The one that it is compared with.
        first: String,
        /// The first one's version, and this one's.
        versions: [String; 2],
    },
    /// A run's own figures are in doubt.
    Doubted {
        /// The run.
        name: String,
        /// Why.
        doubt: Doubt,
    },
    /// A longer trial at the lower end of a capacity did not keep the goal.
    NotConfirmed {
        /// The run.
        name: String,
        /// The goal that it is within.
        goal: Goal,
    },
}

/// Limits of one goal that differ by more than this factor are other goals.
const OTHER_LIMIT: f64 = 1.1;

impl ComparisonCaution {
    /// Whether a difference may come from something else than what is compared, so that it
    /// decides nothing.
    pub fn unsettles(&self) -> bool {
        match self {
            ComparisonCaution::Connections
            | ComparisonCaution::Arrivals
            | ComparisonCaution::Cpus { .. }
            | ComparisonCaution::NotConfirmed { .. }
            | ComparisonCaution::Version { .. } => true,
            // Each container has a name of its own.
            ComparisonCaution::Surroundings { differs, .. } => {
                differs.respect != Respect::Host && differs.respect.bars_resuming()
            }
            ComparisonCaution::Doubted { doubt, .. } => doubt.unsettles(),
            ComparisonCaution::RelativeGoal { limits, .. } => {
                let limits = || limits.iter().map(|limit| limit.limit_us);
                let most = limits().fold(0.0, f64::max);
                limits().any(|limit| limit * OTHER_LIMIT < most)
            }
            ComparisonCaution::SingleRuns { .. }
            | ComparisonCaution::FewRuns { .. }
            | ComparisonCaution::NotAlternated { .. }
            | ComparisonCaution::OnTrust
            | ComparisonCaution::ExactPower
            | ComparisonCaution::WideCapacity { .. } => false,
        }
    }
}

/// The CPUs of a machine's service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MachineCpus {
    /// The machine.
    pub name: String,
    /// How many.
    pub cpus: u32,
}

/// What a relative goal comes to on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LimitOf {
    /// The machine.
    pub name: String,
    /// The limit, in microseconds.
    pub limit_us: f64,
}
