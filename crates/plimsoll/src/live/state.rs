//! What the live view shows: a fold over what has happened.

use crate::disturbed::Disturbed;
use plimsoll_engine::{Ended, Progress, Started};
use plimsoll_experiments::Stage;
use plimsoll_model::Phase;
use plimsoll_report::chart::Charset;
use plimsoll_report::chart::LiveCharts;
use std::collections::VecDeque;
use std::time::Duration;

/// Seconds that are remembered: more than the widest terminal shows.
pub(crate) const REMEMBERED: usize = 512;

/// The constant part of the state.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// What is under test.
    pub(crate) workload: String,
    pub(crate) record: String,
    /// Where the first goal on latency is broken, in microseconds, and its
    /// name, if that is known before the run.
    pub(crate) limit_us: Option<(f64, String)>,
    pub(crate) stages: Vec<Stage>,
    pub(crate) charts: LiveCharts,
    pub(crate) colour: bool,
    pub(crate) charset: Charset,
}

/// A part of a run, as the strip of trials shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Idle,
    WarmUp,
    Calibration,
    Levels,
    Threads,
    Search,
    Confirmation,
}

impl Group {
    pub(crate) fn of(phase: Phase) -> Group {
        match phase {
            Phase::Idle => Group::Idle,
            Phase::WarmUp => Group::WarmUp,
            Phase::Calibration => Group::Calibration,
            Phase::Level { .. } => Group::Levels,
            Phase::OneThreadPerCore | Phase::TwoThreadsPerCore => Group::Threads,
            Phase::Search => Group::Search,
            Phase::Confirmation => Group::Confirmation,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Group::Idle => "idle",
            Group::WarmUp => "warm-up",
            Group::Calibration => "calibration",
            Group::Levels => "settings",
            Group::Threads => "threads",
            Group::Search => "search",
            Group::Confirmation => "confirmation",
        }
    }
}

/// A second of a trial, or its warm-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tick {
    /// Good answers per second.
    pub(crate) rate: f64,
    pub(crate) p99: Option<Duration>,
    /// In percent.
    pub(crate) cpu: Option<f64>,
    /// Whether it is the first of its trial.
    pub(crate) is_first: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Current {
    pub(crate) trial: Started,
    pub(crate) began: Duration,
    /// When its warm-up was over.
    pub(crate) warm_since: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// Ends the run after what has been measured.
    End,
    /// Pauses it after this trial, or continues it.
    Pause,
    /// Shows or hides the help.
    Help,
    Back,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    Started {
        trial: Started,
        progress: Progress,
    },
    Second(Tick),
    Ended(Ended),
    /// The run is paused between two trials.
    Paused,
    Continued,
    Key(Key),
    /// The run is ended by a key or by a signal.
    Ending,
    /// Time passes.
    Clock,
}

#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) about: About,
    /// Since the view began.
    pub(crate) clock: Duration,
    pub(crate) done: Vec<Ended>,
    pub(crate) now: Option<Current>,
    pub(crate) seconds: VecDeque<Tick>,
    /// The last progress, and when it was reported.
    pub(crate) progress: Option<(Progress, Duration)>,
    /// Whether the run pauses after this trial.
    pub(crate) pause_asked: bool,
    pub(crate) paused_since: Option<Duration>,
    /// The length of earlier pauses.
    paused: Duration,
    pub(crate) is_ending: bool,
    pub(crate) shows_help: bool,
    disturbed: Disturbed,
    /// Why this run may find nothing.
    pub(crate) remark: Option<String>,
}

impl State {
    /// The start of a run; a resumed one has trials already.
    pub(crate) fn new(about: About, done: Vec<Ended>) -> State {
        State {
            about,
            clock: Duration::ZERO,
            done,
            now: None,
            seconds: VecDeque::new(),
            progress: None,
            pause_asked: false,
            paused_since: None,
            paused: Duration::ZERO,
            is_ending: false,
            shows_help: false,
            disturbed: Disturbed::default(),
            remark: None,
        }
    }

    /// Takes in what happened, `clock` after the view began.
    pub(crate) fn fold(&mut self, event: Event, clock: Duration) {
        self.clock = self.clock.max(clock);
        match event {
            Event::Started { trial, progress } => {
                self.now = Some(Current {
                    trial,
                    began: self.clock,
                    warm_since: None,
                });
                self.progress = Some((progress, self.clock));
            }
            Event::Second(tick) => self.second(tick),
            Event::Ended(done) => {
                self.now = None;
                let remark = self.disturbed.add(&done);
                self.remark = remark.or(self.remark.take());
                self.done.push(done);
            }
            Event::Paused => self.paused_since = Some(self.clock),
            Event::Continued => {
                let since = self.paused_since.take().unwrap_or(self.clock);
                self.paused += self.clock - since;
            }
            Event::Key(key) => self.key(key),
            Event::Ending => self.is_ending = true,
            Event::Clock => {}
        }
    }

    fn second(&mut self, tick: Tick) {
        let Some(now) = &mut self.now else { return };
        let is_first = now.warm_since.is_none();
        if is_first {
            now.warm_since = Some(self.clock);
        }
        if self.seconds.len() == REMEMBERED {
            self.seconds.pop_front();
        }
        self.seconds.push_back(Tick { is_first, ..tick });
    }

    fn key(&mut self, key: Key) {
        match key {
            Key::End => self.is_ending = true,
            Key::Pause => self.pause_asked = !self.pause_asked && !self.is_ending,
            Key::Help => self.shows_help = !self.shows_help,
            Key::Back => self.shows_help = false,
        }
    }

    /// The part of the current trial.
    pub(crate) fn group_now(&self) -> Option<Group> {
        self.now.as_ref().map(|now| Group::of(now.trial.phase))
    }

    /// The trials of a part that have ended.
    pub(crate) fn done_in(&self, group: Group) -> impl Iterator<Item = &Ended> {
        let is_in = move |done: &&Ended| Group::of(done.phase) == group;
        self.done.iter().filter(is_in)
    }

    /// How long the run has lasted, without pauses.
    pub(crate) fn gone(&self) -> Duration {
        let now = self.paused_since.unwrap_or(self.clock);
        now.saturating_sub(self.paused)
    }

    /// About how long the rest takes; `None` before the first trial.
    pub(crate) fn left(&self) -> Option<Duration> {
        let (progress, reported) = self.progress?;
        let now = self.paused_since.unwrap_or(self.clock);
        let since = now.saturating_sub(reported).min(self.trial_time());
        Some(progress.left.saturating_sub(since))
    }

    /// How long the current trial has lasted: the time left that was reported
    /// at its start runs down no further.
    fn trial_time(&self) -> Duration {
        let began = self.now.as_ref().map(|now| now.began);
        began.map_or(Duration::MAX, |began| self.clock.saturating_sub(began))
    }
}
