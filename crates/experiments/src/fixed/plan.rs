//! The plan of a run: one trial at one rate.

use super::experiment::FixedTrial;
use super::phases::FixedOutcome;
use crate::args::LoadArgs;
use crate::defaults::{connections_open_within, ms};
use plimsoll_engine::order::derive;
use plimsoll_engine::visits::VisitPlanner;
use plimsoll_engine::{Next, Planner, Progress, RunError, Site, warm_up};
use plimsoll_host::Root;
use plimsoll_model::{
    CheckedPlan, ImplausiblePlan, Phase, PhasedRate, Plan, Rate, RatePhase, TrialSetting,
    TrialSpec, WarmUp, Workload, human_duration,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

const USUAL_RPS: f64 = 1000.0;
pub(super) const USUAL_WINDOW: Duration = ms(10_000);
/// Connections are opened, and caches filled, before the window.
const WARM_UP: Duration = ms(1000);
/// The window opens shortly after the warm-up, and the first phase is not to begin before.
const LEAD: Duration = ms(100);
/// Of a window at one rate.
const PARTS: u32 = 20;
const SHORTEST_IN_PARTS: Duration = ms(200);
/// That of `--duration`.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FixedPlan {
    /// Requests per second; where the rate changes, their mean.
    #[serde(rename = "rate_rps")]
    pub rate: Rate,
    /// How the rate changes; empty for one rate.
    #[serde(default)]
    pub phases: Vec<RatePhase>,
    #[serde(flatten)]
    pub load: Plan,
}

/// How the rates of the parts follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rates {
    One,
    /// None is lower than the one before.
    Rising,
    Other,
}

impl FixedPlan {
    pub(super) fn rates(&self) -> Rates {
        let rises = |pair: &[RatePhase]| pair[0].rate <= pair[1].rate;
        match self.phases.is_empty() {
            true => Rates::One,
            false if self.phases.windows(2).all(rises) => Rates::Rising,
            false => Rates::Other,
        }
    }

    /// The load, which begins with [`FixedPlan::before`]. One rate goes on after its parts, for
    /// requests that are waited for. Phases begin after a break in which the window opens: so no other
    /// request lies in it.
    pub(super) fn offered(&self) -> PhasedRate {
        let (parts, warm_up) = (self.parts(), self.load.run.warm_up.min);
        let rate = parts.first().map_or(self.rate, |first| first.rate);
        let at = |length| RatePhase { length, rate };
        let mut all = match self.phases.is_empty() {
            true => vec![at(warm_up + LEAD)],
            false => vec![
                at(warm_up),
                RatePhase {
                    length: LEAD,
                    rate: Rate::ZERO,
                },
            ],
        };
        all.extend(parts);
        if self.phases.is_empty() {
            all.push(at(LONGEST));
        }
        PhasedRate(all)
    }

    /// Phases of the load before its parts.
    pub(super) fn before(&self) -> usize {
        match self.phases.is_empty() {
            true => 1,
            false => 2,
        }
    }

    /// The phases, or equal parts of the window at one rate: how much they differ shows whether requests
    /// are slow together. None of a short window. They end before the window does.
    pub(super) fn parts(&self) -> Vec<RatePhase> {
        let window = self.load.run.window;
        if !self.phases.is_empty() || window < SHORTEST_IN_PARTS {
            return self.phases.clone();
        }
        let part = RatePhase {
            length: (window - LEAD) / PARTS,
            rate: self.rate,
        };
        vec![part; PARTS as usize]
    }
}

impl CheckedPlan for FixedPlan {
    fn check(&self) -> Result<(), ImplausiblePlan> {
        self.load.check()?;
        match self.phases.is_empty() {
            true => Ok(()),
            false => PhasedRate(self.phases.clone()).check(),
        }
    }
}

/// What the trial is made at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AtRate {
    /// Where it changes, the mean.
    #[serde(rename = "rate_rps")]
    pub(super) rate: Rate,
    /// The lowest and the highest, where it changes.
    #[serde(rename = "range_rps", default)]
    pub(super) range: Option<(Rate, Rate)>,
}

impl AtRate {
    pub(super) fn of(plan: &FixedPlan) -> AtRate {
        let rates = || plan.phases.iter().map(|phase| phase.rate.get());
        let least = rates().reduce(f64::min).and_then(Rate::per_second);
        let most = rates().reduce(f64::max).and_then(Rate::per_second);
        AtRate {
            rate: plan.rate,
            range: least.zip(most).filter(|(least, most)| least != most),
        }
    }
}

