//! Flags of every experiment.

use super::value::{cpus, positive_duration, share};
use clap::Args;
use plimsoll_engine::RunError;
use plimsoll_host::{Root, interrupt_time, own_allowed_cpus};
use plimsoll_model::{Bounds, CpuSet, InterruptTime, RunPlan, Share};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// Flags of every experiment: seed, CPUs, and when a trial is invalid.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Seed of all random choices, such as the order of settings (default: any; the record has it).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,

    /// CPUs of what Plimsoll itself runs or starts, such as 0-3,8.
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub cpus: Option<CpuSet>,

    /// p99 slip (delay in sending requests) above which a trial is invalid, unless it is below a tenth of the p99 latency (default: 100us).
    #[arg(long, value_name = "TIME", value_parser = positive_duration, allow_hyphen_values = true)]
    pub max_slip: Option<Duration>,

    /// Steal (CPU time taken by the hypervisor) above which a trial is invalid (default: 2%).
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub max_steal: Option<Share>,

    /// CPU time of other processes above which a trial is invalid (default: 5%).
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub max_other: Option<Share>,
}

/// Any seed of six digits.
pub fn any_seed() -> u64 {
    // RandomState is seeded by the system.
    RandomState::new().build_hasher().finish() % 1_000_000
}

impl RunArgs {
    /// When a trial is invalid.
    pub fn bounds(&self, interrupts: InterruptTime) -> Bounds {
        let usual = Bounds::usual(interrupts);
        Bounds {
            slip: self.max_slip.unwrap_or(usual.slip),
            steal_share: self.max_steal.unwrap_or(usual.steal_share),
            other_share: self.max_other.unwrap_or(usual.other_share),
            ..usual
        }
    }

    /// The plan of a run that visits so many settings on CPUs of this machine,
    /// without a warm-up. Its budget has room to repeat each trial once.
    ///
    /// # Errors
    /// As for [`RunArgs::allowed_cpus`].
    pub fn plan(
        &self,
        passes: u32,
        window: Duration,
        settings: usize,
        root: &Root,
    ) -> Result<RunPlan, RunError> {
        let mut plan = RunPlan::blank();
        plan.passes = passes;
        plan.window = window;
        plan.bounds = self.bounds(interrupt_time(root));
        plan.cpus.service = self.allowed_cpus(root)?;
        plan.seed = self.seed();
        plan.budget = window * passes * 2 * u32::try_from(settings).unwrap_or(u32::MAX);
        Ok(plan)
    }

    /// The seed, or any of six digits.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(any_seed)
    }

    /// The requested CPUs, by default all that this process may use.
    ///
    /// # Errors
    /// It may not use one of them.
    pub fn allowed_cpus(&self, root: &Root) -> Result<CpuSet, RunError> {
        allowed_cpus(self.cpus.as_ref(), root)
    }
}

/// These CPUs, or all that this process may use.
///
/// # Errors
/// It may not use one of them.
pub fn allowed_cpus(asked: Option<&CpuSet>, root: &Root) -> Result<CpuSet, RunError> {
    let allowed = own_allowed_cpus(root)?;
    let Some(asked) = asked else {
        return Ok(allowed);
    };
    let missing = asked.without(&allowed);
    match missing.is_empty() {
        true => Ok(asked.clone()),
        false => Err(RunError::Usage(format!(
            "CPU {missing} is not for this process to use; choose --cpus from {allowed}"
        ))),
    }
}
