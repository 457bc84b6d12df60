//! The flags of `rig wait`.

use super::{GapPattern, WaitPlan};
use crate::args::value::positive_duration;
use clap::Args;
use plimsoll_engine::RunError;
use plimsoll_model::{Goal, LatencyLimit};
use plimsoll_schedulers::{WAKE_UP_PRICE, WaitPolicy};
use std::time::Duration;

/// What `rig wait` measures.
#[derive(Debug, Args)]
pub(crate) struct WaitArgs {
    /// How workers wait: spin, spin-then-yield, yield-then-park, spin-then-park and adaptive (also with a time, such as adaptive:50us), park; rayon and tokio as they do (default: all; with --quick without spin-then-yield).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = policy)]
    pub(in super::super) policies: Option<Vec<WaitPolicy>>,

    /// How the times between wake-ups are spread (default: all; with --quick poisson).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub(in super::super) patterns: Option<Vec<GapPattern>>,

    /// From one wake-up to the next on average, up to 1s (default: 50us,1ms,5ms,20ms; with --quick 1ms,5ms). A trial lasts for 380 gaps at least.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = positive_duration, allow_hyphen_values = true)]
    pub(in super::super) gaps: Option<Vec<Duration>>,

    /// Also how much each policy burns while nothing comes for so long, 1s to 60s (default: not measured).
    #[arg(long, value_name = "TIME", value_parser = idle, allow_hyphen_values = true)]
    pub(in super::super) idle: Option<Duration>,

    /// The latency that the recommended policy keeps, such as p99<20us (default: any).
    #[arg(long, value_name = "GOAL", value_parser = budget)]
    pub(in super::super) budget: Option<Goal>,

    /// What the recommended policy burns at most, in percent of a core, such as 5% (default: any).
    #[arg(long, value_name = "SHARE", value_parser = burn, allow_hyphen_values = true)]
    pub(in super::super) burn: Option<f64>,
}

fn policy(text: &str) -> Result<WaitPolicy, String> {
    text.parse().map_err(|error| {
        let known: Vec<String> = WaitPolicy::all().iter().map(ToString::to_string).collect();
        format!("{error}; choose from {}", known.join(", "))
    })
}

fn budget(text: &str) -> Result<Goal, String> {
    let goal: Goal = text.parse().map_err(|e| format!("{e}"))?;
    let wanted = ["p50", "p99", "p99.9"];
    match goal {
        Goal::Latency {
            quantile,
            limit: LatencyLimit::Absolute(_),
        } if wanted.contains(&quantile.to_string().as_str()) => Ok(goal),
        _ => Err("give p50, p99 or p99.9 and a time, such as p99<20us".to_owned()),
    }
}

fn idle(text: &str) -> Result<Duration, String> {
    positive_duration(text)
        .ok()
        .filter(|time| (Duration::from_secs(1)..=Duration::from_secs(60)).contains(time))
        .ok_or_else(|| "give a time from 1s to 60s, such as 10s".to_owned())
}

fn burn(text: &str) -> Result<f64, String> {
    let pct = text.strip_suffix('%').and_then(|n| n.trim().parse().ok());
    pct.filter(|pct: &f64| *pct > 0.0 && *pct <= 1e6)
        .ok_or_else(|| "give percent of a core, such as 5%".to_owned())
}

/// The longest gap: a stop waits for it.
const LONGEST_GAP: Duration = Duration::from_secs(1);

impl WaitArgs {
    /// The first flag that is given.
    pub(in super::super) fn first(&self) -> Option<&'static str> {
        let given = [
            ("--policies", self.policies.is_some()),
            ("--patterns", self.patterns.is_some()),
            ("--gaps", self.gaps.is_some()),
            ("--idle", self.idle.is_some()),
            ("--budget", self.budget.is_some()),
            ("--burn", self.burn.is_some()),
        ];
        let first = given.into_iter().find(|(_, is_given)| *is_given);
        first.map(|(flag, _)| flag)
    }

    /// # Errors
    /// A gap that is too long.
    pub(in super::super) fn plan(&self, quick: bool) -> Result<WaitPlan, RunError> {
        let us = |list: &[u64]| list.iter().copied().map(Duration::from_micros).collect();
        let mut mean_gaps: Vec<Duration> = match (&self.gaps, quick) {
            (Some(gaps), _) => gaps.clone(),
            (None, true) => us(&[1_000, 5_000]),
            (None, false) => us(&[50, 1_000, 5_000, 20_000]),
        };
        mean_gaps.sort_unstable();
        mean_gaps.dedup();
        if mean_gaps.iter().any(|gap| *gap > LONGEST_GAP) {
            return Err(RunError::Usage("--gaps has a gap above 1s".to_owned()));
        }
        let mut patterns = match (&self.patterns, quick) {
            (Some(patterns), _) => patterns.clone(),
            (None, true) => vec![GapPattern::Poisson],
            (None, false) => GapPattern::ALL.to_vec(),
        };
        patterns.sort_unstable();
        patterns.dedup();
        let all = self.policies.clone().unwrap_or_else(WaitPolicy::all);
        let is_left_out =
            |name: &str| quick && self.policies.is_none() && name == "spin-then-yield";
        let mut policies: Vec<String> = Vec::new();
        for name in all.iter().map(ToString::to_string) {
            if !policies.contains(&name) && !is_left_out(&name) {
                policies.push(name);
            }
        }
        Ok(WaitPlan {
            policies,
            patterns,
            mean_gaps,
            idle: self.idle,
            price: WAKE_UP_PRICE,
            budget: self.budget,
            most_burn_pct: self.burn,
        })
    }
}
