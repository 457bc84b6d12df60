//! The scheduler under test of this process, and runs on it.

use super::super::graphs::lateness;
use super::super::outcome::{
    AccountFigures, Calibrated, ConcurrencyCurve, DeadlineFigures, RigOutcome, RunFigures,
    TimedFigures,
};
use super::super::plan::RigPlan;
use super::link::Link;
use super::messages::{Answer, Doing};
use plimsoll_engine::RunError;
use plimsoll_graph::{JobGraph, Schedule};
use plimsoll_model::CpuSet;
use plimsoll_schedulers::{
    Account, Calibration, Choice, ExecuteError, JobRun, JobTime, Kernel, LoadError, Neighbours,
    PATIENCE, Scheduler, SchedulerError, Timeline, Work, WorkerEvent, calibrate, call_within,
    execute_while, start, start_accounted,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a scheduler is started.
pub(super) type How = fn(&Choice, &CpuSet) -> Result<Box<dyn Scheduler>, SchedulerError>;

/// Points of the curve of concurrency over time that a trial keeps.
const PARTS: usize = 100;

/// How long a scheduler runs for the account of its workers' time, at least.
const ACCOUNTED: Duration = Duration::from_millis(100);

/// Why the runs of a trial ended early.
pub(super) enum Broken {
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
fn refused(error: &SchedulerError) -> RunError {
    RunError::Usage(error.to_string())
}

/// The scheduler of this process, and the work of jobs.
pub(super) struct Bench<'a> {
    choice: Choice,
    /// While it keeps its contract.
    scheduler: Option<Box<dyn Scheduler>>,
    work: Arc<Work>,
    cpus: CpuSet,
    /// By which the rounds of jobs are chosen.
    calibration: Option<Calibration>,
    pub(super) link: &'a mut Link,
}

/// What is run.
pub(super) struct Job<'a> {
    pub(super) graph: &'a Arc<JobGraph>,
    pub(super) grain: Duration,
    pub(super) schedule: Option<&'a Schedule>,
    /// Whether the start and end of each job are kept.
    pub(super) timed: bool,
}

