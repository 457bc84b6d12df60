//! The plan of a run: one trial at one rate.

use super::args::FixedArgs;
use crate::defaults::ms;
use plimsoll_engine::{RunError, Site};
use plimsoll_host::Root;
use plimsoll_model::{Plan, Rate, TrialSetting, WarmUp, Workload, human_duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use std::time::Duration;

const USUAL_RPS: f64 = 1000.0;
const USUAL_WINDOW: Duration = ms(10_000);
/// Connections are opened, and caches filled, before the window.
const WARM_UP: Duration = ms(1000);
/// That of `--duration`.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FixedPlan {
    /// Requests per second.
    #[serde(rename = "rate_rps")]
    pub rate: Rate,
    #[serde(flatten)]
    pub load: Plan,
}

/// What the trial is made at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AtRate {
    #[serde(rename = "rate_rps")]
    pub(super) rate: Rate,
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

pub(super) fn plan(
    args: &FixedArgs,
    workload: Workload,
    site: &Site,
    root: &Root,
) -> Result<FixedPlan, RunError> {
    let (rate, window) = asked(args.rate, args.duration, args.requests)?;
    let mut load = Plan::blank(workload);
    load.arrivals = args.load.arrivals.into();
    load.calibration.rated = Some(rate);
    load.run = args
        .load
        .blank_run(args.load.cpus(site, root), site.interrupts(root));
    load.run.passes = 1;
    load.run.window = window;
    load.run.warm_up = WarmUp::fixed(WARM_UP);
    // What was asked is measured once, whatever else runs here.
    load.run.bounds.retries = 0;
    Ok(FixedPlan { rate, load })
}
