//! The state of the lab in words, the same on a terminal and in a browser.

use super::state::{Button, Care, Job, JobWork, Phase, Second, State};
use plimsoll_law::SettlePhase;
use plimsoll_model::{Rate, human_duration, human_minutes};
use std::time::Duration;

pub(super) fn rates(last: &Second) -> String {
    let rate = |n: f64| Rate::per_second(n).map_or("-".to_owned(), |rate| rate.to_string());
    format!(
        "{} of {}  load {:.0} %  CPU {}",
        rate(last.served_rps).trim_end_matches("/s"),
        rate(last.asked_rps),
        last.load_pct,
        percent(last.cpu_pct)
    )
}

pub(super) fn latencies(last: &Second) -> String {
    let time = |us: Option<f64>| match us {
        Some(us) => human_duration(Duration::from_secs_f64((us / 1e6).clamp(0.0, 1e6))),
        None => "-".to_owned(),
    };
    let [p50, p95, p99] = last.us.map(time);
    format!("p50 {p50}  p95 {p95}  p99 {p99}  open {}", last.in_flight)
}

pub(super) fn pressure(last: &Second, is_wide: bool) -> String {
    let (delay, pressure) = (percent(last.run_delay_pct), percent(last.pressure_pct));
    match is_wide {
        false => format!("delay {delay}  PSI {pressure}"),
        true => format!("run delay {delay}  CPU pressure (PSI) {pressure}"),
    }
}

pub(super) fn job_work(last: &Second) -> String {
    match last.job {
        Some(JobWork::Done(mib)) if mib < 10.0 => format!("job {mib:.1} MiB/s"),
        Some(JobWork::Done(mib)) => format!("job {mib:.0} MiB/s"),
        Some(JobWork::CpuTime(pct)) => format!("job {pct:.0} % of a CPU"),
        None => "job -".to_owned(),
    }
}

fn percent(pct: Option<f64>) -> String {
    pct.map_or("-".to_owned(), |pct| format!("{pct:.0} %"))
}

/// The latency goal, and what the law has reached.
pub(super) fn goal(state: &State) -> String {
    let phase = match state.phase() {
        None => "",
        Some(SettlePhase::Settling) => ": settling",
        Some(SettlePhase::Settled) => ": settled",
        Some(SettlePhase::Unreachable) => ": missed",
    };
    format!("{}{phase}", state.about.goal)
}

pub(super) fn job(state: &State) -> String {
    let name = state.job_name();
    match state.job {
        Job::Stopped => format!("{name}: stopped"),
        Job::Ends { next: None } => format!("{name}: ending"),
        Job::Ends { next: Some(_) } => format!("{name}: restarting"),
        Job::Runs { care, since, .. } => {
            let gone = human_minutes(state.clock.saturating_sub(since));
            format!("{name}: {}, {gone}", care.name())
        }
    }
}

pub(super) fn button(state: &State, button: Button) -> &'static str {
    let runs = |care| state.job.care() == Some(care);
    match button {
        Button::Sideload if runs(Care::Sideload) => "stop the job",
        Button::Sideload => "job within headroom",
        Button::Sysload if runs(Care::Sysload) => "stop the job",
        Button::Sysload => "job with no care",
        Button::OtherJob => "other job",
        Button::Measure => "measure",
        Button::Save => "save",
    }
}

/// How far the measurement of a page is, if one runs; `hint` is how to see more of it.
pub(super) fn measuring(state: &State, hint: &str) -> Option<String> {
    let measuring = state.measuring.as_ref()?;
    let gone = human_minutes(state.clock.saturating_sub(measuring.since));
    Some(match measuring.phase {
        Phase::Waits => "Waiting for the job to end.".to_owned(),
        Phase::Runs => format!("Measuring for {gone}{hint}."),
        Phase::Ends => "Stopping the measurement.".to_owned(),
    })
}
