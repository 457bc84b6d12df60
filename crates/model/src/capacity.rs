//! What was concluded about a promise: how much is carried within it.

use crate::{Estimate, Goal, LatencyLimit, Rate};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Latency at light load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LightLoad {
    /// The highest load that counts as light, in percent of the rated rate.
    pub up_to_load_pct: f64,
    /// p99 over all valid trials at light load, in microseconds.
    pub p99_us: f64,
    /// Which trials stand for it.
    pub basis: LightBasis,
}

/// Which trials stand for light load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LightBasis {
    /// Levels below the bound in load and in CPU use.
    Levels,
    /// Levels below the bound in load; CPU use is not known.
    LevelsByLoadAlone,
    /// Calibration trials below the bound, as no level there has a valid trial.
    Calibration,
    /// The lowest levels with valid trials, up to 50 % load, as below the bound there are
    /// fewer requests than decide a p99.
    LowestLevel,
}

/// How the search for a capacity ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapacityStatus {
    /// Trials on both sides of it give it an interval.
    Found,
    /// The goal is far kept just below and far broken just above: the interval
    /// is those two loads, as near to each other as the search went.
    Cliff,
    /// The goal still held at the highest rate that could be tried, or at which there
    /// were enough requests to show it.
    NotReached,
    /// Inconclusive, for the reason in `note`.
    Undecided,
}

/// The highest rate that keeps a goal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CapacityFinding {
    /// The goal.
    pub goal: Goal,
    /// How the search ended.
    pub status: CapacityStatus,
    /// The highest rate that keeps the goal (`found`), or the highest that was seen to keep
    /// it (`cliff`, with the lowest that missed it as the upper end, and `not_reached`).
    pub rate_rps: Option<Estimate>,
    /// The same with an interval for runs at other times: what varies from run to run does
    /// not show within one, and a standard deviation of 3 % is assumed for it. `None` for a
    /// table.
    pub other_times_rps: Option<Estimate>,
    /// CPU use at that rate, in percent.
    pub cpu_pct: Option<Estimate>,
    /// Whether a longer trial at the lower end kept the goal; `None` without
    /// one.
    pub confirmed: Option<bool>,
    /// The limit that a relative goal came to, in microseconds.
    pub limit_us: Option<f64>,
    /// Why the goal was missed at the next load, if not by what it is about.
    pub missed_by: Option<MissedBy>,
    /// What all requests up to that rate together show; `None` for a goal that is not about
    /// requests, and for a table.
    pub all_requests: Option<AllRequests>,
    /// What a reader should know about it.
    pub note: Option<CapacityNote>,
}

/// The requests of all valid trials up to a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AllRequests {
    /// The load up to which most trials met the goal.
    pub rate_rps: f64,
    /// Percentage of the requests that missed the limit.
    pub missed_pct: f64,
    /// Trials that missed the goal.
    pub missed: usize,
    /// All valid trials.
    pub of: usize,
    /// How long they measured together.
    pub seconds: f64,
}

impl AllRequests {
    /// Events that come at least this often, in seconds, were seen with a probability of
    /// 95 %: of a Poisson process, in `T` seconds, one in `T / 3`.
    pub fn visible_every_s(&self) -> f64 {
        self.seconds / 3.0
    }
}

impl AllRequests {
    /// With so many digits of the share.
    fn said(&self, digits: u32) -> String {
        let share = significant(self.missed_pct, digits);
        let (missed, of) = (self.missed, self.of);
        format!(
            "at or below that rate {share} % of all requests missed it, in {missed} of {of} trials"
        )
    }
}

impl fmt::Display for AllRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said(2))
    }
}

/// Why a goal was missed although the quantity that it is about was within it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum MissedBy {
    /// The service answered fewer requests than were offered: a queue grew for as long
    /// as the trial lasted.
    FellBehind {
        /// Requests offered per second.
        offered_rps: f64,
        /// Requests answered per second.
        achieved_rps: f64,
    },
}

impl CapacityFinding {
    /// The latency that its goal allows, in microseconds; `None` for goals of
    /// something else, and for multiples of a latency that is not known.
    pub fn latency_limit_us(&self) -> Option<f64> {
        match self.goal {
            Goal::Latency {
                limit: LatencyLimit::Absolute(limit),
                ..
            } => Some(limit.as_secs_f64() * 1e6),
            Goal::Latency { .. } => self.limit_us,
            Goal::Errors { .. } | Goal::Cpu { .. } => None,
        }
    }
}

