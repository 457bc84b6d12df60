//! `plimsoll yield`: what does batch work beside a service gain, and what does
//! the service pay?
//!
//! The rated rate is found as in a sweep, unless a rate was given; one trial of
//! the service alone tells what it leaves idle; then every arm is visited once
//! in each pass, shuffled and mirrored, with the service alone twice.
//!
//! An arm is data ([`plimsoll_model::Arm`]), and how it holds a job is one
//! function (`arms::hold`); what decides again and again is the loop of `plimsoll
//! side`, which `laws` gives its law. [`Request::plan`] makes the plan, [`next`] says
//! which trial is next, and [`runner`] carries it out.

mod arms;
mod command;
mod job;
mod laws;
mod plan;
mod progress;
mod request;
mod shared;

#[cfg(test)]
mod step_tests;
#[cfg(test)]
mod tests;

pub use command::check as check_command;
pub use plan::next;
pub use progress::progress;
pub use request::{Effort, Request, StepLoads};

use crate::conduct::{RunError, Runner};
use crate::sweep::Place;
use job::SideJob;
use plimsoll_control::{Gate, Ground, Journal};
use plimsoll_host::Root;
use plimsoll_load::LoadError;
use plimsoll_model::{Arm, CpuSet, MissingArm, Plan, Share, Workload};
use std::ffi::OsString;

/// How the machine is changed for a job: where that is written down, and which
/// programs hash blocks and start jobs.
#[derive(Debug, Clone)]
pub struct Means {
    /// Where changes stand until they are given back.
    pub journal: Journal,
    /// The program and its arguments that become a job of hashing; the number
    /// of threads is added. It counts on its standard output
    /// ([`plimsoll_load::hash::burn`]) and ends when its standard input does.
    pub burner: Vec<OsString>,
    /// What becomes a job once it is held.
    pub gate: Gate,
}

/// Which of `wanted` this machine can do with such a headroom, and why not the
/// others: each is tried once with nothing in it.
///
/// # Errors
/// What is mounted cannot be read, or no journal can be made.
pub fn able(
    wanted: &[Arm],
    headroom: Share,
    cpus: &CpuSet,
    means: &Means,
    root: &Root,
) -> Result<(Vec<Arm>, Vec<MissingArm>), RunError> {
    let ground = Ground::find(root)?;
    let (mut arms, mut missing) = (Vec::new(), Vec::new());
    for &arm in wanted {
        match arms::try_once(arm, headroom, cpus, &ground, &means.journal, root) {
            Ok(()) => arms.push(arm),
            Err(reason) => missing.push(MissingArm { arm, reason }),
        }
    }
    Ok((arms, missing))
}

/// What carries out the trials of `plan` at `place`.
///
/// # Errors
/// The load cannot be offered, or a job cannot be held.
pub fn runner<'a>(
    plan: &'a Plan,
    place: &Place,
    means: &'a Means,
    root: &Root,
) -> Result<Box<dyn Runner + 'a>, RunError> {
    let side = plan.sideload.as_ref().ok_or_else(no_job)?;
    let serves_here = matches!(plan.workload, Workload::Hash(_));
    let job = SideJob::new(side, serves_here, means, root)?;
    place.runner_beside(plan, root, Box::new(job))
}

fn no_job() -> RunError {
    let why = "this record is of a run without a job beside the service; go on with it by \
               plimsoll sweep --resume";
    RunError::Load(LoadError::Mistake(why.to_owned()))
}
