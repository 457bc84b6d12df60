//! What the lab does outside of itself: the job, a measurement, a file.

use super::job::RunningJob;
use super::scenario::Scenario;
use super::state::{Effect, Event, JobWork, Source};
use super::task::Task;
use crate::failure::Failure;
use crate::helper;
use crate::note::note;
use plimsoll_host::Root;
use plimsoll_model::shell_word;
use plimsoll_record::{Existing, write_private};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Findings are written for no less than these columns.
const LEAST_COLUMNS: u16 = 40;
/// Names of files that are tried.
const NAMES: u32 = 100;
/// An end that takes longer is explained.
const SOON: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);

/// The children of the lab.
pub(super) struct Children {
    root: Root,
    /// CPUs of the service, and threads of the job.
    cpus: usize,
    job: Option<RunningJob>,
    measuring: Option<Task>,
}

impl Children {
    pub(super) fn new(root: &Root, cpus: usize) -> Children {
        Children {
            root: root.clone(),
            cpus,
            job: None,
            measuring: None,
        }
    }

    /// Whether there are children.
    pub(super) fn are_running(&self) -> bool {
        self.job.is_some() || self.measuring.is_some()
    }

    pub(super) fn job_work(&mut self) -> Option<JobWork> {
        self.job.as_mut()?.work()
    }

    /// Does it, and returns what it leads to at once. `columns` is the width of a page.
    pub(super) fn carry_out(&mut self, effect: Effect, columns: Option<u16>) -> Option<Event> {
        match effect {
            Effect::StartJob {
                care,
                headroom_pct,
                job,
            } => {
                let how = (care, headroom_pct);
                match RunningJob::start(&job, how, self.cpus, &self.root) {
                    Ok(job) => self.job = Some(job),
                    Err(why) => {
                        let why = format!("The job cannot be started: {why}.");
                        return Some(Event::JobEnded(why));
                    }
                }
            }
            Effect::StopJob => match &mut self.job {
                Some(job) => job.task.ask_to_end(),
                None => return Some(Event::JobEnded("There is no job.".to_owned())),
            },
            Effect::Measure(words) => return self.measure(words, columns),
            Effect::StopMeasuring => match &mut self.measuring {
                Some(task) => task.ask_to_end(),
                None => return Some(without_findings("Nothing is measured.".to_owned())),
            },
            Effect::Save(scenario) => return Some(Event::Note(saved(&scenario))),
            Effect::SetTarget(_) | Effect::Quit => {}
        }
        None
    }

    fn measure(&mut self, words: Vec<String>, columns: Option<u16>) -> Option<Event> {
        let flags = ["--plain", "--no-html", "--no-charts"].map(str::to_owned);
        let words: Vec<String> = words.into_iter().chain(flags).collect();
        let mut command = helper::bound(&words);
        let columns = columns.unwrap_or(LEAST_COLUMNS).max(LEAST_COLUMNS);
        command.stdin(Stdio::null());
        command.env("COLUMNS", columns.to_string());
        match Task::start(command, true) {
            Ok(task) => self.measuring = Some(task),
            Err(error) => {
                let why = format!("The measurement cannot be started: {error}.");
                return Some(without_findings(why));
            }
        }
        let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
        let line = format!("$ plimsoll {}", words.join(" "));
        Some(Event::Line(Source::Measurement, line))
    }

    /// What the children have printed, and which have ended.
    pub(super) fn events(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut lines = |source: Source, task: &Task| {
            let lines = task.lines().into_iter();
            events.extend(lines.map(|line| Event::Line(source, line)));
        };
        // The end is looked for first: no line comes after it.
        let job = self
            .job
            .as_mut()
            .map(|job| (job.task.ended(), &mut job.task));
        let job_ended = job.and_then(|(ended, task)| {
            lines(Source::Job, task);
            task.kill_if_overdue();
            ended
        });
        let measuring = self.measuring.as_mut().map(|task| (task.ended(), task));
        let found = measuring.and_then(|(ended, task)| {
            lines(Source::Measurement, task);
            task.kill_if_overdue();
            Some(found(task, ended?))
        });
        if let Some(status) = job_ended {
            self.job = None;
            events.push(Event::JobEnded(format!("The job ended ({status}).")));
        }
        if let Some(found) = found {
            self.measuring = None;
            events.push(found);
        }
        events
    }

    /// Ends all children, which give back what they have changed.
    pub(super) fn end(self) {
        let began = Instant::now();
        let job = self.job.map(|job| job.task);
        let mut tasks: Vec<Task> = job.into_iter().chain(self.measuring).collect();
        tasks.iter_mut().for_each(Task::ask_to_end);
        let mut is_explained = false;
        while tasks.iter_mut().any(|task| task.ended().is_none()) {
            tasks.iter_mut().for_each(Task::kill_if_overdue);
            if !is_explained && began.elapsed() >= SOON {
                note("plimsoll: waiting for the job to end");
                is_explained = true;
            }
            std::thread::sleep(LOOK);
        }
    }
}

fn without_findings(wrong: String) -> Event {
    Event::Measured {
        found: Vec::new(),
        wrong: Some(wrong),
    }
}

fn found(task: &Task, status: ExitStatus) -> Event {
    let wrong = match status.code() {
        Some(0) => None,
        Some(code) if code == i32::from(Failure::INTERRUPTED) || task.was_asked_to_end() => Some(
            "The measurement was stopped; the log (l) says how to resume its record.".to_owned(),
        ),
        _ => Some(format!("The measurement failed ({status}); l shows why.")),
    };
    Event::Measured {
        found: task.found(),
        wrong,
    }
}

/// Writes a scenario to a new file in the current folder, and says so.
fn saved(scenario: &Scenario) -> String {
    let json = serde_json::to_string_pretty(scenario).unwrap_or_default() + "\n";
    for nth in 1..=NAMES {
        let name = match nth {
            1 => "scenario.json".to_owned(),
            nth => format!("scenario-{nth}.json"),
        };
        match write_private(&PathBuf::from(&name), json.as_bytes(), Existing::Keep) {
            Ok(()) => return format!("Saved; repeat with plimsoll demo --page {name} --batch"),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return format!("{name} cannot be written: {error}."),
        }
    }
    format!("There are {NAMES} scenarios in this folder; none was written.")
}
