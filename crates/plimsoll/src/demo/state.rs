//! The lab as a fold over events: what is shown, and what is to be done about it.
//!
//! Nothing here knows a terminal, a clock or a process. A front end folds [`Event`]s and carries out
//! the [`Effect`]s that they return.

mod event;
mod job;
mod knobs;
mod measure;
mod seconds;
#[cfg(test)]
pub(super) mod tests;

use super::pages::{PAGES, Page};
use super::scenario::Scenario;
pub(crate) use event::{Button, Effect, Event, Source};
pub(crate) use job::{Care, Job};
pub(crate) use knobs::{Knob, Knobs, MOST_HEADROOM, MOST_LOAD, STEP};
pub(crate) use measure::{Measuring, Phase};
use plimsoll_lab::Target;
use plimsoll_law::{LatencyGoal, SettlePhase};
use plimsoll_model::{LoadLevel, Rate, safe};
pub(crate) use seconds::{JobWork, REMEMBERED, Second};
use std::collections::VecDeque;
use std::time::Duration;

/// Lines of the log that are remembered.
const LINES: usize = 500;
/// Characters of a line of the log.
const LONGEST: usize = 400;
/// For how long a message is shown.
const SHOWN_FOR: Duration = Duration::from_secs(10);

/// The constant part of the state.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// What the service carries, in words.
    pub(crate) rating: String,
    pub(crate) goal: LatencyGoal,
    /// The scenario's: the name of a counted job, or a command.
    pub(crate) job: String,
    pub(crate) budget: String,
}

#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) about: About,
    /// Since the start.
    pub(crate) clock: Duration,
    /// The place of the page.
    pub(crate) page: usize,
    pub(crate) knobs: Knobs,
    usual: Knobs,
    pub(crate) chosen: Knob,
    pub(crate) job: Job,
    /// The job of pages that have none of their own.
    chosen_job: String,
    /// Of the job that runs, or ran last.
    job_name: String,
    pub(crate) measuring: Option<Measuring>,
    /// Of each page, if it was measured.
    findings: [Option<Vec<String>>; PAGES.len()],
    shows_findings: bool,
    pub(crate) scrolled: usize,
    pub(crate) log: VecDeque<(Source, String)>,
    pub(crate) shows_log: bool,
    pub(crate) seconds: VecDeque<Second>,
    message: Option<(String, Duration)>,
}

impl State {
    pub(crate) fn new(about: About, page: char, scenario: &Scenario) -> State {
        let knobs = Knobs::of(scenario);
        State {
            clock: Duration::ZERO,
            page: Page::place(page).unwrap_or(0),
            usual: knobs.clone(),
            knobs,
            chosen: Knob::Load,
            job: Job::Stopped,
            chosen_job: about.job.clone(),
            job_name: String::new(),
            measuring: None,
            findings: std::array::from_fn(|_| None),
            shows_findings: false,
            scrolled: 0,
            log: VecDeque::new(),
            shows_log: false,
            seconds: VecDeque::new(),
            message: None,
            about,
        }
    }

    /// Takes in what happened, `clock` after the start, and returns what is to be done.
    pub(crate) fn fold(&mut self, event: Event, clock: Duration) -> Vec<Effect> {
        self.clock = self.clock.max(clock);
        let before = self.target();
        let mut effects = self.act(event);
        effects.extend(self.follow_headroom());
        if self.target() != before {
            effects.push(Effect::SetTarget(self.target()));
        }
        effects
    }

