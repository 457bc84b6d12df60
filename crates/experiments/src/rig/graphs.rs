//! The graphs of a plan, and their schedules. Pure: the same plan has the same graphs.

use super::outcome::RigOutcome;
use super::plan::{GraphPlan, RigPlan};
use plimsoll_graph::dot::{self, DotError};
use plimsoll_graph::{
    Generated, JobGraph, ListSchedule, Release, RuleUse, Schedule, ScheduleError, Shape,
    ShapeError, Timing,
};
use plimsoll_model::human_duration;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// What building a graph may take.
const MEMORY_BYTES: u64 = 4 << 30;

/// The longest run of a graph: a trial makes several.
const LONGEST_RUN: Duration = Duration::from_secs(60);

/// How late a job may end, as a share of the schedule's length: what an undisturbed
/// run on a shared machine keeps.
pub(super) const TOLERANCE: f64 = 0.05;

/// From the start of a run to the first start of its schedule: workers that wake late
/// are measured by peaks.
const LEAD: Duration = Duration::from_millis(2);

/// Why the graph of a plan is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum GraphRefused {
    #[error("--graph: {0}")]
    Shape(#[from] ShapeError),
    #[error("--graph {name}: {error}")]
    Dot { name: String, error: DotError },
    #[error(
        "--graph {name}: one run takes {} with jobs of {}, which is more than the {} that it may take; give a shorter --grain or a smaller graph",
        human_duration(*.takes), human_duration(*.grain), human_duration(LONGEST_RUN)
    )]
    TooLong {
        name: String,
        takes: Duration,
        grain: Duration,
    },
}

/// Builds a graph.
///
/// # Errors
/// There is no such shape, it needs too much memory, or the text is no DOT.
fn build(plan: &GraphPlan) -> Result<Generated, GraphRefused> {
    let Some(text) = &plan.dot else {
        return Ok(plan.name.parse::<Shape>()?.build(MEMORY_BYTES)?);
    };
    let imported = dot::read(text).map_err(|error| GraphRefused::Dot {
        name: plan.name.clone(),
        error,
    })?;
    Ok(Generated {
        graph: imported.graph,
        uses: Vec::new(),
    })
}

/// The graph with its feasible schedule.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) shared: Arc<JobGraph>,
    pub(super) uses: Vec<RuleUse>,
    pub(super) list: ListSchedule,
}

impl Planned {
    /// Of the graph that is broken.
    ///
    /// # Errors
    /// It cannot be built, or a run of it takes too long.
    pub(super) fn of(graph: &GraphPlan, plan: &RigPlan) -> Result<Planned, GraphRefused> {
        let generated = build(graph)?;
        let workers = NonZeroU32::new(plan.workers()).unwrap_or(NonZeroU32::MIN);
        let list = ListSchedule::of(&generated.graph, workers);
        let grain = plan.graph_grain;
        let takes = grain.saturating_mul(u32::try_from(list.length()).unwrap_or(u32::MAX));
        match takes <= LONGEST_RUN {
            true => Ok(Planned {
                shared: Arc::new(generated.graph),
                uses: generated.uses,
                list,
            }),
            false => Err(GraphRefused::TooLong {
                name: graph.name.clone(),
                takes,
                grain,
            }),
        }
    }

    pub(super) fn graph(&self) -> &JobGraph {
        &self.shared
    }

    /// The schedule at a stress.
    ///
    /// # Errors
    /// No scheduler can keep it.
    pub(super) fn schedule(&self, grain: Duration, stress: f64) -> Result<Schedule, ScheduleError> {
        let timing = Timing {
            grain,
            stress,
            tolerance: TOLERANCE,
            lead: LEAD,
        };
        Schedule::of(self.graph(), &self.list, &timing)
    }

    /// The highest stress that a schedule exists for.
    pub(super) fn highest_stress(&self) -> f64 {
        Schedule::highest_stress(&self.list, TOLERANCE)
    }
}

/// How many jobs a run of the grain part has: enough for some 10 ms, so that waking
/// the workers is a small part of it.
pub(super) fn grain_jobs(scheduler: &str, grain: Duration, workers: u32) -> u32 {
    // A thread a job: it refuses more than 4096, and takes as long for 2000 as others
    // for many more.
    let most = if scheduler == "threads" {
        2_000
    } else {
        20_000
    };
    let wanted =
        10_000_000 * u64::from(workers) / u64::try_from(grain.as_nanos().max(1)).unwrap_or(1);
    u32::try_from(wanted.clamp(500, most)).unwrap_or(500)
}

/// The graph of the grain part.
pub(super) fn grain_graph(jobs: u32, dependencies: u32) -> Result<JobGraph, ShapeError> {
    let shape = match dependencies {
        0 => Shape::independent(jobs),
        some => Shape::with_dependencies(jobs, some),
    };
    Ok(shape.build(MEMORY_BYTES)?.graph)
}

/// How the jobs kept their releases.
pub(super) fn lateness(releases: &[Release], ends: impl Iterator<Item = (u32, u64)>) -> (u32, i64) {
    let mut missed = 0;
    let mut worst = i64::MIN;
    for (job, end_ns) in ends {
        let deadline = releases.get(job as usize).and_then(|r| r.deadline_ns);
        let Some(deadline) = deadline else { continue };
        let late = end_ns as i64 - deadline as i64;
        missed += u32::from(late > 0);
        worst = worst.max(late);
    }
    (missed, if worst == i64::MIN { 0 } else { worst })
}

impl RigOutcome {
    /// The time of a job of this grain with all CPUs busy between interruptions, as
    /// calibrated around the runs; `None` without a calibration.
    pub(super) fn uninterrupted_ns(&self, grain_ns: u64) -> Option<f64> {
        let each = self.calibrations.iter();
        let ratios: Vec<f64> = each
            .map(|c| c.all_busy_ns / c.grain_ns.max(1) as f64)
            .collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        (!ratios.is_empty()).then_some(mean * grain_ns as f64)
    }
}
