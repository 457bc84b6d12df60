//! From trials to findings: pure.

use super::{LatenessPlan, Sleep, SleepTrial};
use plimsoll_model::Estimate;
use plimsoll_study::bootstrap::quantile_us;
use serde::Serialize;

/// What is concluded.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LatenessFindings {
    /// One row per length of sleep, ascending.
    pub sleeps: Vec<Lateness>,
}

/// How late sleeps of one length end, in microseconds; null where too few wake-ups show it.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Lateness {
    /// The length of the sleeps.
    pub sleep_us: f64,
    pub p50_us: Option<Estimate>,
    pub p99_us: Option<Estimate>,
    /// Valid trials.
    pub trials: usize,
}

pub(super) fn findings(plan: &LatenessPlan, trials: &[SleepTrial]) -> LatenessFindings {
    let row = |length: &_| {
        let counts = |t: &&SleepTrial| t.spec.setting == Sleep(*length) && t.verdict.is_valid();
        let valid: Vec<&SleepTrial> = trials.iter().filter(counts).collect();
        let quantile = |q| quantile_us(&valid, q, plan.run.seed);
        Lateness {
            sleep_us: length.as_secs_f64() * 1e6,
            p50_us: quantile(0.5),
            p99_us: quantile(0.99),
            trials: valid.len(),
        }
    };
    let sleeps = plan.sleeps.iter().map(row).collect();
    LatenessFindings { sleeps }
}
