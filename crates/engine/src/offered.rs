//! A trial under an offered load, from its start to its verdict.
//!
//! ```text
//! start | warm-up until steady | window | drain | end
//!                              ^        ^
//!                              sensors are read at both edges
//!                              and, but for the clock, once a second between
//! ```

use crate::background::{BackgroundJob, NoJob};
use crate::conduct::{RunError, Runner};
use crate::observer::{Observer, ObserverCost};
use crate::restart::Restart;
use crate::sensors::{OpenSensors, TrialSensors};
use crate::validity::{self, Allowance};
use plimsoll_host::{Reading, Window};
use plimsoll_load::{Load, Offer, Running, Tick, WindowTimes};
use plimsoll_model::{
    Arrivals, Bounds, CpuUse, Phase, Plan, Rate, Second, StepPlan, SteppedRate, Trial,
    TrialSetting, TrialSpec,
};
use plimsoll_study::steady;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// How often the load and the sensors are looked at in a window.
const SECOND: Duration = Duration::from_secs(1);

/// A rest of a window that is shorter belongs to the look before it: it would be
/// a sample of nothing.
const STUB: Duration = Duration::from_millis(500);

/// How often throughput is looked at while the load warms up.
const WARM_UP_TICK: Duration = Duration::from_millis(100);

/// How long a raised stop may stay unseen.
const STOP_GRAIN: Duration = Duration::from_millis(50);

/// How long the last answers of a window are waited for: long against any
/// latency that a promise is made about, short against a trial.
const DRAIN: Duration = Duration::from_secs(1);

/// Runs idle trials and trials at a rate, with a job next to the service.
pub struct OfferedLoad<'a, S, O> {
    arrivals: Arrivals,
    bounds: Bounds,
    steps: Option<StepPlan>,
    load: Box<dyn Load>,
    /// The same service on one thread of each core.
    one_thread: Option<Box<dyn Load>>,
    sensors: TrialSensors,
    restart: Option<Restart>,
    job: Box<dyn BackgroundJob<S, O> + 'a>,
}

impl<S: TrialSetting> OfferedLoad<'_, S, ()> {
    /// A runner of `plan`'s trials that offers to `load`.
    pub fn new(plan: &Plan, load: Box<dyn Load>, sensors: TrialSensors) -> Self {
        OfferedLoad {
            arrivals: plan.arrivals,
            bounds: plan.run.bounds,
            steps: None,
            restart: plan.restart.as_deref().map(Restart::new),
            load,
            one_thread: None,
            sensors,
            job: Box::new(NoJob),
        }
    }

    /// The same with the service on one thread of each core, for the trials
    /// that ask for it.
    pub fn with_one_thread<L: Load + 'static>(self, load: Option<L>) -> Self {
        OfferedLoad {
            one_thread: load.map(|load| -> Box<dyn Load> { Box::new(load) }),
            ..self
        }
    }

    /// The same with a job next to the service, and a load that steps.
    pub fn with_job<'b, O>(
        self,
        job: Box<dyn BackgroundJob<S, O> + 'b>,
        steps: Option<StepPlan>,
    ) -> OfferedLoad<'b, S, O> {
        OfferedLoad {
            job,
            steps,
            arrivals: self.arrivals,
            bounds: self.bounds,
            load: self.load,
            one_thread: self.one_thread,
            sensors: self.sensors,
            restart: self.restart,
        }
    }
}

