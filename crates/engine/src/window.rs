//! The parts of a trial: warm-up, a window by seconds, a window without load.

use crate::background::{BackgroundJob, NoJob};
use crate::conduct::RunError;
use crate::observer::{Observer, ObserverCost};
use crate::sensors::{OpenSensors, TrialSensors};
use plimsoll_host::Reading;
use plimsoll_load::{Running, Tick, WindowTimes};
use plimsoll_model::{Bounds, CpuTime, CpuUse, Second, Trial, TrialSetting, TrialSpec};
use plimsoll_study::steady;
use plimsoll_study::validity::{self, Allowance};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// How often the load and the sensors are read in a window.
const SECOND: Duration = Duration::from_secs(1);

/// A shorter rest of a window is part of the second before it: its sample
/// would be too small.
const STUB: Duration = Duration::from_millis(500);

/// How often throughput is read while the load warms up.
const WARM_UP_TICK: Duration = Duration::from_millis(100);

/// So many connections at a time are closed by a server after a number of answers, and opened again.
const FEW_TO_OPEN: usize = 8;

/// How long to wait for a server that accepts no more connections.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// How long a raised stop may stay unseen.
const STOP_GRAIN: Duration = Duration::from_millis(50);

/// The id of the calling thread, for [`measure`].
pub fn this_thread() -> u32 {
    rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .unsigned_abs()
}

/// A trial without offered load: `work` runs between two readings of the
/// sensors, of which `threads` are the service's, and returns whether it
/// completed.
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
    let cost = cost.end(observer);
    fill(&mut trial, &mut sensors, (&before, &after), cost)?;
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
    without_load(bounds, sensors, spec, &mut NoJob, observer, stop)
}

/// A trial of the machine without load, but with a job.
pub(crate) fn without_load<S: TrialSetting, O: Default>(
    bounds: &Bounds,
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
    let cost = cost.end(observer);
    let Some(outcome) = job.outcome(stop)? else {
        return Ok(None);
    };
    trial.outcome = outcome;
    fill(&mut trial, &mut sensors, (&before, &after), cost)?;
    trial.steady = true;
    trial.took = began.elapsed();
    let allowance = job.allowance(spec, &trial.outcome);
    trial.verdict = validity::judge(bounds, &trial, allowance);
    Ok(Some(trial))
}

/// Stores what the sensors saw between the window's edges, and the CPU time
/// that observing took.
pub(crate) fn fill<S, O>(
    trial: &mut Trial<S, O>,
    sensors: &mut OpenSensors,
    (before, after): (&Reading, &Reading),
    observer_cost: Option<CpuTime>,
) -> Result<(), RunError> {
    let used = sensors.whole(before, after)?;
    trial.machine = used.machine;
    trial.machine.view_cpu = observer_cost;
    trial.service = used.service;
    trial.generator_cpu = used.generator_cpu;
    Ok(())
}