/// What a reader should know about a capacity, or why there is none.
///
/// Shown as a fact; what to do about it is said by who shows it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum CapacityNote {
    /// What its relative limit is a multiple of is not what it should be.
    Light {
        /// Which trials stand for light load.
        basis: LightBasis,
        /// The highest load among them, in percent.
        up_to_load_pct: f64,
    },
    /// Fewer requests than ever decide a goal on such a share.
    TooFewRequests {
        /// Independent requests that decide it.
        needed: f64,
        /// Independent requests that there were.
        seen: f64,
    },
    /// No load that kept the goal has as many requests as show that a goal on such a
    /// share is kept.
    TooFewRequestsAtLoad {
        /// Requests that show it.
        needed: f64,
        /// The most that any load had.
        most: f64,
    },
    /// The goal was kept at higher loads, too, with fewer requests than show it.
    TooFewRequestsAbove {
        /// Requests that show it.
        needed: f64,
        /// The most that any of these loads had.
        most: f64,
    },
    /// There is no valid trial at light load, of which the limit is a multiple, nor any that
    /// could stand for it.
    NoLightLoad {
        /// The lowest load with a valid trial, in percent.
        lowest_pct: Option<f64>,
        /// Whether the plan asks for a level at light load at all.
        planned: bool,
    },
    /// No request was answered at light load.
    NoAnswerAtLightLoad,
    /// No trial at a level or of the search is valid; those of the calibration may be.
    NoTrialCounts,
    /// The service's CPU use, which the goal is about, is not known.
    CpuUnknown,
    /// Failed requests, which the goal is about, were not measured: a table has none.
    ErrorsUnknown,
    /// The goal was broken at every rate.
    MissedAtLowest {
        /// The lowest rate that was tried, in requests per second.
        lowest_rps: f64,
    },
    /// Two rates far apart, with nothing tried between them.
    NothingBetween {
        /// The load that kept the goal.
        low: TriedAt,
        /// The load that broke it.
        high: TriedAt,
    },
    /// Trials at the same loads say both.
    Disagree {
        /// The lower load beside what is sought.
        low: TriedAt,
        /// The higher one.
        high: TriedAt,
    },
    /// The goal was met at saturation, too, where a queue grows for as long as the load lasts.
    Saturated {
        /// The throughput at saturation, in requests per second.
        saturation_rps: f64,
    },
    /// Most trials met the goal up to a load, but all requests up to there together missed
    /// it, or would over a longer time.
    MissedOverall {
        /// Percentage of requests that may miss the limit.
        allowed_pct: f64,
        /// The upper end of the 95 % interval of the percentage that misses it, from how
        /// trials differ.
        at_most_pct: f64,
        /// What was seen up to that load.
        seen: AllRequests,
    },
    /// Fewer requests at light load than the limit, a multiple of a percentile
    /// there, takes.
    TooFewAtLightLoad {
        /// Requests that show that percentile.
        needed: f64,
        /// Requests that there were.
        seen: u64,
    },
}

/// A load, and in how many of its trials a goal was kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TriedAt {
    /// The load, in requests per second.
    pub rate_rps: f64,
    /// Trials in which it was kept.
    pub kept: usize,
    /// All valid trials there.
    pub of: usize,
}

impl fmt::Display for TriedAt {
    /// Such as `2 of 3 times at 100/s`, of trials or of a table's rows; of one
    /// only the rate.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            0 | 1 => write!(f, "at {}", whole(self.rate_rps)),
            of => write!(f, "{} of {of} times at {}", self.kept, whole(self.rate_rps)),
        }
    }
}

/// Below this CPU use and load, in percent, a load is light: the bound of the
/// published rule "p99 at most twice the p99 at < 20 % CPU".
pub const LIGHT_PCT: f64 = 20.0;

/// Up to this load, in percent, the lowest level may stand for light load where
/// nothing lighter is valid. At half load the mean time in a single server is
/// already twice that in an idle one (M/M/1: `1 / (1 - load)`); beyond it, what
/// a goal would multiply is the queue itself.
pub const STAND_IN_PCT: f64 = 50.0;

impl fmt::Display for CapacityNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            CapacityNote::Light {
                basis,
                up_to_load_pct,
            } => write_light(f, basis, up_to_load_pct),
            CapacityNote::TooFewRequests { needed, .. }
            | CapacityNote::TooFewRequestsAtLoad { needed, .. }
            | CapacityNote::TooFewRequestsAbove { needed, .. } => {
                write!(f, "this goal takes {} ", requests(needed))?;
                f.write_str(&self.too_few())
            }
            CapacityNote::NoLightLoad {
                lowest_pct,
                planned,
            } => write_no_light(f, lowest_pct, planned),
            CapacityNote::NoAnswerAtLightLoad => {
                f.write_str("no request was answered at light load")
            }
            CapacityNote::NoTrialCounts => f.write_str("there is no valid trial under load"),
            CapacityNote::CpuUnknown => f.write_str("the service's CPU use is not known"),
            CapacityNote::ErrorsUnknown => {
                f.write_str("a table does not say how many requests failed")
            }
            CapacityNote::MissedAtLowest { lowest_rps } => {
                write!(
                    f,
                    "missed already at {}, the lowest rate with valid trials",
                    whole(lowest_rps)
                )
            }
            CapacityNote::NothingBetween { low, high } if high.kept == 0 => write!(
                f,
                "met {low}, missed at {} or not all was answered; no valid trials between",
                whole(high.rate_rps)
            ),
            CapacityNote::NothingBetween { low, high } => {
                write!(f, "met {low} and {high}; no valid trials between")
            }
            CapacityNote::Disagree { low, high } => write!(
                f,
                "trials at the same load disagree: the goal was met {low} and {high}"
            ),
            CapacityNote::Saturated { saturation_rps } => write!(
                f,
                "trials met it up to saturation, at {}, too, but there a queue grows for as long as \
                 the load lasts",
                whole(saturation_rps)
            ),
            CapacityNote::MissedOverall {
                allowed_pct,
                at_most_pct,
                seen,
            } => write_missed_overall(f, allowed_pct, at_most_pct, seen),
            CapacityNote::TooFewAtLightLoad { needed, seen } => write!(
                f,
                "the limit is a multiple of a percentile at light load that takes {needed:.0} \
                 requests to show, and there were {seen}"
            ),
        }
    }
}

