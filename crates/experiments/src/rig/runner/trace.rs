//! A trace of one run on each scheduler.

use super::super::outcome::RigOutcome;
use super::super::plan::RigPlan;
use super::bench::{Bench, Broken, Task};
use plimsoll_engine::RunError;
use plimsoll_graph::JobGraph;
use plimsoll_schedulers::{JobTime, Trace, write_trace};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs the graph once on each scheduler, without start times, and writes what happened.
/// A scheduler that breaks its contract is not in it; its first trial says why.
///
/// # Errors
/// The file cannot be written, or a scheduler cannot be started.
pub(super) fn trace(
    plan: &RigPlan,
    bench: &mut Bench,
    graph: &Arc<JobGraph>,
    file: File,
    stop: &AtomicBool,
) -> Result<(), RunError> {
    let task = Task {
        graph,
        grain: plan.graph_grain,
        schedule: None,
        timed: true,
    };
    let mut runs: Vec<(&str, Vec<JobTime>)> = Vec::new();
    for scheduler in &plan.schedulers {
        match once(bench, scheduler, &task, stop) {
            Ok(times) => runs.push((scheduler, times)),
            Err(Broken::Contract(_)) => {}
            Err(Broken::Stopped) => return Ok(()),
            Err(Broken::Rig(error)) => return Err(error),
        }
    }
    let traces: Vec<Trace<'_>> = runs
        .iter()
        .map(|(scheduler, times)| Trace {
            scheduler,
            graph,
            times,
            events: &[],
        })
        .collect();
    let mut out = BufWriter::new(file);
    let written = write_trace(&mut out, &traces).and_then(|()| out.flush());
    written.map_err(|error| RunError::Stuck(format!("--trace: {error}")))
}

fn once(
    bench: &mut Bench,
    scheduler: &str,
    task: &Task<'_>,
    stop: &AtomicBool,
) -> Result<Vec<JobTime>, Broken> {
    bench.start_one(scheduler)?;
    bench.calibrate(task.grain, true)?;
    bench.run(scheduler, task, &mut RigOutcome::default(), stop)
}
