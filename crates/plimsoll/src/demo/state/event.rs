//! What happens to the lab, and what a front end has to do about it.

use super::{Care, Knob, Second};
use crate::demo::scenario::Scenario;
use plimsoll_lab::Target;
use serde::{Deserialize, Serialize};

/// What can be pressed on a page or below the sliders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Button {
    /// Start the job within the headroom, or stop it.
    Sideload,
    /// Start the job with no care, or stop it.
    Sysload,
    /// Another job, in place of the one that runs or will run.
    OtherJob,
    Measure,
    Save,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Job,
    Measurement,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// Chooses the slider after the chosen one, or before it.
    Choose {
        forward: bool,
    },
    /// Moves the chosen slider by so many steps.
    Change(i32),
    /// Sets a slider to a share of its range, 0 to 1.
    Set(Knob, f64),
    Press(Button),
    /// A page by its place, from 0.
    Page(usize),
    Turn {
        forward: bool,
    },
    Log,
    /// Shows or hides the findings of the page.
    Findings,
    /// Moves the findings by so many lines.
    Scroll(i32),
    /// Stops a measurement, else hides its findings.
    Back,
    Reset,
    Quit,
    /// A second of the service is over.
    Second(Second),
    Line(Source, String),
    /// The job is gone, with how it ended, or why it could not be started.
    JobEnded(String),
    /// A measurement is over, with its findings, and what was wrong.
    Measured {
        found: Vec<String>,
        wrong: Option<String>,
    },
    Note(String),
    /// Time passes.
    Clock,
}

/// What a front end has to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    SetTarget(Target),
    StartJob {
        care: Care,
        headroom_pct: f64,
        /// The name of a counted job, or a command.
        job: String,
    },
    StopJob,
    /// Runs the command with these words.
    Measure(Vec<String>),
    StopMeasuring,
    Save(Scenario),
    Quit,
}
