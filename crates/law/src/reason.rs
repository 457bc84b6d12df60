use crate::{Reading, Sample};
use plimsoll_model::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Why a law decided as it did. `Display` writes one sentence without a full
/// stop; shares are of the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Reason {
    /// Less is idle than the headroom.
    ServiceNeedsCpu {
        /// The idle share.
        #[serde(rename = "left_share")]
        left: Share,
        /// The share that is to stay free.
        #[serde(rename = "headroom_share")]
        headroom: Share,
    },
    /// The available share (`room`) is below the sideload's current share.
    LessRoom {
        #[serde(rename = "room_share")]
        room: Share,
        /// The use of everything else.
        #[serde(rename = "others_share")]
        others: Share,
    },
    /// The sideload's share grows towards the available share.
    Grows {
        #[serde(rename = "room_share")]
        room: Share,
        /// The sideload's share from now on.
        share: Share,
    },
    /// The available share differs too little from the current share for a
    /// change.
    Steady {
        #[serde(rename = "room_share")]
        room: Share,
    },
    /// More is available, but not yet for long enough.
    Settling {
        #[serde(rename = "room_share")]
        room: Share,
        /// How much longer it must be available.
        #[serde(rename = "remaining_ns", with = "plimsoll_model::Ns")]
        remaining: Duration,
    },
    /// Frozen; the cause is gone, but not yet for long enough.
    Held {
        /// How much longer it stays frozen.
        #[serde(rename = "remaining_ns", with = "plimsoll_model::Ns")]
        remaining: Duration,
    },
    Thaws {
        #[serde(rename = "room_share")]
        room: Share,
    },
    GuardOver {
        /// The guard's name, including its unit.
        guard: String,
        /// In the unit of the guard's name.
        value: f64,
        /// In the same unit.
        limit: f64,
    },
    /// An input is missing, so the sideload does not grow.
    Blind {
        missing: Missing,
        /// Consecutive periods with a missing input.
        periods: u32,
        /// Periods after which the sideload is frozen; `None` in laws that
        /// ignore the missing input.
        freezes_after: Option<u32>,
    },
    /// The average margin over the law's window is too small.
    Overload {
        /// The average margin.
        #[serde(rename = "margin_share")]
        margin: Share,
        /// The minimum margin.
        #[serde(rename = "needed_share")]
        needed: Share,
    },
    /// The law's formula gives this share.
    Follows { share: Share },
    /// The change is too small to be applied.
    Unchanged {
        /// The change.
        #[serde(rename = "change_share")]
        change: Share,
        /// The minimum change.
        #[serde(rename = "least_share")]
        least: Share,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Missing {
    /// The period is zero, or there are no CPUs.
    Period,
    /// The machine's CPU time could not be read.
    Machine,
    /// The machine's CPU time did not advance.
    Stuck,
    /// The sideload's CPU time could not be read.
    Sideload,
    Guard {
        /// Its name.
        name: String,
        /// Why it could not be read.
        why: String,
    },
}

impl Reason {
    /// An input is missing, and the law keeps its last decision.
    pub(crate) fn ignored(missing: Missing) -> Reason {
        Reason::Blind {
            missing,
            periods: 1,
            freezes_after: None,
        }
    }

    /// The first guard over its limit.
    pub(crate) fn guard_over(sample: &Sample) -> Option<Reason> {
        sample.guards.iter().find_map(|guard| match guard.reading {
            Reading::Over { value, limit } => Some(Reason::GuardOver {
                guard: guard.name.clone(),
                value,
                limit,
            }),
            _ => None,
        })
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::Period => f.write_str("the sample contains no CPU time"),
            Missing::Machine => f.write_str("the machine's CPU time could not be read"),
            Missing::Stuck => f.write_str("the machine's CPU time does not advance"),
            Missing::Sideload => f.write_str("the sideload's CPU time could not be read"),
            Missing::Guard { name, why } => write!(f, "{name} could not be read ({why})"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::ServiceNeedsCpu { left, headroom } => {
                let (left, headroom) = (Pct(*left), Pct(*headroom));
                write!(f, "others need the CPU: {left} left of {headroom} headroom")
            }
            Reason::LessRoom { room, others } => write!(
                f,
                "everything else uses {}, so {} are available within the headroom",
                Pct(*others),
                Pct(*room)
            ),
            Reason::Grows { room, share } => {
                let (room, share) = (Pct(*room), Pct(*share));
                write!(f, "{room} are available, so it grows to {share}")
            }
            Reason::Steady { room } => write!(f, "it already has the available {}", Pct(*room)),
            Reason::Settling { room, remaining } => {
                let (room, remaining) = (Pct(*room), Seconds(*remaining));
                write!(
                    f,
                    "{room} are available and must stay so for another {remaining}"
                )
            }
            Reason::Held { remaining } => {
                let remaining = Seconds(*remaining);
                write!(f, "it stays frozen for another {remaining} (hysteresis)")
            }
            Reason::Thaws { room } => {
                write!(f, "it resumes, because {} are available again", Pct(*room))
            }
            Reason::GuardOver {
                guard,
                value,
                limit,
            } => {
                let value = over(*value, *limit);
                write!(
                    f,
                    "{guard} is {value}, over its limit of {}",
                    number(*limit)
                )
            }
            Reason::Blind {
                missing,
                periods,
                freezes_after,
            } => write_blind(f, missing, *periods, *freezes_after),
            Reason::Overload { margin, needed } => write!(
                f,
                "on average {} are left for it, less than the required {}",
                Pct(*margin),
                Pct(*needed)
            ),
            Reason::Follows { share } => write!(f, "the formula gives {}", Pct(*share)),
            Reason::Unchanged { change, least } => {
                let (change, least) = (Pct(*change), Pct(*least));
                write!(f, "a change of {change} is below the minimum of {least}")
            }
        }
    }
}

fn write_blind(
    f: &mut fmt::Formatter<'_>,
    missing: &Missing,
    periods: u32,
    freezes_after: Option<u32>,
) -> fmt::Result {
    match freezes_after {
        Some(after) if periods >= after => write!(
            f,
            "{missing}, and inputs were missing in {periods} consecutive periods"
        ),
        Some(after) => write!(
            f,
            "{missing}, so it does not grow, and freezes after {after} consecutive periods with missing \
             inputs (now {periods})"
        ),
        None => write!(f, "{missing}, and this law keeps its last decision"),
    }
}

/// A value above its limit with three significant digits, or as many as show that it is.
fn over(value: f64, limit: f64) -> String {
    let rounded = |digits| format!("{value:.digits$e}").parse().unwrap_or(value);
    let shown = (2..16).map(rounded).find(|shown: &f64| *shown > limit);
    number(shown.unwrap_or(value))
}

/// All digits; with an exponent where zeros would hide them.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 | 1e-6..1e12 => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// Percent: whole from 10 on, one decimal below, none for whole numbers.
struct Pct(Share);

impl fmt::Display for Pct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0.pct() * 10.0).round();
        let decimals = usize::from(tenths < 100.0 && tenths % 10.0 != 0.0);
        write!(f, "{:.decimals$} %", tenths / 10.0)
    }
}

