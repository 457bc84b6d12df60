//! The job of a trial: started in its group, measured at the window's edges, ended
//! with all its processes.

use super::arms::{self, Most};
use super::command::{Repeated, Waited};
use super::laws::{self, Holding, Wish};
use super::{SharedGroup, lock};
use crate::experiment::Machine;
use plimsoll_control::{CgroupLayout, Journal, Usage};
use plimsoll_engine::room::memory_beside;
use plimsoll_engine::{BackgroundJob, RunError};
use plimsoll_host::{ProcessStat, Root};
use plimsoll_load::LoadError;
use plimsoll_load::job::Counts;
use plimsoll_model::{
    Arm, CountedJob, CpuTime, Job, JobHeld, JobWork, Share, SideloadPlan, TrialSpec, YieldOutcome,
    YieldSetting,
};
use plimsoll_study::validity::Allowance;
use std::process::{Child, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Starts a new job for each trial.
#[derive(Debug)]
pub(super) struct SideJob<'a> {
    side: &'a SideloadPlan,
    /// Whether the service is in this process.
    serves_here: bool,
    machine: &'a Machine,
    layout: CgroupLayout,
    journal: Journal,
    held: Option<Held>,
}

/// A job in its group.
#[derive(Debug)]
struct Held {
    arm: Arm,
    group: SharedGroup,
    work: Work,
    /// The thread that runs its law, if the arm has one.
    law: Option<Holding>,
    opened: Option<Edge>,
    closed: Option<Edge>,
}

#[derive(Debug)]
enum Work {
    Counted { child: Child, counts: Counts },
    Command(Repeated),
}

/// The job at an edge of the window.
#[derive(Debug, Clone, Copy)]
struct Edge {
    at: Instant,
    bytes: u64,
    cpu: Option<CpuTime>,
    usage: Usage,
}

impl<'a> SideJob<'a> {
    /// The job of `side`, on this machine.
    pub(super) fn new(
        side: &'a SideloadPlan,
        serves_here: bool,
        machine: &'a Machine,
    ) -> Result<SideJob<'a>, RunError> {
        Ok(SideJob {
            side,
            serves_here,
            machine,
            layout: CgroupLayout::find(&machine.root)?.keeping_orphans(),
            journal: machine.journal()?.clone(),
            held: None,
        })
    }

    fn begin(&self, spec: &TrialSpec<YieldSetting>) -> Result<Option<Held>, RunError> {
        let YieldSetting::Beside {
            arm,
            allowed,
            headroom,
            ..
        } = spec.setting
        else {
            return Ok(None);
        };
        if !arm.has_job() {
            return Ok(None);
        }
        let most = Most {
            cpu: allowed,
            memory: memory_beside(&self.machine.root, self.side.headroom),
        };
        let mut group = arms::hold(arm, most, &self.side.cpus, &self.layout, &self.journal)?;
        let wish = Wish {
            arm,
            headroom: headroom.unwrap_or(self.side.headroom),
            allowed: allowed.unwrap_or(Share::ZERO),
            cpus: &self.side.cpus,
            serves_here: self.serves_here,
        };
        let control = arm
            .is_law()
            .then(|| laws::control(&wish, &self.machine.root, &mut group))
            .transpose()
            .map_err(|why| laws::not_held(arm, &why))?;
        let group = Arc::new(Mutex::new(group));
        let hold = |control| Holding::start(arm, control, &group);
        let law = control.map(hold).transpose()?;
        let work = match &self.side.job {
            Job::Counted(job) => self.counted(job, &group)?,
            Job::Command(line) => {
                Work::Command(Repeated::new(line, &self.machine.helpers.gate, &group))
            }
        };
        Ok(Some(Held {
            arm,
            group,
            work,
            law,
            opened: None,
            closed: None,
        }))
    }

    fn counted(&self, job: &CountedJob, group: &SharedGroup) -> Result<Work, RunError> {
        let threads = self.side.cpus.len();
        let counts = Counts::new(threads)?;
        let file = counts.file().map_err(uncounted)?;
        let words = (self.machine.helpers.worker)(job, threads);
        let Some((program, args)) = words.split_first() else {
            return Err(RunError::Stuck(
                "there is no program that does the job; this is a defect of Plimsoll".to_owned(),
            ));
        };
        let child = lock(group).start(&self.machine.helpers.gate, program, args, |command| {
            command
                .stdin(Stdio::piped())
                .stdout(file)
                .stderr(Stdio::null());
        })?;
        Ok(Work::Counted { child, counts })
    }
}

