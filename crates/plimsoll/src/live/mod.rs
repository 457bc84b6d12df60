//! The live view: growing charts, the current trial, the plan as a strip of
//! cells, and keys.
//!
//! Drawing is a pure function ([`draw`]) of a state, which is a fold over events
//! ([`mod@state`]). A thread of low priority does both at most five times a second
//! ([`thread`]); the thread that measures only puts events into a queue. Each
//! trial records what drawing has cost. The view decides nothing about a run,
//! but keys pause and end it.

mod draw;
mod reasons;
mod state;
#[cfg(test)]
mod tests;
mod thread;

use crate::output::Output;
use crate::stop::Stop;
use crate::terminal::{self, Screen};
use plimsoll_engine::{Ended, Observer, Planner, Progress, Started};
use plimsoll_experiments::{Experiment, TrialOf};
use plimsoll_model::{CpuTime, Second};
use state::{About, Event, State, Tick};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thread::Shared;

/// How often a paused run looks whether it may continue.
const HOLD_GRAIN: Duration = Duration::from_millis(50);

/// The view of a run; `None` where the terminal cannot show it.
pub(crate) fn observe<E: Experiment>(
    plan: &E::Plan,
    record: &Path,
    trials: &[TrialOf<E>],
    output: &Output,
    stop: &Stop,
) -> Option<Box<dyn Observer>> {
    let state = state::<E>(plan, record, trials, output);
    let screen = Screen::open().ok()?;
    Live::start(screen, state, stop.clone()).map(|live| Box::new(live) as Box<dyn Observer>)
}

/// The state of the view at the start of a run that has these trials.
fn state<E: Experiment>(
    plan: &E::Plan,
    record: &Path,
    trials: &[TrialOf<E>],
    output: &Output,
) -> State {
    let planner = E::planner(plan);
    let about = About {
        workload: E::workload(&E::shown(plan)),
        record: record.display().to_string(),
        charts: E::LIVE,
        limit_us: E::limit_us(plan),
        stages: E::stages(plan),
        colour: output.stderr_colour,
        charset: output.charset,
    };
    let done = trials.iter().map(|trial| planner.summarize(trial));
    State::new(about, done.collect())
}

struct Live {
    events: Sender<Event>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Closed by the thread when it has given the terminal back.
    ended: Receiver<()>,
}

impl Live {
    /// `None` if no thread can be started.
    fn start(screen: Screen, state: State, stop: Stop) -> Option<Live> {
        let shared = Arc::new(Shared::default());
        let (events, receiver) = channel();
        let (ending, ended) = channel();
        let view = thread::View {
            screen,
            state,
            began: Instant::now(),
            events: receiver,
            shared: Arc::clone(&shared),
            stop,
            ending,
        };
        let thread = std::thread::Builder::new().name("view".to_owned());
        let thread = thread.spawn(move || view.run()).ok()?;
        Some(Live {
            events,
            shared,
            thread: Some(thread),
            ended,
        })
    }

    /// A view that has gone is no reason to stop measuring.
    fn send(&self, event: Event) {
        let _ = self.events.send(event);
    }
}

impl Observer for Live {
    fn wait_while_paused(&mut self, stop: &AtomicBool) {
        let is_paused =
            || self.shared.pause.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed);
        if !is_paused() {
            return;
        }
        self.send(Event::Paused);
        while is_paused() {
            std::thread::sleep(HOLD_GRAIN);
        }
        self.send(Event::Continued);
    }

    fn trial_started(&mut self, trial: &Started, progress: &Progress) {
        self.send(Event::Started {
            trial: trial.clone(),
            progress: *progress,
        });
    }

    fn second(&mut self, second: &Second) {
        let length = second.length.as_secs_f64().max(1e-3);
        self.send(Event::Second(Tick {
            rate: second.completed as f64 / length,
            p99: second.p99,
            cpu: second.cpu.map(|cpu| cpu.pct()),
            is_first: false,
        }));
    }

    fn trial_ended(&mut self, trial: &Ended) {
        self.send(Event::Ended(trial.clone()));
    }

    fn cpu_used(&self) -> Option<CpuTime> {
        let ns = self.shared.cpu_ns.load(Ordering::Relaxed);
        Some(CpuTime(Duration::from_nanos(ns)))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        let gone = self.ended.recv_timeout(terminal::PATIENCE) != Err(RecvTimeoutError::Timeout);
        if let Some(thread) = self.thread.take().filter(|_| gone) {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}
