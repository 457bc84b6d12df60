//! The job beside the service: started, stopped, and started again when its headroom changes.

use super::{Effect, State};
use std::time::Duration;

/// How long a slider has to rest before the job follows it: a job that starts anew at each step does
/// no work.
const REST: Duration = Duration::from_secs(1);

/// The jobs that are always there.
const COUNTED: [&str; 3] = ["burn", "memory", "disk"];

/// How the job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// Within the headroom.
    Sideload,
    /// Nothing restricts it.
    Sysload,
}

impl Care {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Care::Sideload => "sideload",
            Care::Sysload => "sysload",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Job {
    Stopped,
    Runs {
        care: Care,
        headroom_pct: f64,
        since: Duration,
    },
    /// It was asked to end. `next` starts when it is gone.
    Ends {
        next: Option<Care>,
    },
}

impl Job {
    /// How it runs, or runs next.
    pub(crate) fn care(self) -> Option<Care> {
        match self {
            Job::Stopped => None,
            Job::Runs { care, .. } => Some(care),
            Job::Ends { next } => next,
        }
    }
}

impl State {
    pub(super) fn toggle_job(&mut self, care: Care) -> Vec<Effect> {
        if self.measuring.is_some() {
            self.show_message("A page is being measured; Esc stops that.".to_owned());
            return Vec::new();
        }
        let wanted = (self.job.care() != Some(care)).then_some(care);
        self.want_job(wanted)
    }

    /// Takes the next of the scenario's job and the counted ones. One that runs ends, and the next
    /// waits to be started: it may take all memory.
    pub(super) fn choose_job(&mut self) -> Vec<Effect> {
        if let Some(job) = self.page().job {
            let letter = self.page().letter;
            self.show_message(format!("Page {letter} has the job '{job}'."));
            return Vec::new();
        }
        let mut jobs = vec![self.about.job.as_str()];
        jobs.extend(COUNTED.into_iter().filter(|job| *job != self.about.job));
        let at = jobs.iter().position(|job| *job == self.chosen_job);
        let next = at.map_or(0, |at| (at + 1) % jobs.len());
        self.chosen_job = jobs[next].to_owned();
        self.show_message(format!("The next job is '{}'.", self.chosen_job));
        self.stop_job()
    }

    pub(super) fn stop_job(&mut self) -> Vec<Effect> {
        self.want_job(None)
    }

    fn want_job(&mut self, wanted: Option<Care>) -> Vec<Effect> {
        match (self.job, wanted) {
            (Job::Stopped, None) => Vec::new(),
            (Job::Stopped, Some(care)) => vec![self.start(care)],
            (Job::Runs { .. }, next) => {
                self.job = Job::Ends { next };
                vec![Effect::StopJob]
            }
            (Job::Ends { .. }, next) => {
                self.job = Job::Ends { next };
                Vec::new()
            }
        }
    }

    pub(super) fn start(&mut self, care: Care) -> Effect {
        let headroom_pct = self.knobs.headroom_pct;
        self.job = Job::Runs {
            care,
            headroom_pct,
            since: self.clock,
        };
        let job = self.page().job.unwrap_or(&self.chosen_job).to_owned();
        self.job_name.clone_from(&job);
        Effect::StartJob {
            care,
            headroom_pct,
            job,
        }
    }

    pub(super) fn job_ended(&mut self, how: String) -> Vec<Effect> {
        let next = match self.job {
            Job::Ends { next } => next,
            Job::Stopped | Job::Runs { .. } => {
                self.show_message(how);
                None
            }
        };
        self.job = Job::Stopped;
        next.map(|care| self.start(care)).into_iter().collect()
    }

    /// Starts a sideload anew whose headroom has changed.
    pub(super) fn follow_headroom(&mut self) -> Vec<Effect> {
        let Job::Runs {
            care: Care::Sideload,
            headroom_pct,
            ..
        } = self.job
        else {
            return Vec::new();
        };
        let rests = self.clock.saturating_sub(self.knobs.changed) >= REST;
        match headroom_pct != self.knobs.headroom_pct && rests {
            true => self.want_job(Some(Care::Sideload)),
            false => Vec::new(),
        }
    }
}