    fn act(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Choose { forward } => self.chosen = self.chosen.next(forward),
            Event::Change(steps) => self.change(|knobs, chosen| knobs.change(chosen, steps)),
            Event::Set(knob, share) => {
                self.chosen = knob;
                self.change(|knobs, chosen| knobs.set(chosen, share));
            }
            Event::Press(button) => return self.press(button),
            Event::Page(page) if page < PAGES.len() => self.open(page),
            Event::Page(_) => {}
            Event::Turn { forward } => {
                let by = if forward { 1 } else { PAGES.len() - 1 };
                self.open((self.page + by) % PAGES.len());
            }
            Event::Log => self.shows_log = !self.shows_log,
            Event::Findings if !self.has_findings() => {
                self.show_message("This page has no findings yet: measure it.".to_owned());
            }
            Event::Findings => self.shows_findings = !self.shows_findings,
            Event::Scroll(lines) => self.scroll(lines),
            Event::Back => return self.back(),
            Event::Reset => {
                let usual = self.usual.clone();
                self.change(|knobs, _| *knobs = usual);
                self.chosen_job.clone_from(&self.about.job);
                self.forget_job();
                return self.stop_job();
            }
            Event::Quit => return vec![Effect::Quit],
            Event::Second(second) => {
                seconds::add(&mut self.seconds, second);
                return self.begin_measuring();
            }
            Event::Line(source, line) => self.line(source, &line),
            Event::JobEnded(how) => return self.job_ended(how),
            Event::Measured { found, wrong } => return self.measured(found, wrong),
            Event::Note(text) => self.show_message(text),
            Event::Clock => {}
        }
        Vec::new()
    }

    fn press(&mut self, button: Button) -> Vec<Effect> {
        match button {
            Button::Sideload => self.toggle_job(Care::Sideload),
            Button::Sysload => self.toggle_job(Care::Sysload),
            Button::OtherJob => self.choose_job(),
            Button::Measure => self.measure(),
            Button::Save => self.save(),
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut Knobs, Knob)) {
        change(&mut self.knobs, self.chosen);
        self.knobs.changed = self.clock;
    }

    fn open(&mut self, page: usize) {
        self.page = page;
        self.scrolled = 0;
        self.shows_findings = true;
    }

    fn back(&mut self) -> Vec<Effect> {
        if self.measuring.is_some() {
            return self.stop_measuring();
        }
        self.shows_findings = false;
        Vec::new()
    }

    fn scroll(&mut self, lines: i32) {
        let most = self.findings().map_or(0, |lines| lines.len() - 1);
        let by = lines.unsigned_abs() as usize;
        self.scrolled = match lines < 0 {
            true => self.scrolled.saturating_sub(by),
            false => (self.scrolled + by).min(most),
        };
    }

    fn save(&mut self) -> Vec<Effect> {
        let scenario = self.scenario();
        if LoadLevel::percent(scenario.load_pct).is_none() {
            self.show_message("A scenario needs a load: raise it, then save.".to_owned());
            return Vec::new();
        }
        vec![Effect::Save(scenario)]
    }

    /// What the sliders are set to. Under a latency goal the load is the one that was reached.
    pub(crate) fn scenario(&self) -> Scenario {
        let reached = self.last().map(|second| second.load_pct.round());
        let reached = reached.filter(|pct| self.knobs.goal && *pct >= 1.0);
        Scenario {
            load_pct: reached.unwrap_or(self.knobs.load_pct),
            headroom_pct: self.knobs.headroom_pct,
            budget: self.about.budget.clone(),
            job: self.chosen_job.clone(),
        }
    }

    /// The job that runs, or that starts on this page.
    pub(crate) fn job_name(&self) -> &str {
        match self.job {
            Job::Stopped => self.page().job.unwrap_or(&self.chosen_job),
            Job::Runs { .. } | Job::Ends { .. } => &self.job_name,
        }
    }

    /// What the service is to be under now: nothing during a measurement.
    pub(crate) fn target(&self) -> Target {
        if self.measuring.is_some() {
            return Target::Rate(Rate::ZERO);
        }
        match LoadLevel::percent(self.knobs.load_pct) {
            _ if self.knobs.goal => Target::Until(self.about.goal),
            Some(level) => Target::Load(level),
            None => Target::Rate(Rate::ZERO),
        }
    }

    fn line(&mut self, source: Source, line: &str) {
        let cut: String = line.trim_end().chars().take(LONGEST).collect();
        if self.log.len() == LINES {
            self.log.pop_front();
        }
        self.log.push_back((source, safe(&cut)));
    }

    fn show_message(&mut self, text: String) {
        self.message = Some((text, self.clock));
    }

    /// The message, for as long as it is shown.
    pub(crate) fn message(&self) -> Option<&str> {
        let (text, since) = self.message.as_ref()?;
        (self.clock.saturating_sub(*since) < SHOWN_FOR).then_some(text)
    }

    pub(crate) fn last(&self) -> Option<&Second> {
        self.seconds.back()
    }

    /// What the law of the latency goal has reached.
    pub(crate) fn phase(&self) -> Option<SettlePhase> {
        self.last().filter(|_| self.knobs.goal)?.phase
    }

    pub(crate) fn page(&self) -> &'static Page {
        &PAGES[self.page % PAGES.len()]
    }

    /// Whether this page was measured.
    pub(crate) fn has_findings(&self) -> bool {
        let findings = self.findings.get(self.page).and_then(Option::as_ref);
        findings.is_some_and(|lines| !lines.is_empty())
    }

    /// The findings of this page, if they are to be shown.
    pub(crate) fn findings(&self) -> Option<&[String]> {
        let findings = self.findings.get(self.page)?.as_deref();
        findings.filter(|lines| self.shows_findings && !lines.is_empty())
    }
}
