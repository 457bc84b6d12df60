//! The schedulers under test, started once, and a run on one of them.

use super::super::graphs::lateness;
use super::super::outcome::{
    AccountFigures, Calibrated, ConcurrencyCurve, DeadlineFigures, RigOutcome, RunFigures,
    TimedFigures,
};
use super::super::plan::RigPlan;
use plimsoll_engine::RunError;
use plimsoll_graph::{JobGraph, Schedule};
use plimsoll_model::CpuSet;
use plimsoll_schedulers::{
    Account, Calibration, Choice, ExecuteError, JobRun, JobTime, Kernel, Neighbours, Scheduler,
    SchedulerError, Timeline, Work, calibrate, execute, start, start_accounted,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Points of the curve of concurrency over time that a trial keeps.
const PARTS: usize = 100;

/// How long a scheduler runs for the account of its workers' time, at least.
const ACCOUNTED: Duration = Duration::from_millis(100);

/// Why the runs of a trial ended early.
pub(super) enum Broken {
    /// The user stopped the run.
    Stopped,
    /// The scheduler broke its contract, in words.
    Contract(String),
    /// The run cannot go on.
    Rig(RunError),
}

impl From<RunError> for Broken {
    fn from(error: RunError) -> Broken {
        Broken::Rig(error)
    }
}

/// A usage error of the flag `--scheduler` or `--kernel`, or the machine's.
pub(super) fn refused(error: &SchedulerError) -> RunError {
    RunError::Usage(error.to_string())
}

fn started(name: &str, cpus: &CpuSet) -> Result<Box<dyn Scheduler>, RunError> {
    let choice: Choice = name.parse().map_err(|e| refused(&e))?;
    start(&choice, cpus).map_err(|e| refused(&e))
}

/// The schedulers that still keep their contract, by name, and the work of jobs.
pub(super) struct Bench {
    schedulers: BTreeMap<String, Box<dyn Scheduler>>,
    work: Arc<Work>,
    cpus: CpuSet,
    /// By which the rounds of jobs are chosen.
    calibration: Option<Calibration>,
    /// A scheduler whose threads did not end.
    left_behind: Option<String>,
}

/// What is run.
pub(super) struct Task<'a> {
    pub(super) graph: &'a Arc<JobGraph>,
    pub(super) grain: Duration,
    pub(super) schedule: Option<&'a Schedule>,
    /// Whether the start and end of each job are kept.
    pub(super) timed: bool,
}

impl Bench {
    /// # Errors
    /// A scheduler or a kernel that does not exist or cannot be started.
    pub(super) fn start(plan: &RigPlan) -> Result<Bench, RunError> {
        let cpus = &plan.run.cpus.service;
        let mut schedulers = BTreeMap::new();
        for name in &plan.schedulers {
            schedulers.insert(name.clone(), started(name, cpus)?);
        }
        let kernel: Kernel = plan.kernel.parse().map_err(|e| refused(&e))?;
        Ok(Bench {
            schedulers,
            work: Arc::new(Work::new(kernel, cpus.len())),
            cpus: cpus.clone(),
            calibration: None,
            left_behind: None,
        })
    }

    /// # Errors
    /// Threads were left behind, which may take CPU time from whatever is measured next.
    pub(super) fn check_alone(&self) -> Result<(), RunError> {
        match &self.left_behind {
            None => Ok(()),
            Some(name) => Err(RunError::Stuck(format!(
                "the threads of {name} do not end and would disturb the trials of others; these are made when the run is resumed"
            ))),
        }
    }

    /// Measures how long a job of this length takes; the first calibration of a trial
    /// decides how many rounds its jobs do.
    pub(super) fn calibrate(&mut self, grain: Duration, first: bool) -> Result<Calibrated, Broken> {
        let speed = |neighbours| {
            let found = calibrate(&self.work, &self.cpus, neighbours);
            found.map_err(|e| Broken::Rig(refused(&e)))
        };
        let alone = speed(Neighbours::Idle)?;
        let busy = speed(Neighbours::Busy)?;
        if first || self.calibration.is_none() {
            self.calibration = Some(busy);
        }
        let set = self.calibration.unwrap_or(busy);
        let grain_ns = grain.as_nanos() as f64;
        Ok(Calibrated {
            grain_ns: grain.as_nanos() as u64,
            alone_ns: grain_ns * alone.inflation_over(&set),
            all_busy_ns: grain_ns * busy.inflation_over(&set),
        })
    }

    /// Runs a task for some time on a copy of the scheduler that keeps an account of its
    /// workers' time, if it can: that reads the clock, so other figures come from runs without.
    pub(super) fn account(
        &mut self,
        scheduler: &str,
        task: &Task<'_>,
        out: &mut RigOutcome,
        stop: &AtomicBool,
    ) -> Result<(), Broken> {
        let choice: Choice = scheduler.parse().map_err(|e| refused(&e))?;
        if !matches!(choice, Choice::Plimsoll) {
            return Ok(());
        }
        let accounted = start_accounted(&choice, &self.cpus).map_err(|e| refused(&e))?;
        let Some(before) = sum(&accounted.accounts()) else {
            return Ok(());
        };
        let plain = self.schedulers.insert(scheduler.to_owned(), accounted);
        let mut apart = RigOutcome::default();
        let ends = Instant::now() + ACCOUNTED;
        let mut ran = Ok(());
        while ran.is_ok() && Instant::now() < ends {
            ran = self.run(scheduler, task, &mut apart, stop).map(drop);
        }
        out.proof.nodes_checked += apart.proof.nodes_checked;
        out.proof.violated += apart.proof.violated;
        ran?;
        let accounted = self.schedulers.remove(scheduler);
        let after = accounted.and_then(|own| sum(&own.accounts()));
        out.account = after.map(|after| after.since(&before));
        if let Some(plain) = plain {
            self.schedulers.insert(scheduler.to_owned(), plain);
        }
        Ok(())
    }