/// Seconds with one decimal, rounded up so that a positive duration is never
/// 0.0.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0.as_secs_f64() * 10.0).ceil();
        write!(f, "{:.1} s", tenths / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pct(pct: f64) -> Share {
        Share::new(pct / 100.0).unwrap()
    }

    #[test]
    fn reasons_are_sentences() {
        let (left, headroom) = (pct(3.0), pct(20.0));
        let guard_over = Reason::GuardOver {
            guard: "p99_ms".to_owned(),
            value: 12.5,
            limit: 10.0,
        };
        let blind = Reason::Blind {
            missing: Missing::Machine,
            periods: 5,
            freezes_after: Some(5),
        };
        let remaining = Duration::from_millis(1_240);
        for (reason, sentence) in [
            (
                Reason::ServiceNeedsCpu { left, headroom },
                "others need the CPU: 3 % left of 20 % headroom",
            ),
            (guard_over, "p99_ms is 12.5, over its limit of 10"),
            (
                blind,
                "the machine's CPU time could not be read, and inputs were missing in 5 \
                 consecutive periods",
            ),
            (
                Reason::Held { remaining },
                "it stays frozen for another 1.3 s (hysteresis)",
            ),
        ] {
            assert_eq!(reason.to_string(), sentence);
        }
    }

    #[test]
    fn a_value_over_its_limit_is_shown_to_be_over_it() {
        for (value, limit, shown) in [
            (0.049_912_3, 0.01, "0.0499, over its limit of 0.01"),
            (0.010_000_01, 0.01, "0.01000001, over its limit of 0.01"),
            (1_234.56, 1_230.0, "1235, over its limit of 1230"),
            (1_234.56, 900.0, "1230, over its limit of 900"),
            (-0.5, -0.75, "-0.5, over its limit of -0.75"),
            (0.5, 0.0, "0.5, over its limit of 0"),
            (4e-9, 1e-9, "4e-9, over its limit of 1e-9"),
            (1.0 / 3.0 * 1e300, 1.0, "3.33e299, over its limit of 1"),
        ] {
            let guard = "errors".to_owned();
            let reason = Reason::GuardOver {
                guard,
                value,
                limit,
            };
            assert_eq!(reason.to_string(), format!("errors is {shown}"));
        }
    }

    #[test]
    fn small_shares_have_a_decimal() {
        assert_eq!(Pct(pct(0.4)).to_string(), "0.4 %");
        assert_eq!(Pct(pct(9.96)).to_string(), "10 %");
        assert_eq!(Pct(pct(44.6)).to_string(), "45 %");
    }
}
