//! Whether the runs of a command count its work.
//!
//! A command that runs for a fixed time, as benchmarks do, completes as many runs however little CPU
//! time it gets. A run then takes less CPU time beside the service than alone. So does a command
//! that fewer CPUs carry more cheaply (shared cores, memory). Runs do not show which it is, and the
//! gain lies between that of the runs and that of the CPU time.

use super::Seen;
use super::arm::job_rate;
use crate::student;
use plimsoll_model::{Arm, Estimate, Job, YieldTrial};

/// A run that takes less than this part of the CPU time that it takes alone, by the mean over passes: to
/// ask for more, such as an interval below it, would take noise for work that was done.
const LESS: f64 = 0.9;

/// CPU time of the job as a share of that alone, where a run took less of it.
pub(super) fn gained(seen: &Seen<'_>, arm: Arm, job: &Job) -> Option<Estimate> {
    if matches!(job, Job::Counted(_)) || !arm.is_beside() {
        return None;
    }
    let share = |(with, alone): &(&YieldTrial, &YieldTrial)| {
        let by_cpu = cpu_rate(with)? / cpu_rate(alone)?;
        let by_runs = job_rate(with)? / job_rate(alone)?;
        let of_a_run = by_cpu / by_runs;
        // A law may let no run end.
        of_a_run.is_finite().then_some((by_cpu, of_a_run))
    };
    let pairs = seen.pairs(arm, Arm::JobAlone);
    let (by_cpu, of_a_run): (Vec<f64>, Vec<f64>) = pairs.iter().filter_map(share).unzip();
    let is_less = student::mean(&of_a_run)?.value < LESS;
    is_less.then(|| student::mean(&by_cpu))?
}

fn cpu_rate(trial: &YieldTrial) -> Option<f64> {
    let used = trial.outcome.job?.cpu?.0.as_secs_f64();
    Some(used / trial.window.as_secs_f64())
}

/// A gain by runs with what that by CPU time leaves possible.
pub(super) fn widened(by_runs: Estimate, by_cpu: Option<Estimate>) -> Estimate {
    let least = by_cpu.and_then(|by_cpu| by_cpu.low);
    Estimate {
        low: by_runs.low.map(|low| low.min(least.unwrap_or(low))),
        ..by_runs
    }
}