    /// Ends all schedulers but one, so that nothing but it is idle. Others are started
    /// again when they run next.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn only(&mut self, scheduler: &str) -> Result<(), RunError> {
        self.schedulers.retain(|name, _| name == scheduler);
        self.start_one(scheduler)
    }

    /// Starts a scheduler if it does not run.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start_one(&mut self, scheduler: &str) -> Result<(), RunError> {
        if !self.schedulers.contains_key(scheduler) {
            let started = started(scheduler, &self.cpus)?;
            self.schedulers.insert(scheduler.to_owned(), started);
        }
        Ok(())
    }

    /// Runs a task and adds its figures and proof to the outcome of a trial; the times
    /// of its jobs, if it was timed.
    pub(super) fn run(
        &mut self,
        scheduler: &str,
        task: &Task<'_>,
        out: &mut RigOutcome,
        stop: &AtomicBool,
    ) -> Result<Vec<JobTime>, Broken> {
        let Some((taken, calibration)) = self.schedulers.remove(scheduler).zip(self.calibration)
        else {
            let why = format!("{scheduler} does not run; this is a defect of Plimsoll");
            return Err(Broken::Rig(RunError::Stuck(why)));
        };
        let work = Arc::clone(&self.work).node_work(calibration, task.grain);
        let releases = task.schedule.map(|s| s.releases().to_vec());
        let jobs = JobRun::new(Arc::clone(task.graph), work, releases, task.timed);
        let jobs = Arc::new(jobs);
        let ran = execute(taken, &jobs, stop).map_err(|error| {
            if matches!(error, ExecuteError::Stalled { .. }) {
                self.left_behind = Some(scheduler.to_owned());
            }
            broken(error, out)
        })?;
        self.schedulers.insert(scheduler.to_owned(), ran.scheduler);
        out.proof.nodes_checked += ran.proof.nodes_checked;
        let graph = task.graph;
        let times = jobs.times();
        out.runs.push(RunFigures {
            jobs: graph.count(),
            weight: graph.nodes().map(|n| u64::from(graph.weight(n))).sum(),
            grain_ns: task.grain.as_nanos() as u64,
            elapsed_ns: ran.elapsed.as_nanos() as u64,
            timed: None,
            deadlines: task.schedule.map(|schedule| kept(schedule, &times)),
        });
        if let Some(timeline) = Timeline::of(&times, self.cpus.len())
            && let Some(run) = out.runs.last_mut()
        {
            run.timed = Some(timed(&timeline));
            out.concurrency = Some(ConcurrencyCurve {
                ends_ns: timeline.last_end_ns,
                parts: timeline.concurrency_in_parts(PARTS),
            });
        }
        Ok(times)
    }
}

/// The time of all workers; `None` without an account.
fn sum(accounts: &[Account]) -> Option<AccountFigures> {
    let sum = |of: fn(&Account) -> u64| accounts.iter().map(of).sum();
    (!accounts.is_empty()).then(|| AccountFigures {
        wall_ns: sum(|a| a.wall_ns),
        work_ns: sum(|a| a.work_ns),
        dispatch_ns: sum(|a| a.dispatch_ns),
        steal_ns: sum(|a| a.steal_ns),
        spin_ns: sum(|a| a.spin_ns),
        parked_ns: sum(|a| a.parked_ns),
    })
}

/// What a failed run says of its scheduler.
fn broken(error: ExecuteError, out: &mut RigOutcome) -> Broken {
    match error {
        ExecuteError::Stopped => Broken::Stopped,
        ExecuteError::Spawn(_) => Broken::Rig(RunError::Stuck(error.to_string())),
        ExecuteError::Violated(ref proof) => {
            out.proof.nodes_checked += proof.nodes_checked;
            out.proof.violated += proof.violated;
            Broken::Contract(error.to_string())
        }
        error => Broken::Contract(error.to_string()),
    }
}

fn kept(schedule: &Schedule, times: &[JobTime]) -> DeadlineFigures {
    let ends = times.iter().map(|time| (time.job, time.end_ns));
    let (missed, worst_ns) = lateness(schedule.releases(), ends);
    DeadlineFigures {
        schedule_ns: schedule.length().as_nanos() as u64,
        missed,
        worst_ns,
    }
}

fn timed(timeline: &Timeline) -> TimedFigures {
    TimedFigures {
        first_start_ns: timeline.first_start_ns,
        covered_ns: timeline.covered_ns(),
        busy_ns: timeline.busy_ns,
        all_busy_ns: timeline.all_busy_ns,
        impeded_ns: timeline.impeded_ns,
    }
}
