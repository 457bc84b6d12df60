//! A run one can watch: charts that grow, the trial that goes on, the plan as
//! a strip of cells, and keys.
//!
//! What is drawn is a pure function ([`draw`]) of a state, and the state a
//! fold over what happens ([`state`]). Both are asked from a thread of low
//! priority that draws at most five times a second ([`thread`]); the thread
//! that measures only puts events into a queue. What drawing costs is told to
//! the experiment, which keeps it with each trial. The terminal is given back
//! whatever happens ([`screen`]).
//!
//! This room must not decide anything about a run but to hold and to end it.

mod done;
mod draw;
mod reasons;
#[cfg(test)]
mod sample;
mod screen;
mod state;
mod thread;

use crate::output::Output;
use crate::stop::Stop;
use plimsoll_engine::{Ended, Observer, Planner, Progress, Started};
use plimsoll_experiments::{Experiment, TrialOf};
use plimsoll_model::{CpuTime, Second};
use screen::Screen;
pub(crate) use screen::give_back;
use state::{About, Event, State, Tick};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often somebody who holds the run is asked whether it may go on.
const HOLD_GRAIN: Duration = Duration::from_millis(50);
/// A terminal that takes longer to be given back is gone, and the run's end
/// does not wait for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the thread that measures and the one that draws both know.
#[derive(Debug, Default)]
struct Shared {
    /// The run is to be held before the next trial.
    pause: AtomicBool,
    /// The view is to end.
    over: AtomicBool,
    /// CPU time of the view's thread, in nanoseconds.
    cpu_ns: AtomicU64,
}

/// The view of a run; `None` where the terminal cannot show it.
pub(crate) fn observe<E: Experiment>(
    plan: &E::Plan,
    record: &Path,
    trials: &[TrialOf<E>],
    output: &Output,
    stop: &Stop,
) -> Option<Box<dyn Observer>> {
    let planner = E::planner(plan);
    let about = About {
        workload: plimsoll_report::safe(&E::workload(&E::shown(plan))),
        record: record.display().to_string(),
        charts: E::LIVE,
        limit_us: E::limit_us(plan),
        stages: E::stages(plan),
        colour: output.stderr_colour,
        charset: output.charset,
    };
    let done = trials.iter().map(|trial| planner.summarize(trial));
    let state = State::new(about, done.collect());
    let screen = Screen::open().ok()?;
    Live::start(screen, state, stop.clone()).map(|live| Box::new(live) as Box<dyn Observer>)
}

/// An observer that draws on another thread.
struct Live {
    events: Sender<Event>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Closed by the thread when it has given the terminal back.
    ended: Receiver<()>,
}

impl Live {
    /// `None` if there is no thread to be had.
    fn start(screen: Screen, state: State, stop: Stop) -> Option<Live> {
        let shared = Arc::new(Shared::default());
        let (events, receiver) = channel();
        let (ending, ended) = channel();
        let view = thread::View {
            screen,
            state,
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
    fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }
}

impl Observer for Live {
    fn wait_while_paused(&mut self, stop: &AtomicBool) {
        let is_held = || self.shared.pause.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed);
        if !is_held() {
            return;
        }
        self.tell(Event::Held);
        while is_held() {
            std::thread::sleep(HOLD_GRAIN);
        }
        self.tell(Event::GoesOn);
    }

    fn trial_started(&mut self, trial: &Started, progress: &Progress) {
        self.tell(Event::Started {
            trial: trial.clone(),
            progress: *progress,
        });
    }

    fn second(&mut self, second: &Second) {
        let length = second.length.as_secs_f64().max(1e-3);
        self.tell(Event::Second(Tick {
            rate: second.completed as f64 / length,
            p99: second.p99,
            cpu: second.cpu.map(|cpu| cpu.pct()),
            is_first: false,
        }));
    }

    fn trial_ended(&mut self, trial: &Ended) {
        self.tell(Event::Ended(trial.clone()));
    }

    fn cpu_used(&self) -> Option<CpuTime> {
        let ns = self.shared.cpu_ns.load(Ordering::Relaxed);
        Some(CpuTime(Duration::from_nanos(ns)))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        let gone = self.ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout);
        if let Some(thread) = self.thread.take().filter(|_| gone) {
            // If it panicked, that was told when it happened.
            let _ = thread.join();
        }
    }
}
