//! The latency that a user names, snapped to a boundary between idle states.

use plimsoll_model::human_duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// An idle state and the exit latency that it advertises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateLatency {
    pub name: String,
    #[serde(rename = "latency_ns", with = "plimsoll_model::Ns")]
    pub latency: Duration,
}

/// What a latency limit means on a machine with given idle states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "limit", rename_all = "snake_case")]
pub enum IdleLimit {
    /// States up to this one stay permitted; deeper ones are not.
    UpTo {
        state: StateLatency,
        /// The shallowest state that is not permitted.
        excluded: StateLatency,
    },
    /// Only polling stays permitted: each state that sleeps is above the limit.
    PollOnly {
        /// The shallowest state that sleeps.
        excluded: StateLatency,
    },
    /// The limit permits each state, and so changes nothing.
    NoEffect { deepest: StateLatency },
    /// There are no idle states: without a cpuidle driver no limit has an effect.
    NoStates,
}

/// The boundary at or below `limit`. A state whose latency is zero polls. The kernel
/// permits a state whose exit latency is at most the limit (`cpuidle_select` of the
/// governors, by `cpuidle_governor_latency_req`), and the limit zero means polling.
pub fn snap(limit: Duration, states: &[StateLatency]) -> IdleLimit {
    let sleeping = |state: &&StateLatency| !state.latency.is_zero();
    let (within, above): (Vec<_>, Vec<_>) = states
        .iter()
        .filter(sleeping)
        .partition(|state| state.latency <= limit);
    let deepest = within.into_iter().max_by_key(|state| state.latency);
    let excluded = above.into_iter().min_by_key(|state| state.latency);
    match (deepest.cloned(), excluded.cloned()) {
        (Some(state), Some(excluded)) => IdleLimit::UpTo { state, excluded },
        (None, Some(excluded)) => IdleLimit::PollOnly { excluded },
        (Some(deepest), None) => IdleLimit::NoEffect { deepest },
        (None, None) => IdleLimit::NoStates,
    }
}

impl fmt::Display for StateLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, human_duration(self.latency))
    }
}

impl fmt::Display for IdleLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IdleLimit::UpTo { state, excluded } => {
                write!(f, "idle states up to {state}, not {excluded} and deeper")
            }
            IdleLimit::PollOnly { excluded } => write!(
                f,
                "polling only (each idle state, from {excluded}, is above the limit)"
            ),
            IdleLimit::NoEffect { deepest } => write!(
                f,
                "no effect: the deepest idle state, {deepest}, is within the limit"
            ),
            IdleLimit::NoStates => f.write_str("no effect: there are no idle states"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(name: &str, us: u64) -> StateLatency {
        StateLatency {
            name: name.to_owned(),
            latency: Duration::from_micros(us),
        }
    }

    #[test]
    fn a_limit_snaps_to_the_boundary_below() {
        // Granite Rapids, as intel_idle has it.
        let states = [
            state("POLL", 0),
            state("C1", 1),
            state("C1E", 4),
            state("C6", 170),
        ];
        let at = |us| snap(Duration::from_micros(us), &states);
        let up_to = |i: usize| IdleLimit::UpTo {
            state: states[i].clone(),
            excluded: states[i + 1].clone(),
        };
        assert_eq!((at(1), at(3)), (up_to(1), up_to(1)));
        assert_eq!((at(4), at(169)), (up_to(2), up_to(2)));
        assert_eq!(at(0).to_string(), {
            "polling only (each idle state, from C1 (1us), is above the limit)"
        });
        assert_eq!(at(170).to_string(), {
            "no effect: the deepest idle state, C6 (170us), is within the limit"
        });
        assert_eq!(snap(Duration::ZERO, &[]), IdleLimit::NoStates);
        assert_eq!(
            snap(Duration::MAX, &[state("POLL", 0)]),
            IdleLimit::NoStates
        );
    }

    #[test]
    fn equal_latencies_are_on_one_side() {
        let states = [state("A", 5), state("B", 5), state("C", 9)];
        let found = snap(Duration::from_micros(5), &states);
        assert!(matches!(found, IdleLimit::UpTo { excluded, .. } if excluded.name == "C"));
    }
}