impl CapacityNote {
    /// Of what there were too few requests, and how many there were.
    fn too_few(&self) -> String {
        match *self {
            CapacityNote::TooFewRequests { seen, .. } => format!(
                "independent requests to decide, and there were {}",
                requests(seen)
            ),
            CapacityNote::TooFewRequestsAtLoad { most, .. } => format!(
                "requests at a load, and no load at which it was met has more than {}",
                requests(most)
            ),
            CapacityNote::TooFewRequestsAbove { most, .. } => format!(
                "requests at a load, and no higher load at which it was met has more than {}",
                requests(most)
            ),
            _ => String::new(),
        }
    }
}

/// A number of requests; a large one with three digits, such as `3.00e8`.
fn requests(number: f64) -> String {
    match number < 1e6 {
        true => format!("{number:.0}"),
        false => format!("{number:.2e}"),
    }
}

/// With so many significant digits.
fn significant(pct: f64, digits: u32) -> String {
    if pct < 1e-3 {
        return if pct > 0.0 { "under 0.001" } else { "0" }.to_owned();
    }
    let digits = (f64::from(digits) - 1.0 - pct.log10().floor()).max(0.0);
    let text = format!("{pct:.*}", digits as usize);
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A rate without a fraction.
fn whole(rps: f64) -> String {
    Rate::per_second(rps.round()).map_or_else(|| format!("{rps}/s"), |rate| rate.to_string())
}

fn write_light(f: &mut fmt::Formatter<'_>, basis: LightBasis, load_pct: f64) -> fmt::Result {
    match basis {
        LightBasis::Levels => write!(f, "levels up to {load_pct:.0} % load stand for light load"),
        LightBasis::LevelsByLoadAlone => write!(
            f,
            "CPU use is not known; levels up to {load_pct:.0} % load stand for light load"
        ),
        LightBasis::Calibration => write!(
            f,
            "no valid level below {LIGHT_PCT:.0} % load and CPU use; trials of the calibration up to \
             {load_pct:.0} % load stand for light load"
        ),
        LightBasis::LowestLevel => write!(
            f,
            "too few valid requests below {LIGHT_PCT:.0} % load and CPU use; levels up to \
             {load_pct:.0} % load stand for light load, so the limit is laxer"
        ),
    }
}

fn write_missed_overall(
    f: &mut fmt::Formatter<'_>,
    allowed_pct: f64,
    at_most_pct: f64,
    seen: AllRequests,
) -> fmt::Result {
    let is_missed = seen.missed_pct > allowed_pct;
    if is_missed {
        let rate = whole(seen.rate_rps);
        write!(f, "most trials met it up to {rate}, but ")?;
    }
    // As many digits as tell the two shares apart.
    let allowed = |digits| significant(allowed_pct, digits);
    let is_apart = |digits: &u32| significant(seen.missed_pct, *digits) != allowed(*digits);
    let digits = (2..6).find(is_apart).unwrap_or(2);
    f.write_str(&seen.said(digits))?;
    if !is_missed {
        let at_most = significant(at_most_pct, digits);
        write!(f, ", and perhaps {at_most} % over a longer time")?;
    }
    write!(f, "; the goal allows {} %", allowed(2))
}

fn write_no_light(
    f: &mut fmt::Formatter<'_>,
    lowest_pct: Option<f64>,
    planned: bool,
) -> fmt::Result {
    match planned {
        true => write!(f, "no valid trial below {LIGHT_PCT:.0} % load and CPU use")?,
        false => write!(f, "no level is below {LIGHT_PCT:.0} % load")?,
    }
    if let Some(lowest) = lowest_pct {
        write!(
            f,
            ", and the lowest valid one, at {lowest:.0} % load, is too busy to stand for light load"
        )?;
    }
    Ok(())
}
