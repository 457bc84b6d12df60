//! What makes the figures unfit to decide: pure.

use super::experiment::VersusTrial;
use super::findings::{ComparedFigure, FigureFound, RequestsFound, VersusDoubt};
use super::moved;
use super::plan::{Side, VersusPlan};
use super::study::{Pass, all_trials_pct, levels, pairs};
use plimsoll_model::Workload;
use plimsoll_study::carried::trial_is_carried;
use plimsoll_study::{fisher, pairs};
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

/// Of each connection in a window, below which what a service does for a new one may be most of it.
const FEW_PER_CONNECTION: f64 = 5.0;
/// One run in a hundred of equal services has such a difference.
const BY_CHANCE: f64 = 0.01;

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
    all.extend(new_connections(plan));
    all.extend(invalid_trials(trials));
    all.extend(uneven(all_trials_pct(trials), figures));
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

/// Unless each is to have so few.
pub(super) fn new_connections(plan: &VersusPlan) -> Option<VersusDoubt> {
    let Workload::Http(http) = &plan.load.workload else {
        return None;
    };
    let due = plan.rate.get() * plan.load.run.window.as_secs_f64();
    let requests = due / f64::from(http.connections);
    let may_have_more = http.requests_per_connection.is_none() && requests < FEW_PER_CONNECTION;
    may_have_more.then_some(VersusDoubt::NewConnections { requests })
}

fn invalid_trials(trials: &[VersusTrial]) -> Option<VersusDoubt> {
    let counts = |side| {
        let own = || levels(trials).filter(move |t| t.spec.setting.side == side);
        let invalid = own().filter(|t| !t.verdict.is_valid());
        (invalid.count() as u64, own().count() as u64)
    };
    let (base, new) = (counts(Side::Base), counts(Side::New));
    let share = |(found, all): (u64, u64)| found as f64 / all as f64;
    let side = match share(new) > share(base) {
        true => Side::New,
        false => Side::Base,
    };
    let p = fisher::p_value([base.0, new.0], [base.1, new.1]);
    (p < BY_CHANCE).then_some(VersusDoubt::InvalidTrials { side, base, new })
}

fn uneven(pct: Option<f64>, figures: &[FigureFound]) -> Option<VersusDoubt> {
    let cpu = figures.iter().find(|f| f.figure == ComparedFigure::Cpu)?;
    let (low, high) = cpu.change_pct.interval()?;
    let all_pct = pct.filter(|pct| *pct < low || *pct > high)?;
    Some(VersusDoubt::Uneven { all_pct })
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