impl<'a> Bench<'a> {
    /// # Errors
    /// There is no such scheduler or kernel.
    pub(super) fn of(
        plan: &RigPlan,
        scheduler: &str,
        link: &'a mut Link,
    ) -> Result<Bench<'a>, RunError> {
        let cpus = plan.run.cpus.service.clone();
        let kernel: Kernel = plan.kernel.parse().map_err(|e| refused(&e))?;
        Ok(Bench {
            choice: scheduler.parse().map_err(|e| refused(&e))?,
            scheduler: None,
            work: Arc::new(Work::new(kernel, cpus.len())),
            cpus,
            calibration: None,
            link,
        })
    }

    /// Starts the scheduler.
    ///
    /// # Errors
    /// It does not start, or there is none.
    pub(super) fn start(&mut self, how: How) -> Result<(), Broken> {
        self.link.say(&Answer::Doing(Doing::Starting));
        let started = self.started(how)?.map_err(|error| match error {
            SchedulerError::Library(LoadError::Start { why, .. }) => {
                Broken::Contract(format!("it does not start: {why}"))
            }
            error => Broken::Rig(refused(&error)),
        });
        self.scheduler = Some(started?);
        self.link.say(&Answer::Doing(Doing::Measuring));
        Ok(())
    }

    /// Starts and ends it.
    ///
    /// # Errors
    /// As [`Bench::start`]; it is a usage error that it says that it cannot start.
    pub(super) fn probe(&mut self) -> Result<(), Broken> {
        let started = self.started(start)?.map_err(|e| refused(&e))?;
        self.scheduler = Some(started);
        self.stop()
    }

    fn started(&mut self, how: How) -> Result<Result<Box<dyn Scheduler>, SchedulerError>, Broken> {
        let (choice, cpus) = (self.choice.clone(), self.cpus.clone());
        let start = move || how(&choice, &cpus);
        let goes_on = &mut || self.link.goes_on();
        call_within(goes_on, PATIENCE, "start", start).map_err(broken)
    }

    /// Ends the scheduler.
    ///
    /// # Errors
    /// It does not end.
    pub(super) fn stop(&mut self) -> Result<(), Broken> {
        self.link.say(&Answer::Doing(Doing::Stopping));
        let scheduler = self.scheduler.take();
        let goes_on = &mut || self.link.goes_on();
        call_within(goes_on, PATIENCE, "stop", || drop(scheduler)).map_err(broken)
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
        let all_busy_ns = grain_ns * busy.inflation_over(&set);
        Ok(Calibrated {
            grain_ns: grain.as_nanos() as u64,
            alone_ns: grain_ns * alone.inflation_over(&set),
            all_busy_ns,
            all_busy_mean_ns: Some(all_busy_ns * busy.interruption_ratio),
        })
    }

    /// Runs a job for some time on a copy of the scheduler that keeps an account of its
    /// workers' time, if it can: that reads the clock, so other figures come from runs without.
    pub(super) fn account(&mut self, job: &Job<'_>, out: &mut RigOutcome) -> Result<(), Broken> {
        if !matches!(self.choice, Choice::Plimsoll) {
            return Ok(());
        }
        let accounted = self.started(start_accounted)?.map_err(|e| refused(&e))?;
        let Some(before) = sum(&accounted.accounts()) else {
            return Ok(());
        };
        let plain = self.scheduler.replace(accounted);
        let mut apart = RigOutcome::default();
        let ends = Instant::now() + ACCOUNTED;
        let mut ran = Ok(());
        while ran.is_ok() && Instant::now() < ends {
            ran = self.run(job, &mut apart).map(drop);
        }
        out.proof.nodes_checked += apart.proof.nodes_checked;
        out.proof.violated += apart.proof.violated;
        ran?;
        let accounted = std::mem::replace(&mut self.scheduler, plain);
        let after = accounted.and_then(|own| sum(&own.accounts()));
        out.account = after.map(|after| after.since(&before));
        Ok(())
    }

    /// Runs a job and adds its figures and proof to the outcome of a trial; the times
    /// of its nodes, if it was timed.
    pub(super) fn run(
        &mut self,
        job: &Job<'_>,
        out: &mut RigOutcome,
    ) -> Result<Vec<JobTime>, Broken> {
        Ok(self.run_jobs(job, out)?.1)
    }

    /// Runs a job; the times of its nodes, and what the workers did between them if the
    /// scheduler was started to keep that.
    pub(super) fn trace(
        &mut self,
        job: &Job<'_>,
    ) -> Result<(Vec<JobTime>, Vec<WorkerEvent>), Broken> {
        let (jobs, times) = self.run_jobs(job, &mut RigOutcome::default())?;
        let began_on = jobs.began().zip(self.scheduler.as_ref());
        let events = began_on.map(|(began, scheduler)| scheduler.events_since(began));
        Ok((times, events.unwrap_or_default()))
    }

    fn run_jobs(
        &mut self,
        job: &Job<'_>,
        out: &mut RigOutcome,
    ) -> Result<(Arc<JobRun>, Vec<JobTime>), Broken> {
        let Some((taken, calibration)) = self.scheduler.take().zip(self.calibration) else {
            let why = "the scheduler does not run; this is a defect of Plimsoll";
            return Err(Broken::Rig(RunError::Stuck(why.to_owned())));
        };
        let work = Arc::clone(&self.work).node_work(calibration, job.grain);
        let releases = job.schedule.map(|s| s.releases().to_vec());
        let jobs = JobRun::new(Arc::clone(job.graph), work, releases, job.timed);
        let jobs = Arc::new(jobs);
        let goes_on = &mut || self.link.goes_on();
        let ran = execute_while(goes_on, PATIENCE, taken, &jobs).map_err(|error| {
            if let ExecuteError::Violated(proof) = &error {
                out.proof.nodes_checked += proof.nodes_checked;
                out.proof.violated += proof.violated;
            }
            broken(error)
        })?;
        self.scheduler = Some(ran.scheduler);
        self.link.goes_on();
        out.proof.nodes_checked += ran.proof.nodes_checked;
        let graph = job.graph;
        let times = jobs.times();
        out.runs.push(RunFigures {
            jobs: graph.count(),
            weight: graph.nodes().map(|n| u64::from(graph.weight(n))).sum(),
            grain_ns: job.grain.as_nanos() as u64,
            elapsed_ns: ran.elapsed.as_nanos() as u64,
            timed: None,
            deadlines: job.schedule.map(|schedule| kept(schedule, &times)),
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
        Ok((jobs, times))
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

/// What a failed call says of its scheduler.
fn broken(error: ExecuteError) -> Broken {
    match error {
        ExecuteError::Spawn(_) => Broken::Rig(RunError::Stuck(error.to_string())),
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
        all_started_ns: timeline.all_started_ns,
        overlapping: timeline.overlapping,
        covered_ns: timeline.covered_ns(),
        busy_ns: timeline.busy_ns,
        all_busy_ns: timeline.all_busy_ns,
        impeded_ns: timeline.impeded_ns,
    }
}
