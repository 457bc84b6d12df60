//! What is told while a run goes on where there is no live view: lines, or a
//! bar for the self-test on a terminal. Both go to standard error, so that
//! findings can be piped.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_experiment::{Progress, Watch};
use plimsoll_model::{
    Arm, Phase, Second, Setting, Share, Trial, TrialSpec, Verdict, human_duration,
};
use std::io::Write;
use std::time::Duration;

/// A bar on a terminal, lines elsewhere.
pub(crate) fn bar(on_terminal: bool) -> Box<dyn Watch> {
    if on_terminal {
        Box::new(Bar::new())
    } else {
        lines()
    }
}

/// A line per trial.
pub(crate) fn lines() -> Box<dyn Watch> {
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
        self.bar.set_message(format!("{}  {now}", self.trial));
    }
}

impl Watch for Bar {
    fn begins(&mut self, spec: &TrialSpec, progress: &Progress) {
        self.bar.set_length(progress.visits.max(1) as u64);
        self.bar.set_position(progress.done as u64);
        self.trial = format!("{} left · {}", minutes(progress.left), describe(spec));
        self.show("");
    }

    fn second(&mut self, second: &Second) {
        self.show(&describe_second(second));
    }

    fn ended(&mut self, trial: &Trial) {
        self.last = describe_outcome(trial);
        self.bar
            .inc(u64::from(trial.spec.attempt == 0 && is_visit(&trial.spec)));
        self.show("");
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A line per trial.
#[derive(Default)]
struct Lines {
    place: String,
}

impl Watch for Lines {
    fn begins(&mut self, spec: &TrialSpec, progress: &Progress) {
        let place = format!(
            "[{}/{}, {} left] {}",
            progress.done,
            progress.visits,
            minutes(progress.left),
            describe(spec)
        );
        self.place = place;
    }

    fn ended(&mut self, trial: &Trial) {
        // Nobody may be reading any more; the run goes on all the same.
        let _ = writeln!(
            std::io::stderr(),
            "{}: {}",
            self.place,
            describe_outcome(trial)
        );
    }
}

fn is_visit(spec: &TrialSpec) -> bool {
    matches!(spec.phase, Phase::Level { .. })
}

/// What a trial does.
pub(crate) fn describe(spec: &TrialSpec) -> String {
    let what = match (spec.phase, spec.setting) {
        (_, Setting::Copies { copies: 1 }) => "one copy alone".to_owned(),
        (_, Setting::Copies { copies }) => format!("{copies} copies"),
        (_, Setting::Beside { arm, headroom, .. }) => describe_arm(arm, headroom),
        (Phase::Idle, _) | (_, Setting::Idle) => "idle baseline".to_owned(),
        (Phase::Calibration, Setting::Offer { rate }) => format!("finding the rated rate: {rate}"),
        (Phase::Search, Setting::Offer { rate }) => format!("narrowing down: {rate}"),
        (Phase::Confirmation, Setting::Offer { rate }) => format!("confirming {rate}"),
        (Phase::OneThreadPerCore, Setting::Offer { rate }) => {
            format!("full load on one thread of each core: {rate}")
        }
        (Phase::TwoThreadsPerCore, Setting::Offer { rate }) => {
            format!("full load on both threads of each core: {rate}")
        }
        (Phase::Level { level }, Setting::Offer { rate }) => {
            let level = level.map(|l| format!("load {l}, ")).unwrap_or_default();
            format!("{level}{rate}")
        }
    };
    if spec.attempt > 0 {
        format!("{what} (again)")
    } else {
        what
    }
}

fn describe_arm(arm: Arm, headroom: Option<Share>) -> String {
    match (arm, headroom) {
        (Arm::ServiceAlone | Arm::ServiceAgain, _) => "the service alone".to_owned(),
        (Arm::JobAlone, _) => "the job alone".to_owned(),
        (arm, None) => format!("service and job, {arm}"),
        (arm, Some(headroom)) => {
            format!(
                "service and job, {arm} with a headroom of {:.0} %",
                headroom.pct()
            )
        }
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

/// What came of it, and why it does not count.
pub(crate) fn describe_outcome(trial: &Trial) -> String {
    let measured = describe_measured(trial);
    let Verdict::Invalid(reasons) = &trial.verdict else {
        return measured;
    };
    let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    let invalid = format!("INVALID: {}", reasons.join("; "));
    let parts = [measured, invalid].into_iter();
    let said: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    said.join(" · ")
}

/// What was measured.
pub(crate) fn describe_measured(trial: &Trial) -> String {
    let mut parts = Vec::new();
    match trial.spec.setting {
        Setting::Beside { arm, .. } if !arm.has_service() => {}
        Setting::Offer { .. } | Setting::Beside { .. } => {
            parts.push(format!("{}", trial.achieved()));
        }
        Setting::Copies { .. } => {
            if let Some(slowest) = trial.copy_times.iter().max() {
                parts.push(format!("slowest copy {}", human_duration(*slowest)));
            }
        }
        Setting::Idle => {}
    }
    if let Some(p99) = trial.work.latency.quantile(0.99) {
        parts.push(format!("p99 {}", human_duration(p99)));
    }
    let cpu = trial.machine.service_cpu.as_ref();
    if let Some(share) = cpu.and_then(|c| c.busy_share()) {
        parts.push(format!("CPU {:.0} %", share.pct()));
    }
    let errors = trial.work.errors.total();
    if errors > 0 {
        parts.push(format!("{errors} failed"));
    }
    parts.join(" · ")
}

/// `45 s`, `3:05 min`.
pub(crate) fn minutes(d: Duration) -> String {
    let seconds = d.as_secs_f64().round() as u64;
    if seconds < 60 {
        format!("{seconds} s")
    } else {
        format!("{}:{:02} min", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_left_read_like_a_clock() {
        assert_eq!(minutes(Duration::from_millis(44_600)), "45 s");
        assert_eq!(minutes(Duration::from_secs(185)), "3:05 min");
    }
}
