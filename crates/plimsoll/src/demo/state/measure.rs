//! The measurement of a page's answer, while nothing else of the lab runs.

use super::{Care, Effect, Job, State};
use crate::demo::pages::PAGES;
use plimsoll_model::LoadLevel;
use std::time::Duration;

/// After so long without a load, a second with open requests has them from before.
const WITHOUT_LOAD: Duration = Duration::from_millis(500);

/// Lines of findings that are kept.
const MOST: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Until the job is gone and no request is open.
    Waits,
    Runs,
    /// It was asked to end.
    Ends,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Measuring {
    /// The place of its page.
    pub(crate) page: usize,
    pub(crate) phase: Phase,
    pub(crate) since: Duration,
    /// The job that ran before, and runs again afterwards.
    resume: Option<Care>,
    /// The command.
    words: Vec<String>,
}

impl State {
    pub(super) fn measure(&mut self) -> Vec<Effect> {
        if self.measuring.is_some() {
            self.show_message("A page is being measured; Esc stops that.".to_owned());
            return Vec::new();
        }
        let scenario = self.scenario();
        if self.page().takes_load() && LoadLevel::percent(scenario.load_pct).is_none() {
            self.show_message("There is no load: raise it, then measure.".to_owned());
            return Vec::new();
        }
        self.measuring = Some(Measuring {
            page: self.page,
            phase: Phase::Waits,
            since: self.clock,
            resume: self.job.care(),
            words: self.page().words(&scenario),
        });
        self.stop_job()
    }

    /// Starts a measurement that waited, once nothing of the lab uses the CPUs.
    pub(super) fn begin_measuring(&mut self) -> Vec<Effect> {
        let last = self.last().map(|last| (last.at, last.in_flight));
        let is_stopped = self.job == Job::Stopped;
        let Some(measuring) = &mut self.measuring else {
            return Vec::new();
        };
        let is_since = |at: Duration| at >= measuring.since + WITHOUT_LOAD;
        let is_idle = last.is_some_and(|(at, open)| is_since(at) && open == 0);
        if measuring.phase != Phase::Waits || !is_stopped || !is_idle {
            return Vec::new();
        }
        measuring.phase = Phase::Runs;
        measuring.since = self.clock;
        vec![Effect::Measure(measuring.words.clone())]
    }

    /// Has the job not run again after a measurement.
    pub(super) fn forget_job(&mut self) {
        if let Some(measuring) = &mut self.measuring {
            measuring.resume = None;
        }
    }

    pub(super) fn stop_measuring(&mut self) -> Vec<Effect> {
        let Some(measuring) = &mut self.measuring else {
            return Vec::new();
        };
        match measuring.phase {
            Phase::Waits => {
                let stopped = "The measurement was stopped.".to_owned();
                self.measured(Vec::new(), Some(stopped))
            }
            Phase::Runs => {
                measuring.phase = Phase::Ends;
                vec![Effect::StopMeasuring]
            }
            Phase::Ends => Vec::new(),
        }
    }

    pub(super) fn measured(
        &mut self,
        mut found: Vec<String>,
        wrong: Option<String>,
    ) -> Vec<Effect> {
        let Some(measuring) = self.measuring.take() else {
            return Vec::new();
        };
        let letter = PAGES[measuring.page].letter;
        self.show_message(wrong.unwrap_or_else(|| format!("Page {letter} was measured.")));
        if !found.is_empty() {
            found.truncate(MOST);
            self.findings[measuring.page] = Some(found);
            self.shows_findings = true;
            self.scrolled = 0;
        }
        match (self.job, measuring.resume) {
            (_, None) => Vec::new(),
            (Job::Stopped, Some(care)) => vec![self.start(care)],
            (_, next) => {
                self.job = Job::Ends { next };
                Vec::new()
            }
        }
    }
}
