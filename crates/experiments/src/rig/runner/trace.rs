//! A trace of one run on each scheduler.

use super::super::graphs::Planned;
use super::super::plan::RigPlan;
use super::messages::{Answer, Order, Task};
use super::process::{Lost, Patience, SchedulerProcess, unasked};
use plimsoll_engine::RunError;
use plimsoll_schedulers::{JobTime, Trace, WorkerEvent, write_trace};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::atomic::AtomicBool;

/// The jobs of a run, and what the workers did between them.
type Happened = (Vec<JobTime>, Vec<WorkerEvent>);

/// Runs the graph once on each scheduler, without start times, and writes what happened.
/// A scheduler that breaks its contract is not in it; its first trial says why.
///
/// # Errors
/// The file cannot be written, or a scheduler cannot be started.
pub(super) fn trace(
    plan: &RigPlan,
    program: &[OsString],
    file: File,
    stop: &AtomicBool,
) -> Result<(), RunError> {
    let mut runs: Vec<(&str, Happened)> = Vec::new();
    for scheduler in &plan.schedulers {
        match once(plan, program, scheduler, stop) {
            Ok(happened) => runs.push((scheduler, happened)),
            Err(Lost::Broke(_)) => {}
            Err(Lost::Stopped) => return Ok(()),
            Err(Lost::Rig(error)) => return Err(error),
        }
    }
    let planned = Planned::of(&plan.graph, plan).map_err(|e| RunError::Usage(e.to_string()))?;
    let traces: Vec<Trace<'_>> = runs
        .iter()
        .map(|(scheduler, (times, events))| Trace {
            scheduler,
            graph: planned.graph(),
            times,
            events,
        })
        .collect();
    let mut out = BufWriter::new(file);
    let written = write_trace(&mut out, &traces).and_then(|()| out.flush());
    written.map_err(|error| RunError::Stuck(format!("--trace: {error}")))
}

fn once(
    plan: &RigPlan,
    program: &[OsString],
    scheduler: &str,
    stop: &AtomicBool,
) -> Result<Happened, Lost> {
    let order = Order {
        plan: plan.clone(),
        task: Task::Trace {
            scheduler: scheduler.to_owned(),
        },
    };
    let mut process = SchedulerProcess::prepared(program, &order, stop)?;
    match process.carry_out(Patience::WhileAlive, stop)? {
        Answer::Traced { jobs, events } => Ok((
            jobs.into_iter().map(JobTime::from).collect(),
            events.into_iter().map(WorkerEvent::from).collect(),
        )),
        other => Err(unasked(other)),
    }
}
