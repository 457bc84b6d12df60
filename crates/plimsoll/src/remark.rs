//! What is said about a run beside its findings: what can be typed next.

use crate::tally::tally;
use plimsoll_model::{Phase, Trial, counted};
use plimsoll_report::reason;

/// Why a run that is complete has failed all the same: none of its trials under
/// load is valid, calibration included. A caller that only looks at the exit
/// status must not take it for an answer.
pub(crate) fn none_counts<S, O>(trials: &[Trial<S, O>], path: &str) -> Option<String> {
    let loaded = trials.iter().filter(|t| t.spec.phase != Phase::Idle);
    let tally = tally(loaded);
    if tally.invalid < tally.all || tally.all == 0 {
        return None;
    }
    let (none, often, are) = match tally.all {
        1 => (
            "the only trial under load is invalid".to_owned(),
            "",
            "it is",
        ),
        n => (
            format!("none of the {n} trials under load is valid"),
            "most often ",
            "all are",
        ),
    };
    let why = tally.commonest.map(reason);
    let why = why.map_or_else(String::new, |why| format!(", {often}because {why}"));
    Some(format!(
        "{none}{why}; {are} kept in {path}; run it again when the machine is quieter, or allow more with --max-slip, --max-steal or --max-other"
    ))
}

/// What can be done with the record of a run that has failed or was stopped
/// after `trials`.
pub(crate) fn how_to_resume<S, O>(
    command: &str,
    trials: &[Trial<S, O>],
    was_stopped: bool,
    path: &str,
    flags: &str,
) -> String {
    let measured = trials.iter().any(|t| t.spec.phase != Phase::Idle);
    let kept = trials.len();
    if kept == 0 && !was_stopped {
        return format!("nothing was measured yet; nothing is lost if {path} is deleted");
    }
    if !measured && !was_stopped {
        let trials = counted(kept, "idle trial is", "idle trials are");
        return format!("only {trials} recorded; delete {path} and start over");
    }
    let trials = counted(kept, "trial is", "trials are");
    format!("{trials} kept; resume with: plimsoll {command} --resume {path}{flags}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Invalid, Rate, Setting, Share, TrialSpec, Verdict};
    use std::time::Duration;

    fn trial(phase: Phase) -> Trial {
        let at_rest = Setting::Offer { rate: Rate::ZERO };
        let spec = TrialSpec::blank(phase, at_rest, Duration::from_secs(1));
        Trial::begun(spec, 0)
    }

    #[test]
    fn a_run_of_which_nothing_counts_has_failed() {
        let with = |phase, verdict: Verdict| Trial {
            verdict,
            ..trial(phase)
        };
        let steal = Verdict::Invalid(vec![Invalid::Steal {
            stolen: Share::new(0.1).unwrap(),
            bound: Share::new(0.02).unwrap(),
        }]);
        let level = Phase::Level { level: None };
        let idle = with(Phase::Idle, Verdict::Valid);
        let none = [idle.clone(), with(level, steal.clone())];
        let why = none_counts(&none, "x").unwrap();
        assert!(
            why.contains("only trial") && why.contains("hypervisor"),
            "{why}"
        );
        let one = [idle, with(level, steal), with(level, Verdict::Valid)];
        assert_eq!(none_counts(&one, "x"), None);
        assert_eq!(none_counts::<Setting, ()>(&[], "x"), None);
    }

    #[test]
    fn what_is_kept_is_not_called_nothing() {
        let idle = [trial(Phase::Idle), trial(Phase::Idle)];
        let said = how_to_resume("sweep", &idle, false, "x", "");
        assert!(
            said.contains("2 idle trials") && !said.contains("nothing"),
            "{said}"
        );
        assert!(
            how_to_resume::<Setting, ()>("sweep", &[], false, "x", "")
                .contains("nothing was measured")
        );
    }

    #[test]
    fn a_run_that_measured_nothing_cannot_be_resumed() {
        let idle = [trial(Phase::Idle)];
        assert!(!how_to_resume("sweep", &idle, false, "x", "").contains("--resume"));
        assert!(how_to_resume("sweep", &idle, true, "x", "").contains("--resume x"));
        assert!(
            how_to_resume("sweep", &[trial(Phase::Calibration)], false, "x", "")
                .contains("1 trial is kept")
        );
    }
}