/// Reads the load and the sensors at both edges of a window and once a second
/// between them, for as long as was asked and then while it `lasts`. Returns the
/// readings at the edges; `None` when stopped.
pub(crate) fn by_seconds<S, O>(
    (running, sensors): (&mut (dyn Running + 'static), &mut OpenSensors),
    window: WindowTimes,
    trial: &mut Trial<S, O>,
    observer: &mut dyn Observer,
    lasts: &dyn Fn() -> bool,
    stop: &AtomicBool,
) -> Result<Option<(Reading, Reading)>, RunError> {
    running.tick();
    let first = sensors.read_edge()?;
    let mut last = first.clone();
    let (mut from, mut closes) = (window.opens, window.closes);
    while from < closes {
        // Early enough that nobody has seen it close.
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
        let machine = used.machine;
        let at = trial.warm_up + (to - window.opens);
        let sample = Second {
            cpu: machine.service_share(used.service.as_ref()),
            steal: machine.cpu.as_ref().and_then(CpuUse::steal_share),
            ..second(running.tick(), at, to - from)
        };
        observer.second(&sample);
        trial.seconds.push(sample);
        last = now;
        from = to;
    }
    trial.window = closes - window.opens;
    Ok(Some((first, last)))
}

/// Waits until throughput and requests in flight are steady, or for as long as
/// the trial allows, both from when the connections are open; `false` when stopped. The server works
/// on those that are being opened: 10,000 took one of asyncio a second.
///
/// CPU use is not considered: the kernel counts it in ticks of 4 to 10 ms, too
/// coarse for this.
pub(crate) fn warm_up<S, O>(
    (running, may_open): (&mut (dyn Running + 'static), bool),
    trial: &mut Trial<S, O>,
    began: Instant,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> bool {
    let limits = trial.spec.warm_up;
    let (mut throughput, mut in_flight) = (Vec::new(), Vec::new());
    let mut sum = Tick::default();
    let (mut at, mut open) = (Duration::ZERO, Duration::ZERO);
    let mut opening = Opening::default();
    while at < open + limits.max && !(trial.steady && at >= open + limits.min) {
        at += WARM_UP_TICK;
        if !sleep_until(began + at, stop) {
            return false;
        }
        if may_open && opening.goes_on(at, running.session().to_open()) {
            open = at;
        }
        let tick = running.tick();
        sum.sent += tick.sent;
        sum.completed += tick.completed;
        sum.errors += tick.errors;
        sum.in_flight = tick.in_flight;
        throughput.push(tick.completed as f64);
        in_flight.push(tick.in_flight as f64);
        // Only the second half: the first may well have been unsteady.
        let n = throughput.len();
        let from = (n / 2).min(n.saturating_sub(steady::LEAST_POINTS));
        trial.steady =
            steady::is_steady(&throughput[from..]) && steady::is_steady(&in_flight[from..]);
    }
    let sample = Second {
        measured: false,
        ..second(sum, at, at)
    };
    observer.second(&sample);
    trial.seconds.push(sample);
    true
}

/// The connections that are opened in advance, which begins with the first answer.
#[derive(Debug, Default)]
struct Opening {
    fewest_left: Option<usize>,
    progressed: Duration,
}

impl Opening {
    /// Whether to wait for the `left` ones, at this time of the load. A server may never accept them all.
    fn goes_on(&mut self, at: Duration, left: usize) -> bool {
        if left < FEW_TO_OPEN {
            return false;
        }
        if self.fewest_left.is_none_or(|fewest| left < fewest) {
            (self.fewest_left, self.progressed) = (Some(left), at);
        }
        at - self.progressed <= LONGEST_PAUSE
    }
}

fn second(tick: Tick, at: Duration, length: Duration) -> Second {
    Second {
        at,
        length,
        measured: true,
        sent: tick.sent,
        completed: tick.completed,
        errors: tick.errors,
        in_flight: tick.in_flight,
        p50: tick.latency.quantile(0.5),
        p99: tick.latency.quantile(0.99),
        cpu: None,
        steal: None,
    }
}

/// Sleeps until `when`; `false` as soon as `stop` is raised.
pub(crate) fn sleep_until(when: Instant, stop: &AtomicBool) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_waited_for_while_the_server_accepts_them() {
        let ms = Duration::from_millis;
        let mut opening = Opening::default();
        let seen = [
            (100, 0),
            (200, 9000),
            (300, 5000),
            (700, 5000),
            (800, 900),
            (900, 3),
        ];
        let goes_on = seen.map(|(at, left)| opening.goes_on(ms(at), left));
        assert_eq!(goes_on, [false, true, true, true, true, false]);

        let mut stuck = Opening::default();
        let goes_on = [(100, 90), (600, 90), (700, 90), (5000, 90)];
        let goes_on = goes_on.map(|(at, left)| stuck.goes_on(ms(at), left));
        assert_eq!(goes_on, [true, true, false, false]);
        // Closed after a number of answers.
        assert!(!stuck.goes_on(ms(6000), 5));
    }
}
