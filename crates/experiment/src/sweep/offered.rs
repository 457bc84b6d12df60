//! A trial under an offered load, from its start to its verdict.
//!
//! ```text
//! start | warm-up until steady | window | drain | end
//!                              ^        ^
//!                              sensors are read at both edges
//!                              and, but for the clock, once a second between
//! ```

use super::eyes::{Eyes, OpenEyes};
use super::restart::Restart;
use crate::beside::{Beside, Nothing, Told};
use crate::conduct::{RunError, Runner, ViewCost};
use crate::validity;
use crate::watch::Watch;
use plimsoll_host::{Reading, Window};
use plimsoll_load::{Load, Offer, Running, Tick, WindowTimes};
use plimsoll_model::{
    Arm, CpuUse, Phase, Plan, Rate, Second, Setting, SteppedRate, Trial, TrialSpec,
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

/// Runs idle trials and trials at a rate, with whatever is to run beside them.
pub(crate) struct OfferedLoad<'a> {
    plan: &'a Plan,
    load: Box<dyn Load>,
    /// The same service on one thread of each core.
    one_thread: Option<Box<dyn Load>>,
    eyes: Eyes,
    restart: Option<Restart>,
    beside: Box<dyn Beside + 'a>,
}

impl<'a> OfferedLoad<'a> {
    /// A runner of `plan`'s trials that offers to `load` and sees with `eyes`.
    pub(super) fn new(plan: &'a Plan, load: Box<dyn Load>, eyes: Eyes) -> OfferedLoad<'a> {
        OfferedLoad {
            restart: plan.restart.as_deref().map(Restart::new),
            plan,
            load,
            one_thread: None,
            eyes,
            beside: Box::new(Nothing),
        }
    }

    /// The same with something beside the service.
    pub(crate) fn beside(self, beside: Box<dyn Beside + 'a>) -> OfferedLoad<'a> {
        OfferedLoad { beside, ..self }
    }

    /// The same with the service on one thread of each core, for the trials
    /// that ask for it.
    pub(super) fn with_one_thread<L: Load + 'static>(self, load: Option<L>) -> OfferedLoad<'a> {
        OfferedLoad {
            one_thread: load.map(|load| -> Box<dyn Load> { Box::new(load) }),
            ..self
        }
    }

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
        spec: &TrialSpec,
        rate: Rate,
        watch: &mut dyn Watch,
        stop: &AtomicBool,
    ) -> Result<Option<Trial>, RunError> {
        let mut trial = Trial::begun(spec.clone(), unix_ms());
        let offer = Offer {
            rate,
            arrivals: self.plan.arrivals,
            seed: spec.seed,
            drain: DRAIN,
            steps: stepped(self.plan, spec, rate),
        };
        let mut running = self.placed(spec.phase)?.start(&offer)?;
        let began = Instant::now();
        let threads = running.threads();
        let mut sensors = self.eyes.open(&threads.generator, &threads.service)?;
        let Some(warm_up) = warm_up(running.as_mut(), spec, began, stop) else {
            return Ok(None);
        };
        trial.steady = warm_up.steady;
        watch.second(&warm_up.second);
        trial.seconds.push(warm_up.second);

        let window = running.open_window(spec.window);
        if !sleep_until(window.opens, stop) {
            return Ok(None);
        }
        trial.warm_up = window.opens - began;
        self.beside.window_opens()?;
        let view = ViewCost::from_now(watch);
        let mut told = |second: Second| {
            watch.second(&second);
            trial.seconds.push(second);
        };
        // Steps lie at fixed times, which a window of another length would move.
        let beside = self.beside.as_ref();
        let lasts = || self.plan.step.is_none() && beside.is_unfinished();
        let edges = by_seconds(
            running.as_mut(),
            &mut sensors,
            window,
            began,
            &mut told,
            &lasts,
            stop,
        )?;
        let Some((first, last, closed)) = edges else {
            return Ok(None);
        };
        trial.window = closed - window.opens;
        self.beside.window_closes()?;
        let view_cpu = view.until_now(watch);
        // The load goes on while the job is waited for.
        trial.job = match self.beside.work(stop)? {
            Told::Stopped => return Ok(None),
            Told::Nothing => None,
            Told::Done(work) => Some(work),
        };
        trial.work = running.finish()?;
        // Not before: who serves is looked for at length, and requests of the
        // window may have been under way.
        fill(&mut trial, sensors.whole(&first, &last)?);
        trial.machine.view_cpu = view_cpu;
        if trial.work.completed == 0 && trial.work.errors.total() > 0 {
            // Nothing but failures: a trial of a service that is gone says
            // nothing about the level.
            self.load.check()?;
        }
        trial.took = began.elapsed();
        trial.verdict = validity::judge(self.plan, &trial);
        Ok(Some(trial))
    }
}

impl Runner for OfferedLoad<'_> {
    fn run(
        &mut self,
        spec: &TrialSpec,
        watch: &mut dyn Watch,
        stop: &AtomicBool,
    ) -> Result<Option<Trial>, RunError> {
        if let Some(restart) = &mut self.restart {
            restart.before(spec, self.load.as_mut())?;
        }
        self.beside.starts(spec)?;
        let run = match spec.setting {
            Setting::Offer { rate } => self.at_rate(spec, rate, watch, stop),
            Setting::Beside { rate, arm, .. } if arm != Arm::JobAlone => {
                self.at_rate(spec, rate, watch, stop)
            }
            _ => {
                let beside = self.beside.as_mut();
                idle(self.plan, &self.eyes, spec, beside, watch, stop)
            }
        };
        // In any case, and before anything is said of the trial.
        let ended = self.beside.ends();
        let run = run.or_else(|error| {
            // A service that is gone is better told by what its clients see.
            self.load.check()?;
            Err(error)
        })?;
        ended?;
        Ok(run)
    }
}

