//! The process of a scheduler: does one task and waits to be killed.
//!
//! A scheduler that calls `exit`, faults or hangs ends this process and not the run,
//! and what it uses of CPU time and memory is that of this process. No thread that it
//! leaves behind can disturb the next trial.

use super::super::graphs::Planned;
use super::super::outcome::{RigOutcome, RigSetting};
use super::super::plan::RigPlan;
use super::bench::{Bench, Broken, Job};
use super::link::{Link, end_at_once};
use super::messages::{Answer, Did, GO, Order, Ran, Task};
use super::series::{RunSeries, known};
use super::wait::Wait;
use plimsoll_engine::RunError;
use plimsoll_model::TrialSpec;
use plimsoll_schedulers::{start, start_traced};
use std::io;

/// Runs this process as that of a scheduler under test, with orders on standard input
/// and answers on standard output. Does not return after an answer: at exit the
/// functions of a library would run, which may hang.
///
/// # Errors
/// Nobody gives an order that can be read: only Plimsoll itself starts this.
pub fn serve_scheduler() -> io::Result<()> {
    let mut link = Link::open()?;
    let order: Order = serde_json::from_str(&link.line()?)?;
    let answer = carry_out(&order, &mut link).unwrap_or_else(|broken| match broken {
        Broken::Contract(why) => Answer::Broke(why),
        Broken::Rig(RunError::Usage(why)) => Answer::Refused(why),
        Broken::Rig(error) => Answer::Stuck(error.to_string()),
    });
    link.say(&answer);
    while link.line().is_ok() {}
    end_at_once();
    Ok(())
}

fn carry_out(order: &Order, link: &mut Link) -> Result<Answer, Broken> {
    let plan = &order.plan;
    let planned = planned(order)?;
    if let Some(wait) = waiting(order) {
        told_to_go(link)?;
        return match wait.measured(plan, link) {
            Err(Broken::Contract(why)) => Ok(Answer::Measured(Box::new(RigOutcome {
                failure: Some(why),
                ..RigOutcome::default()
            }))),
            measured => Ok(Answer::Measured(Box::new(measured?))),
        };
    }
    let mut bench = Bench::of(plan, order.task.scheduler(), link)?;
    told_to_go(bench.link)?;
    match &order.task {
        Task::Probe { .. } => {
            bench.probe()?;
            Ok(Answer::Probed)
        }
        Task::Trial(spec) => {
            let outcome = measured(plan, spec, planned.as_ref(), &mut bench)?;
            Ok(Answer::Measured(Box::new(outcome)))
        }
        Task::Trace { .. } => {
            let graph = known(planned.as_ref())?.shared.clone();
            let grain = plan.graph_grain;
            bench.start(start_traced)?;
            bench.calibrate(grain, true)?;
            let job = Job {
                graph: &graph,
                grain,
                schedule: None,
                timed: true,
            };
            let (times, events) = bench.trace(&job)?;
            bench.stop()?;
            Ok(Answer::Traced {
                jobs: times.into_iter().map(Ran::from).collect(),
                events: events.into_iter().map(Did::from).collect(),
            })
        }
    }
}

fn told_to_go(link: &mut Link) -> Result<(), RunError> {
    link.say(&Answer::Ready);
    if !link.line().is_ok_and(|line| line == GO) {
        let why = "the rig does not let its process go on; this is a defect of Plimsoll";
        return Err(RunError::Stuck(why.to_owned()));
    }
    Ok(())
}

/// The trial of waiting that an order is for, if it is.
fn waiting(order: &Order) -> Option<Wait<'_>> {
    let Task::Trial(spec) = &order.task else {
        return None;
    };
    match &spec.setting {
        RigSetting::Wait {
            policy,
            gaps,
            mean_gap,
        } => Some(Wait {
            policy,
            gaps: *gaps,
            mean_gap: *mean_gap,
            window: spec.window,
            seed: spec.seed,
        }),
        _ => None,
    }
}

/// What a trial measures; how its scheduler broke its contract is a part of that.
fn measured(
    plan: &RigPlan,
    spec: &TrialSpec<RigSetting>,
    planned: Option<&Planned>,
    bench: &mut Bench<'_>,
) -> Result<RigOutcome, Broken> {
    let mut out = RigOutcome::default();
    let ended = bench.start(start).and_then(|()| {
        let mut series = RunSeries {
            plan,
            bench,
            planned,
            spec,
            out: &mut out,
        };
        series.run()
    });
    match ended.and_then(|()| bench.stop()) {
        Ok(()) => Ok(out),
        Err(Broken::Contract(why)) => {
            out.failure = Some(why);
            Ok(out)
        }
        Err(error) => Err(error),
    }
}

/// The graph of a task that has one.
fn planned(order: &Order) -> Result<Option<Planned>, RunError> {
    let plan = &order.plan;
    let graph = match &order.task {
        Task::Trace { .. } => &plan.graph,
        Task::Trial(spec) => match spec.setting {
            RigSetting::Break { .. } => &plan.graph,
            RigSetting::Steady { .. } => &plan.steady_graph,
            _ => return Ok(None),
        },
        Task::Probe { .. } => return Ok(None),
    };
    let planned = Planned::of(graph, plan);
    planned
        .map(Some)
        .map_err(|e| RunError::Usage(e.to_string()))
}
