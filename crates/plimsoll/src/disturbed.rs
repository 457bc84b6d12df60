//! A machine that is too busy: what disturbs the first trials under load disturbs the
//! rest. First there is a remark, then the run ends, because without a valid trial it
//! finds nothing however long it takes.

use plimsoll_engine::Ended;
use plimsoll_host::{BusyProcess, BusyWatch, Root};
use plimsoll_model::{Invalid, Phase, Trial};
use std::thread::sleep;
use std::time::Duration;

/// Whether so many trials under load are invalid from the first because of others: one may be chance.
#[derive(Debug, Clone)]
struct FirstTrials {
    left: usize,
    is_decided: bool,
}

impl FirstTrials {
    const fn new(number: usize) -> FirstTrials {
        FirstTrials {
            left: number,
            is_decided: false,
        }
    }

    /// Takes in a trial; the last reason once, if all are invalid.
    ///
    /// The baseline without load does not count: a service that is busy by itself is
    /// other load there. Nor does one whose generator alone was late: that shows neither.
    fn add<'a>(&mut self, phase: Phase, reasons: &'a [Invalid]) -> Option<&'a Invalid> {
        let by_others = |r: &&Invalid| !matches!(r, Invalid::Slip { .. });
        let reason = reasons.iter().find(by_others);
        let is_late_alone = reason.is_none() && !reasons.is_empty();
        if self.is_decided || phase == Phase::Idle || is_late_alone {
            return None;
        }
        self.left -= 1;
        self.is_decided = reason.is_none() || self.left == 0;
        reason.filter(|_| self.is_decided)
    }
}

/// So many before there is a remark.
const REMARKED: usize = 2;

/// An early remark.
#[derive(Debug, Clone)]
pub(crate) struct Disturbed(FirstTrials);

impl Default for Disturbed {
    fn default() -> Disturbed {
        Disturbed(FirstTrials::new(REMARKED))
    }
}

impl Disturbed {
    /// Takes in a trial that has ended; the remark, once.
    pub(crate) fn add(&mut self, trial: &Ended) -> Option<String> {
        let reason = self.0.add(trial.phase, &trial.invalid)?;
        let remedy = match reason {
            Invalid::Steal { .. } => "use a machine with CPUs of its own",
            _ => "end them (top shows which)",
        };
        let flag = reason.kind().flag();
        Some(format!(
            "the first {REMARKED} trials under load are invalid: {reason}; if that lasts, this run \
             finds nothing: {remedy}, press Ctrl-C and start it later, or allow more with {flag}"
        ))
    }
}

/// So many before the run ends.
const ENDED: usize = 10;
/// How long to watch what others use.
const WATCHED: Duration = Duration::from_millis(300);

/// Ends a run of which no trial is valid.
#[derive(Debug)]
pub(crate) struct EarlyEnd(FirstTrials);

impl Default for EarlyEnd {
    fn default() -> EarlyEnd {
        EarlyEnd(FirstTrials::new(ENDED))
    }
}

impl EarlyEnd {
    /// Takes in a trial; why the run ends, if it does. `busiest` names what uses the CPUs between
    /// two trials.
    pub(crate) fn add<S, O>(
        &mut self,
        trial: &Trial<S, O>,
        busiest: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        let reason = self.0.add(trial.spec.phase, trial.verdict.reasons())?;
        let flag = reason.kind().flag();
        let remedy = match (reason, busiest()) {
            (Invalid::Steal { .. }, _) => "use a machine with CPUs of its own".to_owned(),
            (_, Some(busiest)) => format!(
                "end what runs here besides the service (the busiest, of which the service may be one: {busiest})"
            ),
            (_, None) => "end what runs here besides the service (top shows it)".to_owned(),
        };
        Some(format!(
            "none of the first {ENDED} trials under load is valid: {reason}; {remedy}, or allow more with {flag}"
        ))
    }
}

/// What uses the CPUs now, by name and share; `None` where nothing does that this user may see.
pub(crate) fn busiest() -> Option<String> {
    let root = Root::machine();
    let watch = BusyWatch::begin(&root).ok()?;
    sleep(WATCHED);
    named(&watch.end(&root).ok()?)
}

/// `ffmpeg (pid 4711) 98 % of a CPU, cc1plus (pid 4712) 60 % of a CPU`
pub(crate) fn named(busy: &[BusyProcess]) -> Option<String> {
    let each: Vec<String> = busy.iter().map(BusyProcess::to_string).collect();
    (!each.is_empty()).then(|| each.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::Started;
    use plimsoll_model::{CpusOf, Setting, Share, TrialSpec, Verdict};

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
            panic!("not once");
        };
        for words in ["other processes used 97.0 %", "--max-other", "Ctrl-C"] {
            assert!(said.contains(words), "{said}");
        }
        let idle = || trial(Phase::Idle, others());
        for quiet in [
            vec![idle(), idle(), busy()],
            vec![trial(calibration, vec![]), busy(), busy()],
            vec![busy(), trial(calibration, vec![]), busy(), busy()],
            vec![trial(calibration, late()); 4],
        ] {
            assert_eq!(remarks(&quiet), [""; 0]);
        }
    }

    #[test]
    fn a_run_ends_where_nothing_counts_and_names_what_disturbs_it() {
        let with = |phase, reasons: Vec<Invalid>| {
            let spec = TrialSpec::blank(phase, Setting::Idle, Duration::ZERO);
            let mut trial: Trial<Setting, ()> = Trial::begun(spec, 0);
            trial.verdict = match reasons.is_empty() {
                true => Verdict::Valid,
                false => Verdict::Invalid(reasons),
            };
            trial
        };
        let ends = |trials: &[Trial<Setting, ()>]| {
            let mut so_far = EarlyEnd::default();
            let culprits = || Some("ffmpeg (pid 5) 98 % of a CPU".to_owned());
            let found = trials
                .iter()
                .filter_map(|trial| so_far.add(trial, culprits));
            found.collect::<Vec<String>>()
        };
        let busy = with(Phase::Calibration, others());
        let [why] = &ends(&vec![busy.clone(); ENDED + 3])[..] else {
            panic!("not once");
        };
        assert!(why.contains("ffmpeg (pid 5) 98 %"), "{why}");
        assert!(why.contains("--max-other"), "{why}");
        assert_eq!(ends(&vec![busy.clone(); ENDED - 1]), [""; 0]);
        let mut one_counts = vec![busy; ENDED + 3];
        one_counts[ENDED - 2] = with(Phase::Calibration, vec![]);
        assert_eq!(ends(&one_counts), [""; 0]);
        // A late generator shows neither.
        one_counts[ENDED - 2] = with(Phase::Calibration, late());
        assert_eq!(ends(&one_counts).len(), 1);
        assert_eq!(
            ends(&vec![with(Phase::Calibration, late()); 2 * ENDED]),
            [""; 0]
        );
    }
}
