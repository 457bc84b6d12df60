//! Progress without a live view, on standard error: lines, or a bar for the
//! self-test on a terminal.

use crate::disturbed::Disturbed;
use crate::note::note;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_engine::{Ended, Observer, Progress, Started};
use plimsoll_model::{Phase, Second, human_duration, human_minutes, safe};

pub(crate) fn bar(on_terminal: bool) -> Box<dyn Observer> {
    if on_terminal {
        Box::new(Bar::new())
    } else {
        lines()
    }
}

pub(crate) fn lines() -> Box<dyn Observer> {
    Box::new(Lines::default())
}

/// A bar that grows by one visit at a time, with the trial beside it.
struct Bar {
    bar: ProgressBar,
    trial: String,
    last: String,
}

impl Bar {
    fn new() -> Bar {
        // Five times a second: the eye needs no more, and the CPU is being measured.
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(5));
        let style = ProgressStyle::with_template("{bar:24.cyan} {pos}/{len}  {wide_msg}");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Bar {
            bar,
            trial: String::new(),
            last: String::new(),
        }
    }

    fn show(&self, now: &str) {
        let now = if now.is_empty() { &self.last } else { now };
        self.bar
            .set_message(safe(&format!("{}  {now}", self.trial)));
    }
}

impl Observer for Bar {
    fn trial_started(&mut self, trial: &Started, progress: &Progress) {
        self.bar.set_length(progress.visits.max(1) as u64);
        self.bar.set_position(progress.done as u64);
        let left = human_minutes(progress.left);
        self.trial = format!("{left} left · {}", described(&trial.what, trial.attempt));
        self.show("");
    }

    fn second(&mut self, second: &Second) {
        self.show(&describe_second(second));
    }

    fn trial_ended(&mut self, trial: &Ended) {
        self.last = outcome(trial);
        self.bar.inc(visits(trial.phase, trial.attempt) as u64);
        self.show("");
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Prints a line when a trial has ended, with the visits that are then done.
#[derive(Default)]
struct Lines {
    place: String,
    disturbed: Disturbed,
}

impl Observer for Lines {
    fn trial_started(&mut self, trial: &Started, progress: &Progress) {
        let done = progress.done + visits(trial.phase, trial.attempt);
        // A search, which has no planned visits, may be all there is, or add some.
        let count = match progress.visits.max(done) {
            0 => String::new(),
            visits => format!("{done}/{visits}, "),
        };
        self.place = format!(
            "[{count}{} left] {}",
            human_minutes(progress.left),
            described(&trial.what, trial.attempt)
        );
    }

    fn trial_ended(&mut self, trial: &Ended) {
        note(&format!("{}: {}", self.place, outcome(trial)));
        if let Some(remark) = self.disturbed.add(trial) {
            note(&format!("note: {remark}"));
        }
    }
}

/// How many planned visits a trial does: none if it repeats one, or is part of
/// the preparation or the search.
fn visits(phase: Phase, attempt: u32) -> usize {
    usize::from(attempt == 0 && phase.is_level())
}

fn described(what: &str, attempt: u32) -> String {
    match attempt {
        0 => what.to_owned(),
        _ => format!("{what} (again)"),
    }
}

fn describe_second(second: &Second) -> String {
    let mut parts = vec![format!("{} answers", second.completed)];
    if let Some(p99) = second.p99 {
        parts.push(format!("p99 {}", human_duration(p99)));
    }
    if let Some(cpu) = second.cpu {
        parts.push(format!("CPU {:.0} %", cpu.pct()));
    }
    if second.errors > 0 {
        parts.push(format!("{} failed", second.errors));
    }
    parts.join(" · ")
}

fn outcome(trial: &Ended) -> String {
    if trial.is_valid() {
        return trial.measured.clone();
    }
    let reasons: Vec<String> = trial.invalid.iter().map(ToString::to_string).collect();
    let invalid = format!("INVALID: {}", reasons.join("; "));
    let parts = [trial.measured.clone(), invalid].into_iter();
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Setting, TrialSpec};
    use std::time::Duration;

    #[test]
    fn a_line_has_the_visits_that_are_done_with_its_trial() {
        let level = Phase::Level { level: None };
        for (phase, attempt, (done, visits), expected) in [
            (Phase::Idle, 0, (3, 4), "[3/4, 5 s left] x"),
            (level, 0, (3, 4), "[4/4, 5 s left] x"),
            (level, 1, (3, 4), "[3/4, 5 s left] x (again)"),
            (Phase::Search, 0, (3, 4), "[3/4, 5 s left] x"),
            (Phase::Search, 0, (0, 0), "[5 s left] x"),
            (level, 0, (4, 4), "[5/5, 5 s left] x"),
        ] {
            let mut lines = Lines::default();
            let mut spec = TrialSpec::blank(phase, Setting::Idle, Duration::ZERO);
            spec.attempt = attempt;
            let left = Duration::from_secs(5);
            let progress = Progress { done, visits, left };
            lines.trial_started(&Started::of(&spec, "x".to_owned()), &progress);
            assert_eq!(lines.place, expected);
        }
    }
}
