//! The rated rate: throughput at saturation, from the calibration trials.

use crate::carried::trial_is_carried;
use plimsoll_model::{Invalid, Phase, Plan, Rate, RatedRate, Trial, Verdict};

/// Whether the trial is invalid because of the generator's own limits.
pub fn limited_by_generator(trial: &Trial) -> bool {
    let Verdict::Invalid(reasons) = &trial.verdict else {
        return false;
    };
    reasons
        .iter()
        .any(|r| matches!(r, Invalid::Slip { .. } | Invalid::GeneratorCpu { .. }))
}

/// Whether the trial is invalid because somebody else disturbed it, and for
/// no other reason.
pub fn only_disturbed(trial: &Trial) -> bool {
    !trial.verdict.is_valid() && !limited_by_generator(trial)
}

/// The calibration trials that were not disturbed, in order, and those that
/// were disturbed at the last try too: there is nothing better.
pub fn usable<'a>(plan: &Plan, trials: &'a [Trial]) -> Vec<&'a Trial> {
    trials
        .iter()
        .filter(|t| t.spec.phase == Phase::Calibration)
        .filter(|t| !only_disturbed(t) || t.spec.attempt >= plan.calibration.retries)
        .collect()
}

/// The rate given by the user, or the highest throughput seen while
/// calibrating; `None` before the first trial.
pub fn rated(plan: &Plan, trials: &[Trial]) -> Option<RatedRate> {
    if let Some(given) = plan.calibration.rated {
        return Some(RatedRate {
            rate_rps: given.get(),
            limited_by_service: true,
        });
    }
    let usable = usable(plan, trials);
    let best = usable
        .iter()
        .map(|t| t.achieved())
        .max_by(|a, b| a.get().total_cmp(&b.get()))
        .filter(|r| *r > Rate::ZERO)?;
    let overloaded = usable
        .iter()
        .any(|t| !trial_is_carried(t) && !limited_by_generator(t));
    Some(RatedRate {
        rate_rps: best.get(),
        limited_by_service: overloaded,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{calibration_trial, plan};

    #[test]
    fn the_highest_throughput_counts_not_the_last() {
        let trials = [
            calibration_trial(1000.0, 1000),
            calibration_trial(2000.0, 1500),
            calibration_trial(1650.0, 1480),
        ];
        let rated = rated(&plan(), &trials).unwrap();
        assert!((rated.rate_rps - 1500.0).abs() < 1e-9);
        assert!(rated.limited_by_service);
    }

    #[test]
    fn a_late_generator_proves_nothing_about_the_service() {
        let mut late = calibration_trial(2000.0, 1500);
        late.verdict = Verdict::Invalid(vec![Invalid::Slip {
            p99: std::time::Duration::from_millis(50),
            bound: std::time::Duration::from_micros(100),
        }]);
        let rated = rated(&plan(), &[calibration_trial(1000.0, 1000), late]).unwrap();
        assert!(!rated.limited_by_service);
    }

    #[test]
    fn nothing_answered_is_no_rate() {
        assert_eq!(rated(&plan(), &[calibration_trial(1000.0, 0)]), None);
    }
}
