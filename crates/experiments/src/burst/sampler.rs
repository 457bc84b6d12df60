//! Reads the CPU time of the targets every step, in a thread of its own beside the load.

use super::outcome::{BurstOutcome, BurstSetting, CpuLine, Target};
use plimsoll_engine::{BackgroundJob, RunError, ServiceMeter};
use plimsoll_host::{CpuMeter, CpuTimes, HostError, Root};
use plimsoll_load::Threads;
use plimsoll_model::{Bounds, CpuTime, TrialSpec, human_duration};
use plimsoll_study::validity::Allowance;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time lines of one trial after the other.
pub(super) struct TimeLines {
    /// Of each target, in order.
    pub(super) meters: Vec<ServiceMeter>,
    pub(super) step: Duration,
    pub(super) tasks: Tasks,
    /// Whether the target is the hash service: then a worker that wakes up late is what is measured.
    pub(super) serves_here: bool,
    /// The counters of the trial before, of whichever target.
    pub(super) kept: KeptMeters,
    pub(super) sampling: Option<Sampling>,
}

/// Counters between two trials, shared by all targets. A new one for each trial would
/// each time miss up to two clock ticks of threads that have ended.
pub(super) type KeptMeters = Arc<Mutex<Vec<Option<CpuMeter>>>>;

type Meters = Vec<Option<CpuMeter>>;

/// Where the CPU time of all tasks is read, and which time is theirs.
#[derive(Debug, Clone)]
pub(super) struct Tasks {
    pub(super) root: Root,
    pub(super) bounds: Bounds,
}

impl Tasks {
    /// CPU time so far of all tasks of the machine; `None` where that cannot be read.
    fn read(&self) -> Option<Duration> {
        let times = CpuTimes::read(&self.root).ok()??;
        Some(times.all.by_tasks(self.bounds.interrupts).0)
    }
}

/// CPU time so far of all threads of Plimsoll.
fn own() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// The time lines of the targets, of all tasks and of Plimsoll.
#[derive(Debug, Default)]
pub(super) struct Lines {
    targets: Vec<Option<CpuLine>>,
    tasks: CpuLine,
    own: CpuLine,
}

type Sampled = Result<(Lines, Meters), (Duration, HostError)>;

/// A thread that samples until it is dropped.
pub(super) struct Sampling {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Sampled>>,
}

impl Sampling {
    fn start(
        began: Instant,
        step: Duration,
        meters: Meters,
        tasks: Tasks,
    ) -> std::io::Result<Sampling> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("time-line".to_owned())
            .spawn(move || sample(began, step, meters, &tasks, &stopped))?;
        Ok(Sampling {
            stop,
            thread: Some(thread),
        })
    }

    fn finish(mut self) -> Result<Sampled, RunError> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().map(JoinHandle::join);
        let died = || RunError::Stuck("the thread that reads CPU time panicked".to_owned());
        thread.and_then(Result::ok).ok_or_else(died)
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A drop cannot return errors.
            let _ = thread.join();
        }
    }
}

fn sample(
    began: Instant,
    step: Duration,
    mut meters: Meters,
    tasks: &Tasks,
    stop: &AtomicBool,
) -> Sampled {
    let empty = |meter: &Option<CpuMeter>| meter.as_ref().map(|_| CpuLine::default());
    let mut lines = Lines {
        targets: meters.iter().map(empty).collect(),
        ..Lines::default()
    };
    let mut due = Instant::now();
    loop {
        // Read before: the last reading comes after the stop.
        let is_last = stop.load(Ordering::Relaxed);
        for (meter, line) in meters.iter_mut().zip(&mut lines.targets) {
            if let (Some(meter), Some(line)) = (meter, line) {
                let before = began.elapsed();
                let cpu = meter.read().map_err(|error| (before, error))?;
                // The counter was read about half-way.
                line.push((before + began.elapsed()) / 2, cpu.0);
            }
        }
        if let Some(cpu) = tasks.read() {
            lines.tasks.push(began.elapsed(), cpu);
            lines.own.push(began.elapsed(), own());
        }
        if is_last {
            return Ok((lines, meters));
        }
        due += step;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        // Late readings are not made up for.
        due = due.max(Instant::now() - step.min(Duration::from_secs(1)));
    }
}

fn locked(kept: &KeptMeters) -> MutexGuard<'_, Meters> {
    // Counters that a panicked thread leaves are none.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TimeLines {
    fn begin(&mut self, began: Instant, threads: &[u32]) -> Result<(), RunError> {
        let mut kept = std::mem::take(&mut *locked(&self.kept));
        kept.resize_with(self.meters.len(), || None);
        let meters = self.meters.iter().zip(kept);
        let meters = meters.map(|(meter, kept)| meter.go_on(kept, threads));
        let meters = meters.collect::<Result<Vec<_>, RunError>>()?;
        let sampling = Sampling::start(began, self.step, meters, self.tasks.clone());
        self.sampling = Some(sampling.map_err(|error| {
            RunError::Stuck(format!(
                "no thread can be started to read CPU time: {error}; raise the limit on processes \
                 (ulimit -u)"
            ))
        })?);
        Ok(())
    }

    /// A target that is paused serves nothing and burns nothing: no answer.
    fn check(&self) -> Result<(), RunError> {
        for meter in &self.meters {
            if let Some(why) = meter.stopped()? {
                return Err(RunError::Stuck(why));
            }
        }
        Ok(())
    }
}

impl BackgroundJob<BurstSetting, BurstOutcome> for TimeLines {
    fn starts(&mut self, _: &TrialSpec<BurstSetting>) -> Result<(), RunError> {
        self.check()
    }

    fn load_began(&mut self, began: Instant, threads: &Threads) -> Result<(), RunError> {
        self.begin(began, &threads.service)
    }

    fn window_opens(&mut self) -> Result<(), RunError> {
        match self.sampling {
            Some(_) => Ok(()),
            None => self.begin(Instant::now(), &[]),
        }
    }

    fn outcome(&mut self, _: &AtomicBool) -> Result<Option<BurstOutcome>, RunError> {
        let Some(sampling) = self.sampling.take() else {
            return Ok(None);
        };
        let (lines, meters) = sampling.finish()?.map_err(|(at, error)| {
            RunError::Stuck(format!(
                "the CPU time of the service could not be read any more {} after the beginning of \
                 the trial: {error}",
                human_duration(at)
            ))
        })?;
        // That of a target with ended threads has a longer name.
        let counters = meters.iter().flatten().map(CpuMeter::counter);
        let counter = counters.max_by_key(|name| name.len()).map(str::to_owned);
        *locked(&self.kept) = meters;
        Ok(Some(BurstOutcome {
            lines: lines.targets,
            phases: Vec::new(),
            tasks: Some(lines.tasks),
            own: Some(lines.own),
            counter,
        }))
    }

    fn ends(&mut self) -> Result<(), RunError> {
        self.sampling = None;
        self.check()
    }

    fn allowance(&self, spec: &TrialSpec<BurstSetting>, outcome: &BurstOutcome) -> Allowance {
        let own = match spec.setting {
            BurstSetting::Idle => Target::First,
            BurstSetting::Cycle { target, .. } => target,
        };
        let others = outcome.lines.iter().enumerate();
        let others = others.filter(|(at, _)| *at != own.index());
        let used = others.filter_map(|(_, line)| line.as_ref()?.total());
        Allowance {
            slip_is_measured: self.serves_here,
            job_cpu: Some(CpuTime(used.sum())),
        }
    }
}