/// `2,000/s`, or `100/s to 5,000/s`
impl fmt::Display for AtRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.range {
            None => self.rate.fmt(f),
            Some((least, most)) => write!(f, "{least} to {most}"),
        }
    }
}

impl TrialSetting for AtRate {
    fn rate(&self) -> Option<Rate> {
        Some(self.rate)
    }
}

/// The rate and the window that flags ask for.
pub(super) fn asked(
    rate: Option<Rate>,
    duration: Option<Duration>,
    requests: Option<NonZeroU64>,
) -> Result<(Rate, Duration), RunError> {
    let usual = Rate::per_second(USUAL_RPS).unwrap_or(Rate::ZERO);
    let rate = rate.unwrap_or(usual);
    let Some(requests) = requests else {
        return Ok((rate, duration.unwrap_or(USUAL_WINDOW)));
    };
    let seconds = requests.get() as f64 / rate.get();
    match Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|window| *window <= LONGEST)
    {
        Some(window) if window >= ms(100) => Ok((rate, window)),
        Some(window) => Err(RunError::Usage(format!(
            "--requests {requests} at {rate} take {}, and a window has at least 100ms; give more requests, or a lower --rate",
            human_duration(window)
        ))),
        None => Err(RunError::Usage(format!(
            "--requests {requests} at {rate} take more than a day; give fewer requests, or a higher --rate"
        ))),
    }
}

/// The plan of a rate and a window, or of phases in place of them.
pub(super) fn plan(
    args: &LoadArgs,
    ((mut rate, mut window), phases): ((Rate, Duration), Vec<RatePhase>),
    workload: Workload,
    site: &Site,
    root: &Root,
) -> FixedPlan {
    if !phases.is_empty() {
        let offered = PhasedRate(phases.clone());
        rate = offered.mean();
        window = offered.length() + LEAD;
    }
    let mut load = Plan::blank(workload);
    load.arrivals = args.arrivals.into();
    load.calibration.rated = Some(rate);
    load.calibration.window = WARM_UP;
    load.run = args.blank_run(args.cpus(site, root), site.interrupts(root));
    load.run.passes = 1;
    load.run.window = window;
    load.run.warm_up = WarmUp::fixed(warm_up(&load.workload));
    // What was asked is measured once, whatever else runs here.
    load.run.bounds.retries = 0;
    FixedPlan { rate, phases, load }
}

/// The connections are open before the window begins.
fn warm_up(workload: &Workload) -> Duration {
    WARM_UP.max(WARM_UP / 2 + connections_open_within(workload))
}

/// Warms the service up at the rate of the trial, if the plan asks for it, and then makes the trial.
pub(super) struct FixedPlanner<'p> {
    plan: &'p FixedPlan,
    visits: VisitPlanner<'p, AtRate, FixedOutcome>,
}

impl<'p> FixedPlanner<'p> {
    pub(super) fn new(plan: &'p FixedPlan) -> FixedPlanner<'p> {
        let words = |setting: &AtRate| setting.to_string();
        let settings = vec![AtRate::of(plan)];
        FixedPlanner {
            plan,
            visits: VisitPlanner::of(&plan.load.run, settings, words, |_| None),
        }
    }
}

impl Planner for FixedPlanner<'_> {
    type Setting = AtRate;
    type Outcome = FixedOutcome;

    fn next(&self, trials: &[FixedTrial]) -> Next<AtRate> {
        let seed = derive(self.plan.load.run.seed, trials.len() as u64);
        let at = |rate, _| AtRate { rate, range: None };
        let rate = Some(self.plan.rate);
        match warm_up::next(&self.plan.load, trials, rate, at, seed) {
            Some(spec) => Next::Trial(spec),
            None => self.visits.next(trials),
        }
    }

    fn progress(&self, trials: &[FixedTrial]) -> Progress {
        let visits = self.visits.progress(trials);
        Progress {
            left: visits.left + warm_up::left(&self.plan.load, trials),
            ..visits
        }
    }

    fn describe(&self, spec: &TrialSpec<AtRate>) -> String {
        match spec.phase {
            Phase::WarmUp => format!("warm-up at {}", spec.setting),
            _ => self.visits.describe(spec),
        }
    }
}