/// The steps of a trial of a level, where the plan asks for some. They lie at
/// fixed times of the load, and the window opens within the first low phase.
fn stepped(plan: &Plan, spec: &TrialSpec, rate: Rate) -> Option<SteppedRate> {
    let step = plan.step.as_ref()?;
    let is_level = matches!(spec.phase, Phase::Level { .. });
    is_level.then(|| step.offered(rate, spec.warm_up.max))
}

/// Looks at the load and at the sensors at both edges of a window and once a
/// second between them, for as long as was asked and then while it `lasts`; what
/// the sensors read at the edges, and when it closed. `None` when stopped.
fn by_seconds(
    running: &mut dyn Running,
    sensors: &mut OpenEyes,
    window: WindowTimes,
    began: Instant,
    told: &mut dyn FnMut(Second),
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
        told(second(running.tick(), &used, from - began, to - from));
        last = now;
        from = to;
    }
    Ok(Some((first, last, closes)))
}

/// The machine with no load but what is beside it: the sensors, before and
/// after.
pub(super) fn idle(
    plan: &Plan,
    eyes: &Eyes,
    spec: &TrialSpec,
    beside: &mut dyn Beside,
    watch: &dyn Watch,
    stop: &AtomicBool,
) -> Result<Option<Trial>, RunError> {
    let began = Instant::now();
    let mut trial = Trial::begun(spec.clone(), unix_ms());
    let mut sensors = eyes.open(&[], &[])?;
    let opens = began + spec.warm_up.min;
    if !sleep_until(opens, stop) {
        return Ok(None);
    }
    trial.warm_up = spec.warm_up.min;
    beside.window_opens()?;
    let before = sensors.read_edge()?;
    let view = ViewCost::from_now(watch);
    let mut closes = opens + spec.window;
    while Instant::now() < closes {
        if !sleep_until(closes, stop) {
            return Ok(None);
        }
        if beside.is_unfinished() {
            closes += SECOND;
        }
    }
    trial.window = closes - opens;
    let after = sensors.read_edge()?;
    beside.window_closes()?;
    let view_cpu = view.until_now(watch);
    trial.job = match beside.work(stop)? {
        Told::Stopped => return Ok(None),
        Told::Nothing => None,
        Told::Done(work) => Some(work),
    };
    fill(&mut trial, sensors.whole(&before, &after)?);
    trial.machine.view_cpu = view_cpu;
    trial.steady = true;
    trial.took = began.elapsed();
    trial.verdict = validity::judge(plan, &trial);
    Ok(Some(trial))
}

/// What the warm-up came to.
struct WarmUp {
    steady: bool,
    second: Second,
}

/// Waits until throughput and requests in flight are steady. CPU use is not
/// asked: the kernel counts it in ticks of 4 to 10 ms, too coarse for this.
/// `None` when stopped.
fn warm_up(
    running: &mut dyn Running,
    spec: &TrialSpec,
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
pub(super) fn fill(trial: &mut Trial, used: Window) {
    trial.machine = used.machine;
    trial.service = used.service;
    trial.generator_cpu = used.generator_cpu;
}

/// Sleeps until `when`; `false` as soon as `stop` is raised.
pub(super) fn sleep_until(when: Instant, stop: &AtomicBool) -> bool {
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

pub(super) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |d| d.as_millis() as u64)
}
