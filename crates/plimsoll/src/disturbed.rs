//! An early remark on a machine that is too busy: what disturbs the first trials under
//! load disturbs the rest, and a run that ends without a valid trial takes as long as
//! any.

use plimsoll_engine::Ended;
use plimsoll_model::{Invalid, Phase};

/// So many trials under load are invalid from the first before anything is said: one may
/// be chance.
const FIRST: usize = 2;

/// The trials under load so far, as far as the remark needs them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disturbed {
    seen: usize,
    is_decided: bool,
}

impl Disturbed {
    /// Takes in a trial that has ended; the remark, once.
    ///
    /// The baseline without load does not count: a service that is busy by itself is
    /// other load there.
    pub(crate) fn add(&mut self, trial: &Ended) -> Option<String> {
        if self.is_decided || trial.phase == Phase::Idle {
            return None;
        }
        let by_others = |r: &&Invalid| !matches!(r, Invalid::Slip { .. });
        let Some(reason) = trial.invalid.iter().find(by_others) else {
            self.is_decided = true;
            return None;
        };
        self.seen += 1;
        self.is_decided = self.seen == FIRST;
        let remedy = match reason {
            Invalid::Steal { .. } => "use a machine with CPUs of its own",
            _ => "end them (top shows which)",
        };
        let flag = reason.kind().flag();
        self.is_decided.then(|| {
            format!(
                "the first {FIRST} trials under load are invalid: {reason}; if that lasts, this run \
                 finds nothing: {remedy}, press Ctrl-C and start it later, or allow more with {flag}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::Started;
    use plimsoll_model::{CpusOf, Setting, Share, TrialSpec};
    use std::time::Duration;

    fn trial(phase: Phase, invalid: Vec<Invalid>) -> Ended {
        let spec = TrialSpec::blank(phase, Setting::Idle, Duration::ZERO);
        let begun = Started::of(&spec, "x".to_owned());
        Ended {
            phase,
            attempt: 0,
            what: begun.what,
            measured: String::new(),
            invalid,
            x: None,
            times_us: Vec::new(),
            cpu_pct: None,
        }
    }

    fn others() -> Vec<Invalid> {
        let used = Share::new(0.97).unwrap();
        let bound = Share::new(0.05).unwrap();
        let on = CpusOf::Machine;
        vec![Invalid::OtherLoad { used, bound, on }]
    }

    fn late() -> Vec<Invalid> {
        let (p99, bound) = (Duration::from_secs(1), Duration::ZERO);
        vec![Invalid::Slip { p99, bound }]
    }

    #[test]
    fn it_is_said_once_and_only_if_the_first_trials_are_disturbed() {
        let calibration = Phase::Calibration;
        let remarks = |trials: &[Ended]| {
            let mut so_far = Disturbed::default();
            let all = trials.iter().filter_map(|trial| so_far.add(trial));
            all.collect::<Vec<String>>()
        };
        let busy = || trial(calibration, others());
        let [said] = &remarks(&[busy(), busy(), busy(), busy()])[..] else {
            panic!("not said once");
        };
        for words in ["other processes used 97.0 %", "--max-other", "Ctrl-C"] {
            assert!(said.contains(words), "{said}");
        }
        let idle = || trial(Phase::Idle, others());
        for quiet in [
            vec![idle(), idle(), busy()],
            vec![trial(calibration, vec![]), busy(), busy()],
            vec![busy(), trial(calibration, late()), busy(), busy()],
        ] {
            assert_eq!(remarks(&quiet), [""; 0]);
        }
    }
}
