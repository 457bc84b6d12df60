//! `plimsoll yield`: what does batch work next to a service gain, and what does the
//! service pay?
//!
//! The rated rate is calibrated as in a sweep, unless it is given. One trial of the
//! service alone measures the idle CPU time. Then each pass visits every arm once,
//! shuffled and mirrored, and the service alone twice.
//!
//! An arm is data ([`plimsoll_model::Arm`]); one function (`arms::hold`) applies it
//! to a job. Arms that decide repeatedly use the loop of `plimsoll side` with a law
//! from `laws`. [`Request::plan`] makes the plan, [`YieldPlanner`] returns the next
//! trial, and [`runner`] runs it.

mod args;
mod arms;
mod best;
mod command;
mod experiment;
mod job;
mod laws;
mod plan;
mod progress;
mod request;
mod shared;
mod visits;

#[cfg(test)]
mod step_tests;
#[cfg(test)]
mod tests;

pub use args::YieldArgs;
pub use best::{advice, usual_file};
pub use command::check as check_command;
pub use experiment::Yield;
pub use plan::YieldPlanner;
pub use request::{Effort, Request, StepLoads};

use crate::experiment::Machine;
use job::SideJob;
use plimsoll_control::CgroupLayout;
use plimsoll_engine::{RunError, Runner, Site};
use plimsoll_model::{
    Arm, CpuSet, MissingArm, Share, Workload, YieldOutcome, YieldPlan, YieldSetting,
};

/// Which of `wanted` this machine can do with such a headroom, and why not the
/// others: each is tried once with nothing in it.
///
/// # Errors
/// What is mounted cannot be read, or no journal can be made.
pub fn able(
    wanted: &[Arm],
    headroom: Share,
    cpus: &CpuSet,
    machine: &Machine,
) -> Result<(Vec<Arm>, Vec<MissingArm>), RunError> {
    let root = &machine.root;
    let layout = CgroupLayout::find(root)?;
    let (mut arms, mut missing) = (Vec::new(), Vec::new());
    for &arm in wanted {
        match arms::try_once(arm, headroom, cpus, &layout, machine.journal()?, root) {
            Ok(()) => arms.push(arm),
            Err(reason) => missing.push(MissingArm { arm, reason }),
        }
    }
    Ok((arms, missing))
}

/// The runner of `plan`'s trials at `site`.
///
/// # Errors
/// The load cannot be offered, or a job cannot be started.
pub fn runner<'a>(
    plan: &'a YieldPlan,
    site: &Site,
    machine: &'a Machine,
) -> Result<Box<dyn Runner<YieldSetting, YieldOutcome> + 'a>, RunError> {
    let serves_here = matches!(plan.load.workload, Workload::Hash(_));
    let job = SideJob::new(&plan.sideload, serves_here, machine)?;
    let offered = site.runner(&plan.load, &machine.root)?;
    Ok(Box::new(offered.with_job(Box::new(job), plan.step)))
}
