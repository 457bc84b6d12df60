//! The runner of the rig: a trial measures one scheduler over and over, between two
//! calibrations.

mod bench;
mod trace;

use super::experiment::RigSite;
use super::graphs::{Planned, grain_graph, grain_jobs};
use super::outcome::{Part, RigOutcome, RigSetting, RigTrial};
use super::plan::{RigPlan, peak_sizes};
use super::prepare::new_file;
use crate::experiment::Machine;
use bench::{Bench, Broken, Task};
use plimsoll_engine::order::visits;
use plimsoll_engine::{
    Observer, RunError, Runner, ServiceTarget, TrialSensors, measure, this_thread,
};
use plimsoll_graph::{JobGraph, Schedule, ShapeError};
use plimsoll_host::{Root, own_resident_memory};
use plimsoll_model::TrialSpec;
use plimsoll_study::rig::breaking;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The pause before a peak, after which workers sleep.
const PAUSE: Duration = Duration::from_millis(10);

/// How often an idle trial looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Carries out the trials of a rig.
pub(super) struct RigRunner<'a> {
    plan: &'a RigPlan,
    root: Root,
    sensors: TrialSensors,
    bench: Bench,
    graphs: Graphs,
    /// A trace that is still to be made.
    trace: Option<File>,
}

/// The graphs of the parts that have one.
struct Graphs {
    broken: Option<Planned>,
    steady: Option<Planned>,
}

impl Graphs {
    fn of(plan: &RigPlan, is_traced: bool) -> Result<Graphs, RunError> {
        let built = |wanted: bool, graph| {
            let built = wanted.then(|| Planned::of(graph, plan)).transpose();
            built.map_err(|e| usage(&e))
        };
        Ok(Graphs {
            broken: built(is_traced || plan.has(Part::Break), &plan.graph)?,
            steady: built(plan.has(Part::Steady), &plan.steady_graph)?,
        })
    }
}

impl<'a> RigRunner<'a> {
    /// Starts the schedulers.
    ///
    /// # Errors
    /// One cannot be started.
    pub(super) fn start(
        plan: &'a RigPlan,
        site: &RigSite,
        machine: &'a Machine,
    ) -> Result<RigRunner<'a>, RunError> {
        let cpus = &plan.run.cpus.service;
        let sensors = TrialSensors::new(
            machine.root.clone(),
            cpus.clone(),
            ServiceTarget::OwnThreads,
        );
        let trace = site.trace.as_deref();
        let trace = trace.map(|path| new_file("--trace", path)).transpose()?;
        Ok(RigRunner {
            plan,
            root: machine.root.clone(),
            sensors,
            bench: Bench::start(plan)?,
            graphs: Graphs::of(plan, trace.is_some())?,
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
        let RigRunner {
            plan,
            root,
            sensors,
            bench,
            graphs,
            trace: untaken,
        } = self;
        bench.check_alone()?;
        if let Some((file, planned)) = untaken.take().zip(graphs.broken.as_ref()) {
            trace::trace(plan, bench, &planned.shared, file, stop)?;
        }
        let sensors = (&*sensors, &[this_thread()][..]);
        measure(
            &plan.run.bounds,
            sensors,
            spec,
            observer,
            |trial: &mut RigTrial| {
                let mut series = RunSeries {
                    plan,
                    root,
                    bench,
                    graphs,
                    spec,
                    stop,
                    out: &mut trial.outcome,
                };
                match series.run() {
                    Ok(()) => Ok(true),
                    Err(Broken::Stopped) => Ok(false),
                    Err(Broken::Contract(why)) => {
                        trial.outcome.failure = Some(why);
                        Ok(true)
                    }
                    Err(Broken::Rig(error)) => Err(error),
                }
            },
        )
    }
}

/// The runs of one trial.
struct RunSeries<'t> {
    plan: &'t RigPlan,
    root: &'t Root,
    bench: &'t mut Bench,
    graphs: &'t Graphs,
    spec: &'t TrialSpec<RigSetting>,
    stop: &'t AtomicBool,
    out: &'t mut RigOutcome,
}

impl RunSeries<'_> {
    fn run(&mut self) -> Result<(), Broken> {
        match &self.spec.setting {
            RigSetting::Peak { grain, .. } => self.peaks(*grain),
            RigSetting::Grain { dependencies, .. } => self.grains(*dependencies),
            RigSetting::Break { stress_ppm, .. } => self.schedules(f64::from(*stress_ppm) / 1e6),
            RigSetting::Steady { .. } => self.steady(),
            RigSetting::Idle { .. } => self.idle(),
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
        let task = Task {
            graph,
            grain,
            schedule: None,
            timed: false,
        };
        let scheduler = self.spec.setting.scheduler();
        self.bench.account(scheduler, &task, self.out, self.stop)
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
        let planned = known(self.graphs.broken.as_ref())?;
        let schedule = planned.schedule(grain, stress).map_err(|e| usage(&e))?;
        self.again_and_again(&planned.shared, Some(&schedule))
    }

    fn steady(&mut self) -> Result<(), Broken> {
        let planned = known(self.graphs.steady.as_ref())?;
        let before = own_resident_memory(self.root);
        self.again_and_again(&planned.shared, None)?;
        let after = own_resident_memory(self.root);
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
        self.bench.only(self.spec.setting.scheduler())?;
        let ends = Instant::now() + self.spec.window;
        let before = process_cpu_time();
        while Instant::now() < ends {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Broken::Stopped);
            }
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
        let scheduler = self.spec.setting.scheduler();
        // Alone: the idle workers of another scheduler may spin.
        self.bench.only(scheduler)?;
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
                if self.stop.load(Ordering::Relaxed) {
                    return Err(Broken::Stopped);
                }
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
        let task = Task {
            graph,
            grain,
            schedule,
            timed,
        };
        let scheduler = self.spec.setting.scheduler();
        self.bench.run(scheduler, &task, self.out, self.stop)?;
        Ok(())
    }
}

fn known(planned: Option<&Planned>) -> Result<&Planned, RunError> {
    let why = "the plan has no graph for this trial; this is a defect of Plimsoll";
    planned.ok_or_else(|| RunError::Stuck(why.to_owned()))
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