impl Held {
    fn edge(&self, root: &Root) -> Result<Edge, RunError> {
        let bytes = match &self.work {
            Work::Counted { counts, .. } => counts.bytes().map_err(uncounted)?,
            Work::Command(_) => 0,
        };
        let at = Instant::now();
        // A removed group has no counters; the law's thread reports it.
        let usage = lock(&self.group).usage().unwrap_or_default();
        let by_group = usage.cpu;
        let cpu = match &self.work {
            Work::Counted { child, .. } => {
                let stat = ProcessStat::read(root, child.id())?;
                stat.map(|stat| stat.cpu()).or(by_group)
            }
            Work::Command(_) => by_group,
        };
        Ok(Edge {
            at,
            bytes,
            cpu,
            usage,
        })
    }

    /// The work between the window's edges.
    fn done(&self, runs: Option<(u64, Duration)>) -> Option<JobWork> {
        let (opened, closed) = (self.opened?, self.closed?);
        let (done, over) = runs.unwrap_or_else(|| {
            let bytes = closed.bytes.saturating_sub(opened.bytes);
            (bytes, closed.at - opened.at)
        });
        let cpu = closed.cpu.zip(opened.cpu);
        Some(JobWork {
            done,
            over,
            cpu: cpu.map(|(closed, opened)| closed.since(opened)),
            held: self.held(&opened, &closed),
        })
    }

    fn held(&self, opened: &Edge, closed: &Edge) -> JobHeld {
        let by_law = self.law.as_ref().map(|l| l.between(opened.at, closed.at));
        JobHeld {
            throttled: throttled(&opened.usage, &closed.usage),
            ..by_law.unwrap_or_default()
        }
    }

    /// When to give up on its first run.
    fn gives_up_at(&self, timeout: Duration) -> Instant {
        self.opened.map_or_else(Instant::now, |opened| opened.at) + timeout
    }

    /// How long its law has left it next to nothing since the window opened. If no run
    /// has ended then, the law is the cause and the job has not failed.
    fn starved(&self) -> Option<Duration> {
        let (opened, now) = (self.opened?.at, Instant::now());
        let held = self.law.as_ref()?.between(opened, now);
        laws::starves(&held).then(|| now.saturating_duration_since(opened))
    }

    /// Why its law no longer restricts it.
    fn check(&self) -> Result<(), RunError> {
        self.law.as_ref().map_or(Ok(()), Holding::check)
    }

    fn end(self) -> Result<(), RunError> {
        // First, so that the law changes nothing while the job ends.
        drop(self.law);
        let killed = match self.work {
            Work::Counted { mut child, .. } => {
                let killed = lock(&self.group).kill();
                // The result no longer matters.
                let _ = child.wait();
                killed
            }
            Work::Command(repeated) => repeated.end(),
        };
        killed?;
        // No other thread holds the group, so it is undone here.
        if let Some(group) = Arc::into_inner(self.group) {
            let group = group.into_inner().unwrap_or_else(PoisonError::into_inner);
            group.give_back()?;
        }
        Ok(())
    }
}

