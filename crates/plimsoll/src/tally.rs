//! Trials counted by verdict.

use plimsoll_model::{InvalidKind, Phase, Trial, TrialSetting, Verdict};
use plimsoll_report::TrialTally;
use plimsoll_study::validity::unseen;
use std::time::Duration;

pub(crate) fn tally<'a, S: TrialSetting + 'a, O: 'a>(
    trials: impl IntoIterator<Item = &'a Trial<S, O>>,
) -> TrialTally {
    let mut tally = TrialTally::default();
    let mut kinds = Vec::new();
    let (mut drawn, mut drawn_within) = (Duration::ZERO, Duration::ZERO);
    let counts = |t: &&Trial<S, O>| t.spec.phase != Phase::WarmUp;
    for trial in trials.into_iter().filter(counts) {
        tally.all += 1;
        let why = why(&trial.verdict);
        tally.invalid += u64::from(trial.verdict != Verdict::Valid);
        if trial.spec.phase == Phase::Idle {
            tally.idle_invalid = why.first().copied();
        }
        kinds.extend(why);
        if trial.verdict.is_valid() && !trial.spec.setting.is_idle() {
            let unseen = unseen(trial).map(|(share, on)| (share.pct(), on));
            let most = tally.unseen.map_or(0.0, |(pct, _)| pct);
            tally.unseen = unseen.filter(|(pct, _)| *pct > most).or(tally.unseen);
        }
        if let Some(view) = trial.machine.view_cpu {
            drawn += view.0;
            drawn_within += trial.machine.window;
        }
    }
    tally.commonest = commonest(&kinds);
    let within = drawn_within.as_secs_f64();
    tally.view_pct = (within > 0.0).then(|| 100.0 * drawn.as_secs_f64() / within);
    tally
}

/// Why a trial is invalid. A generator that was disturbed is late for that
/// reason.
fn why(verdict: &Verdict) -> Vec<InvalidKind> {
    let Verdict::Invalid(reasons) = verdict else {
        return Vec::new();
    };
    let kinds = || reasons.iter().map(plimsoll_model::Invalid::kind);
    let disturbed = kinds().any(|kind| kind != InvalidKind::Slip);
    kinds()
        .filter(|kind| !(disturbed && *kind == InvalidKind::Slip))
        .collect()
}

/// The first of those that tie.
fn commonest(kinds: &[InvalidKind]) -> Option<InvalidKind> {
    let all = [
        InvalidKind::Slip,
        InvalidKind::OtherLoad,
        InvalidKind::Steal,
    ];
    let counted = all.map(|kind| (kinds.iter().filter(|k| **k == kind).count(), kind));
    let most = counted.into_iter().filter(|(count, _)| *count > 0);
    most.max_by_key(|(count, _)| *count).map(|(_, kind)| kind)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use plimsoll_model::{
        CpuTime, CpuUse, CpusOf, Invalid, Rate, ServiceUse, Setting, Share, TrialSpec,
    };

    pub(crate) fn trial(phase: Phase, reasons: Vec<Invalid>) -> Trial {
        let spec = TrialSpec::blank(phase, Setting::Idle, Duration::from_secs(1));
        let mut trial = Trial::begun(spec, 0);
        trial.verdict = match reasons.is_empty() {
            true => Verdict::Valid,
            false => Verdict::Invalid(reasons),
        };
        trial
    }

    pub(crate) fn steal() -> Invalid {
        Invalid::Steal {
            stolen: Share::ONE,
            bound: Share::ZERO,
            on: CpusOf::Machine,
        }
    }

    fn slip() -> Invalid {
        Invalid::Slip {
            p99: Duration::from_secs(1),
            bound: Duration::ZERO,
        }
    }

    #[test]
    fn slip_is_the_reason_only_of_undisturbed_trials() {
        let trials = [
            trial(Phase::Search, vec![slip(), steal()]),
            trial(Phase::Search, vec![slip(), steal()]),
            trial(Phase::Search, vec![slip()]),
            trial(Phase::Search, vec![]),
        ];
        let tally = tally(&trials);
        assert_eq!((tally.all, tally.invalid), (4, 3));
        assert_eq!(tally.commonest, Some(InvalidKind::Steal));
        assert_eq!(tally.idle_invalid, None);
        assert_eq!(super::tally::<Setting, ()>([]), TrialTally::default());
    }

    #[test]
    fn the_most_unseen_time_of_a_valid_trial_is_kept() {
        let s = |n| CpuTime(Duration::from_secs(n));
        let with = |unsampled, reasons| {
            let mut trial = trial(Phase::Search, reasons);
            trial.spec.setting = Setting::offer(Rate::per_second(1.0).unwrap());
            trial.service = Some(ServiceUse {
                cpu: s(1),
                run_delay: None,
                context_switches: None,
            });
            trial.machine.service_cpu = Some(CpuUse {
                user: s(1),
                unsampled: s(unsampled),
                idle: s(9 - unsampled),
                ..CpuUse::default()
            });
            trial
        };
        let all = [
            with(1, vec![]),
            with(3, vec![]),
            with(2, vec![]),
            with(6, vec![steal()]),
        ];
        let (pct, on) = tally(&all).unseen.unwrap();
        assert!((pct - 30.0).abs() < 1e-9, "{pct}");
        assert_eq!(on, CpusOf::Service);
    }

    #[test]
    fn the_last_look_at_the_idle_machine_decides() {
        let bad = trial(Phase::Idle, vec![steal()]);
        let good = trial(Phase::Idle, vec![]);
        assert_eq!(tally([&good, &bad]).idle_invalid, Some(InvalidKind::Steal));
        assert_eq!(tally([&bad, &good]).idle_invalid, None);
    }

    #[test]
    fn the_live_view_is_a_share_of_the_time_that_it_was_drawn_in() {
        let mut drawn = trial(Phase::Search, vec![]);
        drawn.machine.window = Duration::from_secs(10);
        drawn.machine.view_cpu = Some(CpuTime(Duration::from_millis(140)));
        let other = trial(Phase::Search, vec![]);
        let pct = tally([&drawn, &other]).view_pct.unwrap();
        assert!((pct - 1.4).abs() < 1e-9, "{pct}");
    }
}