impl<S: TrialSetting, O: Default> OfferedLoad<'_, S, O> {
    /// The service where a trial of this phase wants it.
    fn placed(&mut self, phase: Phase) -> Result<&mut dyn Load, RunError> {
        match (phase, &mut self.one_thread) {
            (Phase::OneThreadPerCore, Some(load)) => Ok(load.as_mut()),
            (Phase::OneThreadPerCore, None) => Err(RunError::Stuck(
                "this service cannot be placed on one thread of each core; this is a defect of \
                 Plimsoll"
                    .to_owned(),
            )),
            _ => Ok(self.load.as_mut()),
        }
    }

    fn at_rate(
        &mut self,
        spec: &TrialSpec<S>,
        rate: Rate,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<Trial<S, O>>, RunError> {
        let mut trial = Trial::begun(spec.clone(), unix_ms());
        let offer = Offer {
            rate,
            arrivals: self.arrivals,
            seed: spec.seed,
            drain: DRAIN,
            steps: self.stepped(spec, rate),
        };
        let mut running = self.placed(spec.phase)?.start(&offer)?;
        let began = Instant::now();
        let threads = running.threads();
        let mut sensors = self.sensors.open(&threads.generator, &threads.service)?;
        let Some(warm_up) = warm_up(running.as_mut(), spec, began, stop) else {
            return Ok(None);
        };
        trial.steady = warm_up.steady;
        observer.second(&warm_up.second);
        trial.seconds.push(warm_up.second);

        let window = running.open_window(spec.window);
        if !sleep_until(window.opens, stop) {
            return Ok(None);
        }
        trial.warm_up = window.opens - began;
        self.job.window_opens()?;
        let cost = ObserverCost::start(observer);
        let mut record = |second: Second| {
            observer.second(&second);
            trial.seconds.push(second);
        };
        // Steps lie at fixed times, which a window of another length would move.
        let lasts = || self.steps.is_none() && self.job.is_unfinished();
        let edges = by_seconds(
            running.as_mut(),
            &mut sensors,
            window,
            began,
            &mut record,
            &lasts,
            stop,
        )?;
        let Some((first, last, closed)) = edges else {
            return Ok(None);
        };
        trial.window = closed - window.opens;
        self.job.window_closes()?;
        let observer_cpu = cost.end(observer);
        // The load continues while the job's outcome is waited for.
        let Some(outcome) = self.job.outcome(stop)? else {
            return Ok(None);
        };
        trial.outcome = outcome;
        trial.work = running.finish()?;
        // Not before: finding the service's processes takes long, and requests
        // of the window may have been in flight.
        fill(&mut trial, sensors.whole(&first, &last)?);
        trial.machine.view_cpu = observer_cpu;
        if trial.work.completed == 0 && trial.work.errors.total() > 0 {
            // Nothing but failures: a trial of a service that is gone says
            // nothing about the level.
            self.load.check()?;
        }
        trial.took = began.elapsed();
        trial.verdict = self.judge(&trial);
        Ok(Some(trial))
    }

    /// The steps of a trial of a level, where the plan asks for some. They lie
    /// at fixed times of the load, and the window opens within the first low
    /// phase.
    fn stepped(&self, spec: &TrialSpec<S>, rate: Rate) -> Option<SteppedRate> {
        let step = self.steps.as_ref()?;
        let is_level = matches!(spec.phase, Phase::Level { .. });
        is_level.then(|| step.offered(rate, spec.warm_up.max))
    }

    fn judge(&self, trial: &Trial<S, O>) -> plimsoll_model::Verdict {
        let allowance = self.job.allowance(&trial.spec, &trial.outcome);
        validity::judge(&self.bounds, trial, allowance)
    }

    /// No load but the job: the sensors, before and after.
    fn without_load(
        &mut self,
        spec: &TrialSpec<S>,
        observer: &dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<Trial<S, O>>, RunError> {
        let measured = idle(&self.sensors, spec, self.job.as_mut(), observer, stop)?;
        Ok(measured.map(|mut trial| {
            trial.verdict = self.judge(&trial);
            trial
        }))
    }
}

impl<S: TrialSetting, O: Default> Runner<S, O> for OfferedLoad<'_, S, O> {
    fn run(
        &mut self,
        spec: &TrialSpec<S>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<Trial<S, O>>, RunError> {
        if let Some(restart) = &mut self.restart {
            restart.before(spec, self.load.as_mut())?;
        }
        self.job.starts(spec)?;
        let run = match spec.setting.rate() {
            Some(rate) => self.at_rate(spec, rate, observer, stop),
            None => self.without_load(spec, observer, stop),
        };
        // In any case, and before anything is said of the trial.
        let ended = self.job.ends();
        let run = run.or_else(|error| {
            // What clients see tells more about a service that is gone.
            self.load.check()?;
            Err(error)
        })?;
        ended?;
        Ok(run)
    }
}

/// The id of the calling thread, for [`measure`].
pub fn this_thread() -> u32 {
    rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .unsigned_abs()
}

/// A trial without offered load: `work` runs between two readings of the
/// sensors, of which `threads` are the service's, and returns whether it came to
/// its end.
///
/// # Errors
/// Those of `work`, or the machine cannot be read.
pub fn measure<S: TrialSetting, O: Default>(
    bounds: &Bounds,
    (sensors, threads): (&TrialSensors, &[u32]),
    spec: &TrialSpec<S>,
    observer: &dyn Observer,
    work: impl FnOnce(&mut Trial<S, O>) -> Result<bool, RunError>,
) -> Result<Option<Trial<S, O>>, RunError> {
    let mut trial = Trial::begun(spec.clone(), unix_ms());
    let began = Instant::now();
    let mut sensors = sensors.open(&[], threads)?;
    let before = sensors.read_edge()?;
    let cost = ObserverCost::start(observer);
    let opened = Instant::now();
    if !work(&mut trial)? {
        return Ok(None);
    }
    trial.window = opened.elapsed();
    let after = sensors.read_edge()?;
    let observer_cpu = cost.end(observer);
    fill(&mut trial, sensors.whole(&before, &after)?);
    trial.machine.view_cpu = observer_cpu;
    trial.steady = true;
    trial.took = began.elapsed();
    trial.verdict = validity::judge(bounds, &trial, Allowance::default());
    Ok(Some(trial))
}

/// A trial of the idle machine, judged by `bounds`.
pub fn idle_trial<S: TrialSetting, O: Default>(
    bounds: &Bounds,
    sensors: &TrialSensors,
    spec: &TrialSpec<S>,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Option<Trial<S, O>>, RunError> {
    let trial: Option<Trial<S, ()>> = idle(sensors, spec, &mut NoJob, observer, stop)?;
    Ok(trial.map(|trial| {
        let verdict = validity::judge(bounds, &trial, Allowance::default());
        Trial {
            verdict,
            ..trial.with_outcome(O::default())
        }
    }))
}

/// Looks at the load and at the sensors at both edges of a window and once a
/// second between them, for as long as was asked and then while it `lasts`; what
/// the sensors read at the edges, and when it closed. `None` when stopped.
fn by_seconds(
    running: &mut dyn Running,
    sensors: &mut OpenSensors,
    window: WindowTimes,
    began: Instant,
    record: &mut dyn FnMut(Second),
    lasts: &dyn Fn() -> bool,
    stop: &AtomicBool,
) -> Result<Option<(Reading, Reading, Instant)>, RunError> {
    running.tick();
    let first = sensors.read_edge()?;
    let mut last = first.clone();
    let (mut from, mut closes) = (window.opens, window.closes);
    while from < closes {
        // With so much to go that nobody has seen it close.
        while closes - from < SECOND + STUB && lasts() {
            closes = running.extend_window(SECOND);
        }
        let to = match (from + SECOND).min(closes) {
            to if closes - to < STUB => closes,
            to => to,
        };
        if !sleep_until(to, stop) {
            return Ok(None);
        }
        let now = match to == closes {
            true => sensors.read_edge()?,
            false => sensors.read()?,
        };
        let used = sensors.window(&last, &now);
        record(second(running.tick(), &used, from - began, to - from));
        last = now;
        from = to;
    }
    Ok(Some((first, last, closes)))
}

/// The machine without load, but with a job.
fn idle<S: Clone, O: Default>(
    sensors: &TrialSensors,
    spec: &TrialSpec<S>,
    job: &mut dyn BackgroundJob<S, O>,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Option<Trial<S, O>>, RunError> {
    let began = Instant::now();
    let mut trial = Trial::begun(spec.clone(), unix_ms());
    let mut sensors = sensors.open(&[], &[])?;
    let opens = began + spec.warm_up.min;
    if !sleep_until(opens, stop) {
        return Ok(None);
    }
    trial.warm_up = spec.warm_up.min;
    job.window_opens()?;
    let before = sensors.read_edge()?;
    let cost = ObserverCost::start(observer);
    let mut closes = opens + spec.window;
    while Instant::now() < closes {
        if !sleep_until(closes, stop) {
            return Ok(None);
        }
        if job.is_unfinished() {
            closes += SECOND;
        }
    }
    trial.window = closes - opens;
    let after = sensors.read_edge()?;
    job.window_closes()?;
    let observer_cpu = cost.end(observer);
    let Some(outcome) = job.outcome(stop)? else {
        return Ok(None);
    };
    trial.outcome = outcome;
    fill(&mut trial, sensors.whole(&before, &after)?);
    trial.machine.view_cpu = observer_cpu;
    trial.steady = true;
    trial.took = began.elapsed();
    Ok(Some(trial))
}

/// The result of a warm-up.
struct WarmUp {
    steady: bool,
    second: Second,
}

/// Waits until throughput and requests in flight are steady. CPU use is not
/// asked: the kernel counts it in ticks of 4 to 10 ms, too coarse for this.
/// `None` when stopped.
fn warm_up<S>(
    running: &mut dyn Running,
    spec: &TrialSpec<S>,
    began: Instant,
    stop: &AtomicBool,
) -> Option<WarmUp> {
    let (mut throughput, mut in_flight) = (Vec::new(), Vec::new());
    let mut sum = Tick::default();
    let mut at = Duration::ZERO;
    let mut steady = false;
    while at < spec.warm_up.max && !(steady && at >= spec.warm_up.min) {
        at += WARM_UP_TICK;
        if !sleep_until(began + at, stop) {
            return None;
        }
        let tick = running.tick();
        sum.sent += tick.sent;
        sum.completed += tick.completed;
        sum.errors += tick.errors;
        sum.in_flight = tick.in_flight;
        throughput.push(tick.completed as f64);
        in_flight.push(tick.in_flight as f64);
        // Only the second half: the first may well have been unsteady.
        let from =
            (throughput.len() / 2).min(throughput.len().saturating_sub(steady::LEAST_POINTS));
        steady = steady::is_steady(&throughput[from..]) && steady::is_steady(&in_flight[from..]);
    }
    let second = Second {
        measured: false,
        ..second_of(sum, at, at)
    };
    Some(WarmUp { steady, second })
}

fn second(tick: Tick, used: &Window, from: Duration, length: Duration) -> Second {
    let machine = &used.machine;
    Second {
        cpu: machine.service_cpu.as_ref().and_then(CpuUse::busy_share),
        steal: machine.cpu.as_ref().and_then(CpuUse::steal_share),
        ..second_of(tick, from + length, length)
    }
}

fn second_of(tick: Tick, at: Duration, length: Duration) -> Second {
    Second {
        at,
        length,
        measured: true,
        sent: tick.sent,
        completed: tick.completed,
        errors: tick.errors,
        in_flight: tick.in_flight,
        p50: tick.p50,
        p99: tick.p99,
        cpu: None,
        steal: None,
    }
}

/// What the sensors saw between the window's edges.
pub(crate) fn fill<S, O>(trial: &mut Trial<S, O>, used: Window) {
    trial.machine = used.machine;
    trial.service = used.service;
    trial.generator_cpu = used.generator_cpu;
}

/// Sleeps until `when`; `false` as soon as `stop` is raised.
pub fn sleep_until(when: Instant, stop: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let left = when.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(STOP_GRAIN));
    }
}

/// Wall clock, in milliseconds since 1970: a label only.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |d| d.as_millis() as u64)
}
