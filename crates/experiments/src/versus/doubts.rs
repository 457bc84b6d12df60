//! What makes the figures unfit to decide: pure.

use super::experiment::VersusTrial;
use super::findings::{ComparedFigure, FigureFound, RequestsFound, VersusDoubt};
use super::moved;
use super::plan::{Side, VersusPlan};
use super::study::{Pass, levels, pairs};
use plimsoll_study::carried::trial_is_carried;
use plimsoll_study::pairs;
use std::collections::BTreeSet;

/// Bodies that differ by more are of services that do not do the same: a counter or a date makes
/// them differ by less.
const BODIES_DIFFER: f64 = 0.1;
/// A few requests in thousands change no figure.
const FAILURES_MATTER: f64 = 0.001;
/// Where so many requests wait for one of the client's connections, quantiles of latency show it.
const WAITED_PCT: f64 = 1.0;
/// A pause of the machine is in one trial in ten.
const PAUSES: f64 = 0.1;
/// Less is what any server does by itself.
const BACKGROUND_PCT: f64 = 3.0;

pub(super) fn all(
    (plan, trials): (&VersusPlan, &[VersusTrial]),
    passes: &[Pass<'_>],
    requests: &[RequestsFound],
    figures: &[FigureFound],
) -> Vec<VersusDoubt> {
    let few = few_passes(trials, passes.len()).into_iter();
    let both = Side::BOTH.into_iter();
    let mut all: Vec<VersusDoubt> = few
        .chain(both.filter_map(|side| restarted(side, trials)))
        .chain(of_requests(passes, requests))
        .collect();
    let (base, new) = (&plan.against.run.cpus.service, &plan.load.run.cpus.service);
    if !base.is_empty() && !new.is_empty() && base != new {
        all.push(VersusDoubt::Cpus {
            base: base.clone(),
            new: new.clone(),
        });
    }
    all.extend(
        ComparedFigure::ALL
            .into_iter()
            .filter_map(|of| trend(of, passes)),
    );
    all.extend(moved::doubts(passes, figures));
    all
}

/// Passes of which both services were measured, and not half of them undisturbed.
fn few_passes(trials: &[VersusTrial], passes: usize) -> Option<VersusDoubt> {
    let visited = |side| -> BTreeSet<u32> {
        let own = levels(trials).filter(|t| t.spec.setting.side == side);
        own.map(|t| t.spec.pass).collect()
    };
    let of = visited(Side::Base)
        .intersection(&visited(Side::New))
        .count();
    (2 * passes < of).then_some(VersusDoubt::FewPasses { passes, of })
}

fn restarted(side: Side, trials: &[VersusTrial]) -> Option<VersusDoubt> {
    let own = levels(trials).filter(|t| t.spec.setting.side == side);
    let mut seen = own.filter_map(|t| Some((t.spec.pass, t.outcome.started_ticks?)));
    let (_, first) = seen.next()?;
    let (pass, _) = seen.find(|(_, started)| *started != first)?;
    let pass = pass + 1;
    Some(VersusDoubt::Restarted { side, pass })
}

fn answered_rps(side: Side, passes: &[Pass<'_>]) -> f64 {
    let each = passes.iter().map(|pass| pass.of(side));
    let (answers, time) = each.fold((0.0, 0.0), |(answers, time), trial| {
        let window = trial.machine.window.as_secs_f64();
        (answers + trial.sensed_answers(), time + window)
    });
    answers / time
}

fn of_requests(passes: &[Pass<'_>], requests: &[RequestsFound]) -> Vec<VersusDoubt> {
    let failures = requests.iter().filter(|found| {
        (found.failed + found.unfinished) as f64 > FAILURES_MATTER * found.intended as f64
    });
    let failures = failures.map(|found| VersusDoubt::Failures {
        side: found.side,
        failed: found.failed,
        unfinished: found.unfinished,
        of: found.intended,
    });
    let both = Side::BOTH.into_iter();
    let waited = requests.iter().filter_map(|found| {
        let pct = found.waited_pct.filter(|pct| *pct > WAITED_PCT)?;
        let side = found.side;
        Some(VersusDoubt::Connections { side, pct })
    });
    let background = requests.iter().filter_map(|found| {
        let pct = found.background_pct.filter(|pct| *pct > BACKGROUND_PCT)?;
        let side = found.side;
        Some(VersusDoubt::BackgroundWork { side, pct })
    });
    failures
        .chain(both.filter_map(|side| not_carried(side, passes)))
        .chain(bodies(requests))
        .chain(waited)
        .chain(background)
        .collect()
}

fn not_carried(side: Side, passes: &[Pass<'_>]) -> Option<VersusDoubt> {
    let missed = passes.iter().map(|pass| pass.of(side));
    let trials = missed.filter(|trial| !trial_is_carried(trial)).count();
    let of = passes.len();
    (trials as f64 > PAUSES * of as f64).then(|| VersusDoubt::NotCarried {
        side,
        trials,
        of,
        answered_rps: answered_rps(side, passes),
    })
}

fn trend(figure: ComparedFigure, passes: &[Pass<'_>]) -> Option<VersusDoubt> {
    let halves = pairs::halves_of_a_trend(&pairs(figure, passes))?;
    Some(VersusDoubt::Trend {
        figure,
        first_pct: halves.first_pct,
        second_pct: halves.second_pct,
    })
}

fn bodies(requests: &[RequestsFound]) -> Option<VersusDoubt> {
    let of = |side| requests.iter().find(|found| found.side == side)?.body_bytes;
    let (base_bytes, new_bytes) = (of(Side::Base)?, of(Side::New)?);
    let differ = (base_bytes - new_bytes).abs() > BODIES_DIFFER * base_bytes.max(new_bytes);
    differ.then_some(VersusDoubt::Bodies {
        base_bytes,
        new_bytes,
    })
}
