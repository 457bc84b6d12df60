//! Parameters of the project's law, and their ranges.

use crate::view::share;
use plimsoll_model::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// Parameters of the law. Shares are of the machine unless stated otherwise.
/// Each default follows from the stated reason; none was fitted to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The minimum share with which the sideload runs; below it is frozen. 0.1
    /// to 50 %, default 5 %: with two CPUs and a quota period of 10 ms that is
    /// 1 ms, the kernel's minimum quota (sched/core.c, `min_cfs_quota_period`).
    #[serde(rename = "floor_share")]
    pub floor: Share,
    /// By how much the available share must exceed the current share before it
    /// grows, and the floor before it thaws. 0 to 20 %, default 2 %: a tick of
    /// 4 ms is 2 % of two CPUs in 100 ms, and a count may be off by one tick.
    #[serde(rename = "band_share")]
    pub band: Share,
    /// Growth per second. 0.1 to 100 %, default 5 %: half of Koordinator's
    /// rate. Reaching all of an idle machine takes about 15 s, and a guard that
    /// reads once a second sees every step of 5 %.
    #[serde(rename = "growth_share_per_s")]
    pub growth_per_s: Share,
    /// How long no bound may fall below the current share before it grows or
    /// thaws. 0 to 60 s, default 1 s: bursts of load several times a second
    /// then meet the same small share.
    #[serde(rename = "settle_ns", with = "plimsoll_model::Ns")]
    pub settle: Duration,
    /// The part of the headroom that must stay idle for the machine not to
    /// count as full. Share of the headroom, 1 to 100 %, default 50 %: noise
    /// near the full headroom does not count as a full machine.
    #[serde(rename = "full_below_share")]
    pub full_below: Share,
    /// Factor per period while a guard is over its limit. Share of the
    /// sideload's use, 0 to 90 %, default 50 % (binary back-off): from the
    /// whole machine to below the default floor in five periods.
    #[serde(rename = "guard_keeps_share")]
    pub guard_keeps: Share,
    /// Consecutive periods with a missing input until it is frozen. 1 to 1000,
    /// default 5: one failed reading must not freeze it, and a service competes
    /// with the last share for at most 0.5 to 5 s, depending on the period.
    #[schemars(range(min = 1))]
    pub blind_periods: u32,
    /// Hold of the first freeze. 0 to 600 s, default 2 s: twice the settling
    /// time.
    #[serde(rename = "hold_min_ns", with = "plimsoll_model::Ns")]
    pub hold_min: Duration,
    /// Maximum hold, and how long it must have run for the next freeze to start
    /// again at `hold_min`. From `hold_min` to 600 s, default 30 s, as
    /// resctl-demo; longer would starve a job that could run at night.
    #[serde(rename = "hold_max_ns", with = "plimsoll_model::Ns")]
    pub hold_max: Duration,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            floor: share(0.05),
            band: share(0.02),
            growth_per_s: share(0.05),
            settle: Duration::from_secs(1),
            full_below: share(0.5),
            guard_keeps: share(0.5),
            blind_periods: 5,
            hold_min: Duration::from_secs(2),
            hold_max: Duration::from_secs(30),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} must be {allowed}; it is {given}")]
pub struct ParameterError {
    pub name: &'static str,
    pub allowed: Cow<'static, str>,
    pub given: String,
}

impl Parameters {
    /// Checks that each parameter is in range.
    ///
    /// # Errors
    /// [`ParameterError`] for the first that is not.
    pub fn check(&self) -> Result<(), ParameterError> {
        let growth = self.growth_per_s;
        let shares = [
            ("floor", self.floor, 0.001, 0.5, "0.1 to 50 %"),
            ("band", self.band, 0.0, 0.2, "0 to 20 %"),
            ("growth_per_s", growth, 0.001, 1.0, "0.1 to 100 %"),
            ("full_below", self.full_below, 0.01, 1.0, "1 to 100 %"),
            ("guard_keeps", self.guard_keeps, 0.0, 0.9, "0 to 90 %"),
        ];
        for (name, given, least, most, allowed) in shares {
            if !(least..=most).contains(&given.get()) {
                return Err(out_of_range(name, allowed, given.to_string()));
            }
        }
        if !(1..=1000).contains(&self.blind_periods) {
            let given = self.blind_periods.to_string();
            return Err(out_of_range("blind_periods", "1 to 1000", given));
        }
        let ten_minutes = Duration::from_secs(600);
        let times = [
            ("settle", self.settle, Duration::from_secs(60), "0 to 60 s"),
            ("hold_min", self.hold_min, ten_minutes, "0 to 600 s"),
            ("hold_max", self.hold_max, ten_minutes, "0 to 600 s"),
        ];
        for (name, given, most, allowed) in times {
            if given > most {
                return Err(out_of_range(name, allowed, format!("{given:?}")));
            }
        }
        if self.hold_max < self.hold_min {
            let given = format!("{:?}", self.hold_max);
            return Err(out_of_range("hold_max", "at least hold_min", given));
        }
        Ok(())
    }
}

pub(super) fn out_of_range(
    name: &'static str,
    allowed: impl Into<Cow<'static, str>>,
    given: String,
) -> ParameterError {
    ParameterError {
        name,
        allowed: allowed.into(),
        given,
    }
}