impl BackgroundJob<YieldSetting, YieldOutcome> for SideJob<'_> {
    fn starts(&mut self, spec: &TrialSpec<YieldSetting>) -> Result<(), RunError> {
        self.ends()?;
        self.held = self.begin(spec)?;
        Ok(())
    }

    fn window_opens(&mut self) -> Result<(), RunError> {
        if let Some(held) = &mut self.held {
            if let Work::Command(repeated) = &mut held.work {
                repeated.start()?;
            }
            held.opened = Some(held.edge(&self.machine.root)?);
        }
        Ok(())
    }

    fn is_unfinished(&self) -> bool {
        self.held.as_ref().is_some_and(|held| match &held.work {
            Work::Counted { .. } => false,
            Work::Command(repeated) => {
                repeated.is_in_first_run()
                    && Instant::now() < held.gives_up_at(self.side.timeout)
                    && repeated.is_held()
            }
        })
    }

    fn window_closes(&mut self) -> Result<(), RunError> {
        let Some(held) = &mut self.held else {
            return Ok(());
        };
        held.check()?;
        if let Work::Counted { child, .. } = &mut held.work
            && let Ok(Some(status)) = child.try_wait()
        {
            return Err(RunError::Stuck(format!(
                "the job {} ended by itself ({status}) beside the service, held by '{}'; look whether \
                 something kills it, such as a memory limit, or whether its files cannot be written",
                self.side.job, held.arm
            )));
        }
        held.closed = Some(held.edge(&self.machine.root)?);
        match &held.work {
            Work::Counted { .. } => Ok(()),
            Work::Command(repeated) => repeated.check_held(),
        }
    }

    fn outcome(&mut self, stop: &AtomicBool) -> Result<Option<YieldOutcome>, RunError> {
        let Some(held) = &mut self.held else {
            return Ok(Some(YieldOutcome::default()));
        };
        let timeout = self.side.timeout;
        let runs = match &held.work {
            Work::Counted { .. } => None,
            Work::Command(repeated) => {
                let waited = repeated.wait(held.gives_up_at(timeout), stop);
                // A job that its law gave up was killed; it has not failed.
                held.check()?;
                match (waited?, held.starved()) {
                    (Waited::Ended(runs, took), _) => Some((runs, took)),
                    (Waited::Stopped, _) => return Ok(None),
                    (Waited::TooLong, Some(waited)) => Some((0, waited)),
                    (Waited::TooLong, None) => return Err(repeated.too_long(timeout, held.arm)),
                }
            }
        };
        Ok(Some(YieldOutcome {
            job: held.done(runs),
        }))
    }

    fn allowance(&self, spec: &TrialSpec<YieldSetting>, outcome: &YieldOutcome) -> Allowance {
        allowance(self.serves_here, &spec.setting, outcome)
    }

    fn ends(&mut self) -> Result<(), RunError> {
        self.held.take().map_or(Ok(()), Held::end)
    }
}

impl Drop for SideJob<'_> {
    fn drop(&mut self) {
        // A failed change stays in the journal; the next start reports it.
        let _ = self.ends();
    }
}

/// The allowance of a trial at `setting`. `serves_here`: the service is in this
/// process.
pub(super) fn allowance(
    serves_here: bool,
    setting: &YieldSetting,
    outcome: &YieldOutcome,
) -> Allowance {
    let YieldSetting::Beside { arm, .. } = setting else {
        return Allowance::default();
    };
    Allowance {
        slip_is_measured: serves_here,
        job_cpu: match arm.has_job() {
            true => outcome.job.and_then(|job| job.cpu),
            false => Some(CpuTime::default()),
        },
    }
}

/// The share of quota periods that were throttled.
fn throttled(opened: &Usage, closed: &Usage) -> Option<Share> {
    let periods = closed.periods?.checked_sub(opened.periods?)?;
    let throttled = closed.throttled?.checked_sub(opened.throttled?)?;
    let of = (periods > 0).then(|| throttled as f64 / periods as f64)?;
    Share::new(of.min(1.0))
}

fn uncounted(source: std::io::Error) -> RunError {
    RunError::Load(LoadError::System {
        what: "the job's work cannot be counted".to_owned(),
        source,
        way_out: "see `ulimit -n` and free memory".to_owned(),
    })
}
