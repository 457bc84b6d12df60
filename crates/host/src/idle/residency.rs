//! How long CPUs slept in which state: an estimate of what they cost where there is no
//! energy counter. It is a share of time, never watts.

use super::states::IdleState;
use std::time::Duration;

/// Shares of a window of CPU time. The kernel counts what it asked for, not what the
/// hardware did, so this is an estimate.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Residency {
    /// The share of time in each state by name, 0 to 1, as the states are ordered.
    pub states: Vec<(String, f64)>,
    /// The share of time in which the CPUs ran or polled, 0 to 1: what is left by the
    /// states that take time to leave.
    pub awake: f64,
}

/// Residency between two readings of the states of one or more CPUs, `wall` apart;
/// `None` if nothing was read, or a CPU's states are not the same ones (it was offline).
pub fn residency(
    earlier: &[Vec<IdleState>],
    later: &[Vec<IdleState>],
    wall: Duration,
) -> Option<Residency> {
    let whole = wall.as_secs_f64() * later.len() as f64;
    if whole <= 0.0 || earlier.len() != later.len() || later.iter().any(Vec::is_empty) {
        return None;
    }
    let mut found = Residency::default();
    let mut asleep = 0.0;
    for (earlier, later) in earlier.iter().zip(later) {
        if earlier.len() != later.len() {
            return None;
        }
        for (before, after) in earlier.iter().zip(later) {
            if before.name != after.name {
                return None;
            }
            // Counters start anew when a CPU comes online.
            let share = after.time.checked_sub(before.time)?.as_secs_f64() / whole;
            if !after.latency.is_zero() {
                asleep += share;
            }
            match found.states.iter_mut().find(|state| state.0 == after.name) {
                Some(state) => state.1 += share,
                None => found.states.push((after.name.clone(), share)),
            }
        }
    }
    // A sleep is counted at its end, so a window may count more than it has.
    found.awake = (1.0 - asleep).clamp(0.0, 1.0);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(poll_ms: u64, halt_ms: u64) -> Vec<IdleState> {
        let state = |index, name: &str, latency, ms| IdleState {
            index,
            name: name.to_owned(),
            latency: Duration::from_micros(latency),
            residency: Duration::ZERO,
            usage: 0,
            time: Duration::from_millis(ms),
            above: None,
            below: None,
            rejected: None,
            disabled: false,
        };
        vec![state(0, "POLL", 0, poll_ms), state(1, "C1", 2, halt_ms)]
    }

    #[test]
    fn polling_is_awake() {
        let earlier = [states(0, 100), states(5, 5)];
        let later = [states(200, 900), states(5, 1005)];
        let found = residency(&earlier, &later, Duration::from_secs(1)).unwrap();
        let named: Vec<&str> = found.states.iter().map(|state| state.0.as_str()).collect();
        assert_eq!(named, ["POLL", "C1"]);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(found.states[0].1, 0.1) && near(found.states[1].1, 0.9));
        assert!(near(found.awake, 0.1), "{found:?}");
    }

    #[test]
    fn a_cpu_that_was_offline_has_no_window() {
        let second = Duration::from_secs(1);
        let whole = [states(0, 100)];
        assert_eq!(residency(&whole, &[states(0, 50)], second), None);
        assert_eq!(residency(&whole, &[Vec::new()], second), None);
        assert_eq!(residency(&[], &[], second), None);
        assert_eq!(residency(&whole, &whole, Duration::ZERO), None);
    }
}
