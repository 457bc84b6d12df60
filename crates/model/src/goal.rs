//! Promises that a service makes: `p99<10ms`, `errors<0.1%`, `cpu<80%`, `p99<2x`.

use crate::Share;
use crate::units::parse_duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A quantile strictly between 0 and 1, such as p99 or p99.9.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Quantile(f64);

impl Quantile {
    /// The median.
    pub const P50: Quantile = Quantile(0.5);
    /// 99 of 100 values do not exceed it.
    pub const P99: Quantile = Quantile(0.99);

    /// That of a fraction between 0 and 1.
    pub fn of(fraction: f64) -> Option<Quantile> {
        (fraction > 0.0 && fraction < 1.0).then_some(Quantile(fraction))
    }

    /// The quantile as a fraction, 0 to 1.
    pub fn fraction(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded, because 0.999 * 100 is 99.90000000000001 in binary.
        let percent = (self.0 * 100.0 * 1e6).round() / 1e6;
        write!(f, "p{percent}")
    }
}

impl Serialize for Quantile {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Quantile {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let percent: f64 = text.strip_prefix('p').ok_or(())?.parse().map_err(|_| ())?;
        Quantile::of(percent / 100.0).ok_or(())
    }
}

/// The limit of a latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LatencyLimit {
    /// A fixed time.
    Absolute(Duration),
    /// So many times the same quantile at light load (below 20 % CPU use).
    TimesLight(f64),
}

/// A promise that a service has to keep at a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Goal {
    /// A latency quantile stays below a limit.
    Latency {
        quantile: Quantile,
        limit: LatencyLimit,
    },
    /// The share of failed requests stays below a limit.
    Errors { limit: Share },
    /// The CPU use stays below a limit.
    Cpu { limit: Share },
}

impl Goal {
    /// Whether its limit is a multiple of what is measured at light load.
    pub fn is_relative(&self) -> bool {
        matches!(
            self,
            Goal::Latency {
                limit: LatencyLimit::TimesLight(_),
                ..
            }
        )
    }
}

impl Default for Goal {
    /// The published rule of the Graviton headroom study: p99 at most twice
    /// the p99 at less than 20 % CPU use.
    fn default() -> Self {
        Goal::Latency {
            quantile: Quantile::P99,
            limit: LatencyLimit::TimesLight(2.0),
        }
    }
}

/// Why a goal could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{given}' is not a goal: {why}; write it like p99<10ms, p99<2x, errors<0.1% or cpu<80%")]
pub struct GoalError {
    pub given: String,
    pub why: &'static str,
}

impl FromStr for Goal {
    type Err = GoalError;

    fn from_str(text: &str) -> Result<Self, GoalError> {
        let fail = |why| GoalError {
            given: text.to_owned(),
            why,
        };
        let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (what, limit) = squeezed
            .split_once("<=")
            .or_else(|| squeezed.split_once('<'))
            .ok_or_else(|| fail("it has no '<'"))?;
        match what {
            "errors" => Ok(Goal::Errors {
                limit: percent(limit).map_err(fail)?,
            }),
            "cpu" => Ok(Goal::Cpu {
                limit: percent(limit).map_err(fail)?,
            }),
            _ => Ok(Goal::Latency {
                quantile: what
                    .parse()
                    .map_err(|()| fail("the left side is not a percentile, errors or cpu"))?,
                limit: latency_limit(limit).map_err(fail)?,
            }),
        }
    }
}

fn percent(text: &str) -> Result<Share, &'static str> {
    let number = text
        .strip_suffix('%')
        .ok_or("the limit is not in percent")?;
    let value: f64 = number.parse().map_err(|_| "the limit is not a number")?;
    Share::new(value / 100.0)
        .filter(|s| *s > Share::ZERO)
        .ok_or("the limit is not between 0 and 100 %")
}

fn latency_limit(text: &str) -> Result<LatencyLimit, &'static str> {
    if let Some(times) = text.strip_suffix('x') {
        let times: f64 = times.parse().map_err(|_| "the factor is not a number")?;
        return (times.is_finite() && times > 1.0)
            .then_some(LatencyLimit::TimesLight(times))
            .ok_or("a factor of the light-load latency must be above 1");
    }
    parse_duration(text)
        .filter(|d| !d.is_zero())
        .map(LatencyLimit::Absolute)
        .ok_or("the limit is not a time with a unit (us, ms, s) or a factor (2x)")
}

/// All digits, because a plan is read back from this text.
fn exact(d: Duration) -> String {
    let ns = d.as_nanos() as f64;
    match ns {
        x if x < 1e3 => format!("{x}ns"),
        x if x < 1e6 => format!("{}us", x / 1e3),
        x if x < 1e9 => format!("{}ms", x / 1e6),
        x => format!("{}s", x / 1e9),
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |s: Share| (s.pct() * 1e6).round() / 1e6;
        match self {
            Goal::Latency { quantile, limit } => match limit {
                LatencyLimit::Absolute(d) => write!(f, "{quantile}<{}", exact(*d)),
                LatencyLimit::TimesLight(x) => write!(f, "{quantile}<{x}x"),
            },
            Goal::Errors { limit } => write!(f, "errors<{}%", plain(*limit)),
            Goal::Cpu { limit } => write!(f, "cpu<{}%", plain(*limit)),
        }
    }
}

impl TryFrom<String> for Goal {
    type Error = GoalError;
    fn try_from(text: String) -> Result<Self, GoalError> {
        text.parse()
    }
}

impl From<Goal> for String {
    fn from(goal: Goal) -> String {
        goal.to_string()
    }
}

/// The goals in their order, each once.
pub fn each_once(goals: &[Goal]) -> Vec<Goal> {
    let mut once: Vec<Goal> = Vec::new();
    for goal in goals {
        if !once.contains(goal) {
            once.push(*goal);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_round_trip() {
        for text in [
            "p99<10ms",
            "p99<12.3456ms",
            "p99.9<1.5s",
            "p50<250us",
            "p99<2x",
            "errors<0.1%",
            "cpu<80%",
        ] {
            assert_eq!(text.parse::<Goal>().unwrap().to_string(), text);
        }
        assert_eq!("p99 <= 10 ms".parse::<Goal>(), "p99<10ms".parse::<Goal>());
    }

    #[test]
    fn each_mistake_is_named_and_a_right_goal_shown() {
        for (bad, why) in [
            ("p99", "no '<'"),
            ("p99<10", "not a time with a unit"),
            ("p99<0ms", "not a time with a unit"),
            ("p100<1ms", "left side"),
            ("p0<1ms", "left side"),
            ("latency<1ms", "left side"),
            ("errors<1", "not in percent"),
            ("errors<-1%", "between 0 and 100"),
            ("cpu<NaN%", "between 0 and 100"),
            ("cpu<abc%", "not a number"),
            ("p99<1x", "above 1"),
            ("", "no '<'"),
        ] {
            let message = bad.parse::<Goal>().unwrap_err().to_string();
            assert!(message.contains(why), "{bad}: {message}");
            assert!(message.contains("p99<10ms"), "{message}");
        }
    }
}
