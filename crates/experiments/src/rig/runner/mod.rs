//! The runner of the rig: a trial measures one scheduler over and over, in a process of
//! its own (`serve`), which the rig starts for it and kills (`process`).

mod bench;
mod link;
mod messages;
mod process;
mod series;
mod serve;
mod trace;
mod wait;

use super::files::{RigSite, new_file, refuse_changed_libraries};
use super::outcome::{RigOutcome, RigSetting, RigTrial};
use super::plan::RigPlan;
use crate::experiment::Machine;
use messages::{Answer, Order, Task};
use plimsoll_engine::{Observer, RunError, Runner, ServiceTarget, TrialSensors, measure};
use plimsoll_model::{Histogram, TrialSpec};
use process::{Lost, Patience, SchedulerProcess, unasked};
pub use serve::serve_scheduler;
use std::ffi::OsString;
use std::fs::File;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How long a scheduler may take to show that it can be started, before a run that
/// names it starts. One that takes longer, or fails otherwise, fails in its first trial.
const PROBE: Duration = Duration::from_secs(2);

/// Carries out the trials of a rig.
pub(super) struct RigRunner<'a> {
    plan: &'a RigPlan,
    machine: &'a Machine,
    /// A trace that is still to be made.
    trace: Option<File>,
}

impl<'a> RigRunner<'a> {
    /// # Errors
    /// The file of the trace cannot be made.
    pub(super) fn new(
        plan: &'a RigPlan,
        site: &RigSite,
        machine: &'a Machine,
    ) -> Result<RigRunner<'a>, RunError> {
        let trace = site.trace.as_deref();
        let trace = trace.map(|path| new_file("--trace", path)).transpose()?;
        Ok(RigRunner {
            plan,
            machine,
            trace,
        })
    }
}

impl Runner<RigSetting, RigOutcome> for RigRunner<'_> {
    fn run(
        &mut self,
        spec: &TrialSpec<RigSetting>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<RigTrial>, RunError> {
        let (plan, machine) = (self.plan, self.machine);
        // Each trial loads them anew.
        refuse_changed_libraries(plan)?;
        if let Some(file) = self.trace.take() {
            trace::trace(plan, &machine.helpers.scheduler, file, stop)?;
        }
        let order = Order {
            plan: plan.clone(),
            task: Task::Trial(spec.clone()),
        };
        let prepared = SchedulerProcess::prepared(&machine.helpers.scheduler, &order, stop);
        let mut process = match prepared {
            Ok(process) => process,
            Err(Lost::Stopped) => return Ok(None),
            Err(Lost::Broke(why)) => return Err(RunError::Stuck(why)),
            Err(Lost::Rig(error)) => return Err(error),
        };
        let service = ServiceTarget::Process(process.id());
        let cpus = plan.run.cpus.service.clone();
        let sensors = TrialSensors::new(machine.root.clone(), cpus, service);
        let work = |trial: &mut RigTrial| {
            match process.carry_out(Patience::WhileAlive, stop) {
                Ok(Answer::Measured(outcome)) => take(trial, *outcome),
                Ok(other) => return failed(trial, unasked(other)),
                Err(lost) => return failed(trial, lost),
            }
            Ok(true)
        };
        let mut bounds = plan.run.bounds;
        if let RigSetting::Wait { mean_gap, .. } = spec.setting {
            // The slip is no part of the latency, but decides how long workers wait.
            bounds.slip = bounds.slip.max(mean_gap / 2);
        }
        measure(&bounds, (&sensors, &[]), spec, observer, work)
    }
}

/// What the process measured; wake-ups are requests of the trial.
fn take(trial: &mut RigTrial, mut outcome: RigOutcome) {
    let histogram = |counts: Vec<(u64, u64)>| {
        let mut all = Histogram::new();
        for (ns, count) in counts {
            all.record_many(Duration::from_nanos(ns), count);
        }
        all
    };
    let work = &mut trial.work;
    work.latency = histogram(std::mem::take(&mut outcome.latency_ns));
    work.slip = histogram(std::mem::take(&mut outcome.slip_ns));
    let count = work.latency.count();
    (work.intended, work.sent, work.completed) = (count, count, count);
    trial.outcome = outcome;
}

/// What becomes of a trial without an answer: whether it counts.
fn failed(trial: &mut RigTrial, lost: Lost) -> Result<bool, RunError> {
    match lost {
        Lost::Stopped => Ok(false),
        Lost::Broke(why) => {
            trial.outcome.failure = Some(why);
            Ok(true)
        }
        Lost::Rig(error) => Err(error),
    }
}

/// Starts and ends a scheduler, in a process of its own.
///
/// # Errors
/// It says that it cannot be started. How it fails otherwise, its first trial tells.
pub(super) fn probe(plan: &RigPlan, scheduler: &str, program: &[OsString]) -> Result<(), RunError> {
    let order = Order {
        plan: plan.clone(),
        task: Task::Probe {
            scheduler: scheduler.to_owned(),
        },
    };
    let stop = AtomicBool::new(false);
    let prepared = SchedulerProcess::prepared(program, &order, &stop);
    let patience = Patience::Until(Instant::now() + PROBE);
    match prepared.and_then(|mut process| process.carry_out(patience, &stop)) {
        Err(Lost::Rig(RunError::Usage(why))) => Err(RunError::Usage(format!("--scheduler: {why}"))),
        Err(Lost::Rig(error)) => Err(error),
        _ => Ok(()),
    }
}
