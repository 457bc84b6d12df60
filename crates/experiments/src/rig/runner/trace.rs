//! A trace of one run on each scheduler.

use super::super::graphs::Planned;
use super::super::plan::RigPlan;
use super::messages::{Answer, Order, Task};
use super::process::{Lost, Patience, SchedulerProcess, unasked};
use plimsoll_engine::RunError;
use plimsoll_schedulers::{JobTime, Trace, write_trace};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::atomic::AtomicBool;

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
    let mut runs: Vec<(&str, Vec<JobTime>)> = Vec::new();
    for scheduler in &plan.schedulers {
        match once(plan, program, scheduler, stop) {
            Ok(times) => runs.push((scheduler, times)),
            Err(Lost::Broke(_)) => {}
            Err(Lost::Stopped) => return Ok(()),
            Err(Lost::Rig(error)) => return Err(error),
        }
    }
    let planned = Planned::of(&plan.graph, plan).map_err(|e| RunError::Usage(e.to_string()))?;
    let traces: Vec<Trace<'_>> = runs
        .iter()
        .map(|(scheduler, times)| Trace {
            scheduler,
            graph: planned.graph(),
            times,
            events: &[],
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
) -> Result<Vec<JobTime>, Lost> {
    let order = Order {
        plan: plan.clone(),
        task: Task::Trace {
            scheduler: scheduler.to_owned(),
        },
    };
    let mut process = SchedulerProcess::prepared(program, &order, stop)?;
    match process.carry_out(Patience::WhileAlive, stop)? {
        Answer::Traced(times) => Ok(times.into_iter().map(JobTime::from).collect()),
        other => Err(unasked(other)),
    }
}
