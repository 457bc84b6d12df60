//! What is said about a run beside its findings: what was typed, and what can
//! be typed next.

use plimsoll_model::{Phase, Rate, Trial};
use plimsoll_study::carried::trial_is_carried;

/// A warning that `--rated` was far from what the service carries: then every
/// level overloads it, and the table says little about it.
pub(crate) fn rated_too_high(rated: Option<Rate>, trials: &[Trial]) -> Option<String> {
    let rated = rated?;
    let at_levels = || trials.iter().filter(|t| is_level(t));
    if at_levels().any(trial_is_carried) {
        return None;
    }
    let rate = |a: Rate, b: Rate| a.get().total_cmp(&b.get());
    let lowest = at_levels().map(Trial::asked).min_by(|a, b| rate(*a, *b))?;
    let most = at_levels()
        .map(Trial::achieved)
        .max_by(|a, b| rate(*a, *b))?;
    Some(format!(
        "warning: --rated {} is far more than the service carries: at no level did it keep up, not at the lowest of {lowest}, and it answered at most {most}; leave --rated out to have the rate found",
        rated.get()
    ))
}

/// What can be done with the record of a run that has failed or was stopped
/// after `trials`.
pub(crate) fn how_to_go_on(trials: &[Trial], was_stopped: bool, path: &str) -> String {
    let measured = trials.iter().any(|t| t.spec.phase != Phase::Idle);
    if !measured && !was_stopped {
        return format!("nothing was measured yet; nothing is lost if {path} is deleted");
    }
    let kept = trials.len();
    let trials = if kept == 1 { "trial is" } else { "trials are" };
    format!("{kept} {trials} kept; go on with: plimsoll sweep --resume {path}")
}

fn is_level(trial: &Trial) -> bool {
    matches!(trial.spec.phase, Phase::Level { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Setting, TrialSpec, WarmUp};
    use std::time::Duration;

    /// One second at a level.
    fn trial(asked: u64, completed: u64) -> Trial {
        let mut trial = Trial::begun(
            TrialSpec {
                phase: Phase::Level { level: None },
                setting: Setting::Offer {
                    rate: Rate::of(asked, Duration::from_secs(1)),
                },
                pass: 0,
                attempt: 0,
                warm_up: WarmUp {
                    min: Duration::ZERO,
                    max: Duration::ZERO,
                },
                window: Duration::from_secs(1),
                seed: 0,
            },
            0,
        );
        trial.work.intended = asked;
        trial.work.completed = completed;
        trial
    }

    #[test]
    fn a_rate_that_no_level_comes_near_is_warned_of() {
        let rated = Rate::per_second(1_000_000.0);
        let drowned = [trial(500_000, 900), trial(50_000, 1000)];
        let warning = rated_too_high(rated, &drowned).unwrap();
        for words in ["--rated 1000000", "50,000/s", "1,000/s"] {
            assert!(warning.contains(words), "{words}: {warning}");
        }
        let carried = [trial(500_000, 900), trial(500, 500)];
        assert_eq!(rated_too_high(rated, &carried), None);
        assert_eq!(rated_too_high(None, &drowned), None, "it was found");
        assert_eq!(rated_too_high(rated, &[]), None);
    }

    #[test]
    fn a_run_that_measured_nothing_is_not_to_be_gone_on_with() {
        let mut idle = trial(0, 0);
        idle.spec.phase = Phase::Idle;
        let idle = [idle];
        assert!(!how_to_go_on(&idle, false, "x").contains("--resume"));
        assert!(how_to_go_on(&idle, true, "x").contains("--resume x"));
        assert!(how_to_go_on(&[trial(1, 1)], false, "x").contains("1 trial is kept"));
    }
}
