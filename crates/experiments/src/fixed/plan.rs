//! The plan of a run: one trial at one rate.

use crate::args::LoadArgs;
use crate::defaults::ms;
use plimsoll_engine::{RunError, Site};
use plimsoll_host::Root;
use plimsoll_model::{
    CheckedPlan, ImplausiblePlan, PhasedRate, Plan, Rate, RatePhase, ServiceWarmUp, TrialSetting,
    WarmUp, Workload, human_duration,
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
const SHORTEST_IN_PARTS: Duration = ms(2000);
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

impl FixedPlan {
    /// The load, of which [`FixedPlan::before`] is a warm-up. One rate goes on after its parts, for
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
    load.run = args.blank_run(args.cpus(site, root), site.interrupts(root));
    load.run.passes = 1;
    load.run.window = window;
    load.run.warm_up = WarmUp::fixed(WARM_UP);
    // What was asked is measured once, whatever else runs here.
    load.run.bounds.retries = 0;
    FixedPlan { rate, phases, load }
}

/// The load before the window: what is asked for, and at least a second.
pub(super) fn warm_up(asked: ServiceWarmUp, rate: Rate) -> Result<WarmUp, RunError> {
    let length = match asked {
        ServiceWarmUp::Time(time) => Some(time),
        ServiceWarmUp::Requests(n) => Duration::try_from_secs_f64(n as f64 / rate.get()).ok(),
    };
    let length = length.filter(|length| *length <= LONGEST).ok_or_else(|| {
        RunError::Usage(format!(
            "the requests of --warm-up take more than a day at {rate}; give fewer, or a higher --rate"
        ))
    })?;
    Ok(WarmUp::fixed(length.max(WARM_UP)))
}
