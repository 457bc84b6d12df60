//! Counts trials by verdict, for reports.

use plimsoll_model::{Invalid, InvalidKind, Phase, Trial, Verdict};
use plimsoll_report::TrialTally;
use std::time::Duration;

/// Trials of any experiment by verdict.
pub(crate) fn tally<'a, S: 'a, O: 'a>(
    trials: impl IntoIterator<Item = &'a Trial<S, O>>,
) -> TrialTally {
    let mut tally = TrialTally::default();
    let mut kinds = [(InvalidKind::Steal, 0), (InvalidKind::OtherLoad, 0), (InvalidKind::Slip, 0)];
    let (mut view, mut watched) = (None, Duration::ZERO);
    for trial in trials {
        tally.all += 1;
        let reasons = reasons(&trial.verdict);
        tally.invalid += u64::from(!reasons.is_empty() || !trial.verdict.is_valid());
        for (kind, count) in &mut kinds {
            *count += u64::from(reasons.iter().any(|reason| reason.kind() == *kind));
        }
        if trial.spec.phase == Phase::Idle {
            tally.idle_invalid = reasons.first().map(Invalid::kind);
        }
        if let Some(cpu) = trial.machine.view_cpu {
            view = Some(view.unwrap_or(Duration::ZERO) + cpu.0);
            watched += trial.machine.window;
        }
    }
    // The earlier of two that are as common.
    let commonest = kinds.into_iter().rev().max_by_key(|(_, count)| *count);
    tally.commonest = commonest.filter(|(_, count)| *count > 0).map(|(kind, _)| kind);
    tally.view_pct = view
        .filter(|_| !watched.is_zero())
        .map(|view| 100.0 * view.as_secs_f64() / watched.as_secs_f64());
    tally
}

fn reasons(verdict: &Verdict) -> &[Invalid] {
    match verdict {
        Verdict::Valid => &[],
        Verdict::Invalid(reasons) => reasons,
    }
}
