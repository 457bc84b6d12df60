//! What is said about a run beside its findings: what can be typed next.

use plimsoll_model::{Phase, Trial, counted};

/// What can be done with the record of a run that has failed or was stopped
/// after `trials`.
pub(crate) fn how_to_go_on(trials: &[Trial], was_stopped: bool, path: &str) -> String {
    let measured = trials.iter().any(|t| t.spec.phase != Phase::Idle);
    if !measured && !was_stopped {
        return format!("nothing was measured yet; nothing is lost if {path} is deleted");
    }
    let kept = trials.len();
    let trials = counted(kept, "trial is", "trials are");
    format!("{trials} kept; go on with: plimsoll sweep --resume {path}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Rate, Setting, TrialSpec, WarmUp};
    use std::time::Duration;

    fn trial(phase: Phase) -> Trial {
        let spec = TrialSpec {
            phase,
            setting: Setting::Offer { rate: Rate::ZERO },
            pass: 0,
            attempt: 0,
            warm_up: WarmUp {
                min: Duration::ZERO,
                max: Duration::ZERO,
            },
            window: Duration::from_secs(1),
            limit: None,
            seed: 0,
        };
        Trial::begun(spec, 0)
    }

    #[test]
    fn a_run_that_measured_nothing_is_not_to_be_gone_on_with() {
        let idle = [trial(Phase::Idle)];
        assert!(!how_to_go_on(&idle, false, "x").contains("--resume"));
        assert!(how_to_go_on(&idle, true, "x").contains("--resume x"));
        assert!(how_to_go_on(&[trial(Phase::Calibration)], false, "x").contains("1 trial is kept"));
    }
}
