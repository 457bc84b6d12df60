//! The runs of a trial, in the process of its scheduler: the scheduler over and over,
//! between two calibrations.

use super::super::graphs::{Planned, grain_graph, grain_jobs};
use super::super::outcome::{RigOutcome, RigSetting};
use super::super::plan::{RigPlan, peak_sizes};
use super::bench::{Bench, Broken, Job};
use plimsoll_engine::RunError;
use plimsoll_engine::order::visits;
use plimsoll_graph::{JobGraph, Schedule, ShapeError};
use plimsoll_host::{Root, own_resident_memory};
use plimsoll_model::TrialSpec;
use plimsoll_study::rig::breaking;
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The pause before a peak, after which workers sleep.
const PAUSE: Duration = Duration::from_millis(10);

/// How often an idle trial says that it goes on, at most.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The runs of one trial.
pub(super) struct RunSeries<'t, 'b> {
    pub(super) plan: &'t RigPlan,
    pub(super) bench: &'t mut Bench<'b>,
    /// Of the parts that have a graph.
    pub(super) planned: Option<&'t Planned>,
    pub(super) spec: &'t TrialSpec<RigSetting>,
    pub(super) out: &'t mut RigOutcome,
}

impl RunSeries<'_, '_> {
    pub(super) fn run(&mut self) -> Result<(), Broken> {
        match &self.spec.setting {
            RigSetting::Peak { grain, .. } => self.peaks(*grain),
            RigSetting::Grain { dependencies, .. } => self.grains(*dependencies),
            RigSetting::Break { stress_ppm, .. } => self.schedules(f64::from(*stress_ppm) / 1e6),
            RigSetting::Steady { .. } => self.steady(),
            RigSetting::Idle { .. } => self.idle(),
            // It has no jobs with work: `wait` carries it out.
            RigSetting::Wait { .. } => Ok(()),
        }
    }

    fn peaks(&mut self, grain: Duration) -> Result<(), Broken> {
        let sizes = peak_sizes(grain, self.plan.workers()).into_iter();
        let graphs: Result<Vec<_>, _> = sizes.map(|jobs| grain_graph(jobs, 0)).collect();
        let graphs: Vec<Arc<JobGraph>> = built(graphs)?.into_iter().map(Arc::new).collect();
        self.calibrated(grain, |series| {
            series.rounds(1, &graphs, |series, graph| {
                std::thread::sleep(PAUSE);
                series.once(graph, grain, None, true)
            })?;
            series.account(graphs.last(), grain)
        })
    }

    /// Where the workers' time goes while they have work.
    fn account(&mut self, graph: Option<&Arc<JobGraph>>, grain: Duration) -> Result<(), Broken> {
        let Some(graph) = graph else {
            return Ok(());
        };
        let job = Job {
            graph,
            grain,
            schedule: None,
            timed: false,
        };
        self.bench.account(&job, self.out)
    }

    fn grains(&mut self, dependencies: u32) -> Result<(), Broken> {
        let scheduler = self.spec.setting.scheduler();
        let workers = self.plan.workers();
        let of = |grain: &Duration| {
            let jobs = grain_jobs(scheduler, *grain, workers);
            Ok((*grain, Arc::new(grain_graph(jobs, dependencies)?)))
        };
        let graphs = built(
            self.plan
                .grains
                .iter()
                .map(of)
                .collect::<Result<Vec<_>, _>>(),
        )?;
        let longest = self.plan.grains.iter().max().copied().unwrap_or_default();
        self.calibrated(longest, |series| {
            series.rounds(1, &graphs, |series, (grain, graph)| {
                series.once(graph, *grain, None, false)
            })
        })
    }

    fn schedules(&mut self, stress: f64) -> Result<(), Broken> {
        let grain = self.plan.graph_grain;
        let planned = known(self.planned)?;
        let schedule = planned.schedule(grain, stress).map_err(|e| usage(&e))?;
        self.again_and_again(&planned.shared, Some(&schedule))
    }

    fn steady(&mut self) -> Result<(), Broken> {
        let planned = known(self.planned)?;
        let before = own_resident_memory(&Root::machine());
        self.again_and_again(&planned.shared, None)?;
        let after = own_resident_memory(&Root::machine());
        self.out.memory_bytes = before.zip(after).map(|(a, b)| (a.0, b.0));
        Ok(())
    }

    fn again_and_again(
        &mut self,
        graph: &Arc<JobGraph>,
        schedule: Option<&Schedule>,
    ) -> Result<(), Broken> {
        let grain = self.plan.graph_grain;
        self.calibrated(grain, |series| {
            series.rounds(breaking::RUNS, &[()], |series, ()| {
                series.once(graph, grain, schedule, true)
            })
        })
    }

    fn idle(&mut self) -> Result<(), Broken> {
        let ends = Instant::now() + self.spec.window;
        let before = process_cpu_time();
        while Instant::now() < ends {
            self.bench.link.goes_on();
            std::thread::sleep(LOOK_EVERY.min(ends.saturating_duration_since(Instant::now())));
        }
        let used = process_cpu_time().saturating_sub(before);
        self.out.idle_cpu_ns = Some(used.as_nanos() as u64);
        Ok(())
    }

    /// `runs` between two calibrations of a job of this length.
    fn calibrated(
        &mut self,
        grain: Duration,
        runs: impl FnOnce(&mut Self) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        let first = self.bench.calibrate(grain, true)?;
        self.out.calibrations.push(first);
        runs(self)?;
        let last = self.bench.calibrate(grain, false)?;
        self.out.calibrations.push(last);
        Ok(())
    }

    /// Does `each` of the items in shuffled, then mirrored order, round after round, for
    /// the length of the window, and at least so many rounds.
    fn rounds<T: Clone>(
        &mut self,
        least: u32,
        items: &[T],
        mut each: impl FnMut(&mut Self, &T) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        let ends = Instant::now() + self.spec.window;
        for round in 0.. {
            for item in visits(items, self.spec.seed, round) {
                each(self, &item)?;
            }
            if round + 1 >= least && Instant::now() >= ends {
                break;
            }
        }
        Ok(())
    }

    fn once(
        &mut self,
        graph: &Arc<JobGraph>,
        grain: Duration,
        schedule: Option<&Schedule>,
        timed: bool,
    ) -> Result<(), Broken> {
        let job = Job {
            graph,
            grain,
            schedule,
            timed,
        };
        self.bench.run(&job, self.out)?;
        Ok(())
    }
}

fn built<T>(graphs: Result<T, ShapeError>) -> Result<T, RunError> {
    graphs.map_err(|error| RunError::Usage(error.to_string()))
}

fn usage(error: &dyn std::error::Error) -> RunError {
    RunError::Usage(error.to_string())
}

/// CPU time of this process so far.
fn process_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

/// The graph of a task that has one.
pub(super) fn known(planned: Option<&Planned>) -> Result<&Planned, RunError> {
    let why = "the plan has no graph for this trial; this is a defect of Plimsoll";
    planned.ok_or_else(|| RunError::Stuck(why.to_owned()))
}
