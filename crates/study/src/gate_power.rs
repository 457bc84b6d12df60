//! What it costs in watts to keep an idle CPU awake, from windows in which all CPUs are kept
//! awake and windows in which none is, and the burn that a budget in watts allows. Pure.

use crate::student;
use plimsoll_model::{Estimate, Share};

/// Two windows, one after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerPass {
    /// Power while all CPUs are kept awake.
    pub held_w: f64,
    /// Power while each may sleep.
    pub free_w: f64,
    /// CPUs that were idle in that window, on average.
    pub idle_cpus: f64,
}

/// Power of one idle CPU that is kept awake beyond one that may sleep; without an interval below
/// three passes.
pub fn watts_per_idle_cpu(passes: &[PowerPass]) -> Option<Estimate> {
    let of = |pass: &PowerPass| (pass.held_w - pass.free_w) / pass.idle_cpus;
    let each: Vec<f64> = passes.iter().map(of).filter(|w| w.is_finite()).collect();
    student::mean(&each)
}

/// What a budget in watts allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PowerBudget {
    /// Burn up to this share of all CPU time.
    Share(Share),
    /// All CPUs may be kept awake all the time.
    All,
    /// Nothing says what a CPU costs.
    Unknown,
}

/// By the upper end of the interval: the power stays within the budget in all but 2.5 % of runs.
pub fn allowed(budget_w: f64, watts_per_cpu: Option<Estimate>, cpus: usize) -> PowerBudget {
    let Some((_, high)) = watts_per_cpu.and_then(|w| w.interval()) else {
        return PowerBudget::Unknown;
    };
    let most = high * cpus as f64;
    match Share::new(budget_w / most) {
        Some(share) if most > budget_w => PowerBudget::Share(share),
        _ => PowerBudget::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(held_w: f64, free_w: f64) -> PowerPass {
        PowerPass {
            held_w,
            free_w,
            idle_cpus: 4.0,
        }
    }

    #[test]
    fn the_cost_is_per_idle_cpu_and_the_budget_keeps_to_its_upper_end() {
        let cost = watts_per_idle_cpu(&[pass(28.0, 20.0), pass(29.0, 20.0), pass(27.0, 20.0)]);
        let found = cost.unwrap();
        assert!((found.value - 2.0).abs() < 1e-12, "{found:?}");
        let (_, high) = found.interval().unwrap();
        let PowerBudget::Share(share) = allowed(4.0, cost, 8) else {
            panic!("{cost:?}");
        };
        assert!((share.get() - 4.0 / (8.0 * high)).abs() < 1e-12);
        assert!(share.get() < 0.25, "less than by the mean");
    }

    #[test]
    fn what_costs_less_than_the_budget_is_not_limited() {
        let cheap = watts_per_idle_cpu(&[pass(20.0, 20.0), pass(20.1, 20.0), pass(19.9, 20.0)]);
        assert_eq!(allowed(10.0, cheap, 8), PowerBudget::All);
        let saves = Some(Estimate::within(-2.0, -3.0, -1.0));
        assert_eq!(allowed(10.0, saves, 8), PowerBudget::All);
    }

    #[test]
    fn without_an_interval_nothing_is_allowed_by_guess() {
        assert_eq!(allowed(10.0, None, 8), PowerBudget::Unknown);
        let two = watts_per_idle_cpu(&[pass(28.0, 20.0), pass(29.0, 20.0)]);
        assert_eq!(allowed(10.0, two, 8), PowerBudget::Unknown);
        let no_idle = PowerPass {
            idle_cpus: 0.0,
            ..pass(28.0, 20.0)
        };
        assert_eq!(watts_per_idle_cpu(&[no_idle]), None);
    }
}
