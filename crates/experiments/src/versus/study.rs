//! From trials to findings: pure.

use super::experiment::VersusTrial;
use super::findings::{ComparedFigure, FigureFound, RequestsFound, VersusFindings};
use super::plan::{Side, VersusPlan};
use super::{doubts, moved};
use plimsoll_model::{BodySizes, CpuTime, Errors, HIDDEN, Workload};
use plimsoll_study::bootstrap::shows_quantile;
use plimsoll_study::pairs::{self, Pair};

/// The valid trials of both services in one pass.
pub(super) struct Pass<'t> {
    pub(super) base: &'t VersusTrial,
    pub(super) new: &'t VersusTrial,
}

impl Pass<'_> {
    pub(super) fn of(&self, side: Side) -> &VersusTrial {
        match side {
            Side::Base => self.base,
            Side::New => self.new,
        }
    }
}

pub(super) fn findings(plan: &VersusPlan, trials: &[VersusTrial]) -> VersusFindings {
    let passes = passes(plan, trials);
    let figures = ComparedFigure::ALL.into_iter();
    let requests = Side::BOTH.map(|side| requests(side, &passes)).to_vec();
    let figures: Vec<FigureFound> = figures.filter_map(|of| figure(of, &passes)).collect();
    let doubts = doubts::all((plan, trials), &passes, &requests, &figures);
    VersusFindings {
        figures,
        outside_us: moved::outside_us(&passes),
        between_us: moved::between_us(&passes, 1.0),
        all_trials_pct: all_trials_pct(trials),
        shown: shown(plan),
        doubts,
        requests,
        passes: passes.len(),
        is_itself: is_itself(plan),
    }
}

/// URLs that are hidden in part may differ.
fn is_itself(plan: &VersusPlan) -> bool {
    match (&plan.load.workload, &plan.against.workload) {
        (Workload::Http(new), Workload::Http(base)) => {
            new.url == base.url && !new.url.contains(HIDDEN)
        }
        _ => false,
    }
}

pub(super) fn levels(trials: &[VersusTrial]) -> impl Iterator<Item = &VersusTrial> {
    trials.iter().filter(|t| t.spec.phase.is_level())
}

fn passes<'t>(plan: &VersusPlan, trials: &'t [VersusTrial]) -> Vec<Pass<'t>> {
    let valid = |side, pass| {
        let mut own =
            levels(trials).filter(move |t| t.spec.setting.side == side && t.spec.pass == pass);
        own.find(|t| t.verdict.is_valid())
    };
    let both = |pass| {
        Some(Pass {
            base: valid(Side::Base, pass)?,
            new: valid(Side::New, pass)?,
        })
    };
    (0..plan.load.run.passes).filter_map(both).collect()
}

pub(super) fn cpu_us(trial: &VersusTrial) -> Option<f64> {
    trial.service.as_ref()?.cpu.us_per(trial.sensed_answers())
}

/// A mean of logarithms shows little of what few trials take, and nothing of the invalid ones.
pub(super) fn all_trials_pct(trials: &[VersusTrial]) -> Option<f64> {
    let us = |side| {
        let own = levels(trials).filter(|t| t.spec.setting.side == side);
        let each = own.filter_map(|t| Some((t.service.as_ref()?.cpu, t.sensed_answers())));
        let (cpu, answers) = each.fold((CpuTime::ZERO, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        cpu.us_per(answers)
    };
    let (base, new) = (us(Side::Base)?, us(Side::New)?);
    Pair { base, new }.change_pct()
}

fn value_us(of: ComparedFigure, trial: &VersusTrial) -> Option<f64> {
    let Some(q) = of.quantile() else {
        return cpu_us(trial);
    };
    let latency = &trial.work.latency;
    let shown = shows_quantile(latency.count(), q).then(|| latency.quantile(q));
    shown.flatten().map(|time| time.as_secs_f64() * 1e6)
}

pub(super) fn pairs(of: ComparedFigure, passes: &[Pass<'_>]) -> Vec<Pair> {
    let pair = |pass: &Pass<'_>| {
        let (base, new) = (value_us(of, pass.base)?, value_us(of, pass.new)?);
        (base > 0.0 && new > 0.0).then_some(Pair { base, new })
    };
    passes.iter().filter_map(pair).collect()
}

/// With as many requests as chance may add to those of a trial.
fn shown(plan: &VersusPlan) -> Vec<ComparedFigure> {
    let due = plan.rate.get() * plan.load.run.window.as_secs_f64();
    let most = (due + 3.0 * due.sqrt()) as u64;
    let all = ComparedFigure::ALL.into_iter();
    all.filter(|of| of.quantile().is_none_or(|q| shows_quantile(most, q)))
        .collect()
}

fn figure(of: ComparedFigure, passes: &[Pass<'_>]) -> Option<FigureFound> {
    let pairs = pairs(of, passes);
    Some(FigureFound {
        figure: of,
        base_us: pairs::geometric_mean(pairs.iter().map(|pair| pair.base))?,
        new_us: pairs::geometric_mean(pairs.iter().map(|pair| pair.new))?,
        change_pct: pairs::change_pct(&pairs)?,
        passes: pairs.len(),
        by_pass_pct: pairs.iter().filter_map(Pair::change_pct).collect(),
    })
}

fn requests(side: Side, passes: &[Pass<'_>]) -> RequestsFound {
    let trials = || passes.iter().map(|pass| pass.of(side));
    let sum = |of: fn(&VersusTrial) -> u64| trials().map(of).sum();
    let bodies = trials().filter_map(|trial| trial.work.bodies);
    let bodies: Option<BodySizes> = bodies.reduce(|a, b| a + b);
    let shares = trials().filter_map(|t| t.machine.service_share(t.service.as_ref()));
    let shares: Vec<f64> = shares.map(|share| 100.0 * share.get()).collect();
    let errors = trials().map(|trial| trial.work.errors);
    RequestsFound {
        side,
        intended: sum(|trial| trial.work.intended),
        completed: sum(|trial| trial.work.completed),
        failed: errors.fold(Errors::default(), |a, b| a + b).total(),
        unfinished: sum(|trial| trial.work.unfinished),
        body_bytes: bodies.map(|sizes| sizes.mean()),
        cpu_pct: (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64),
        waited_pct: waited_pct(side, passes),
        background_pct: background_pct(side, passes),
        trials: passes.len(),
    }
}

fn waited_pct(side: Side, passes: &[Pass<'_>]) -> Option<f64> {
    let work = passes.iter().map(|pass| &pass.of(side).work);
    let each: Option<Vec<(u64, u64)>> = work
        .map(|work| Some((work.connections?.waited, work.intended)))
        .collect();
    let (waited, of) = each?.iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    (of > 0).then(|| 100.0 * waited as f64 / of as f64)
}

/// Per second of the trials of the other one, by that of its own windows.
fn background_pct(side: Side, passes: &[Pass<'_>]) -> Option<f64> {
    let per_second = |each: Vec<Option<(f64, f64)>>| {
        let each: Option<Vec<(f64, f64)>> = each.into_iter().collect();
        let each = each.filter(|each| !each.is_empty())?;
        let (cpu, time) = each.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        Some(cpu / time)
    };
    let loaded = passes.iter().map(|pass| {
        let trial = pass.of(side);
        let used = trial.service.as_ref()?.cpu.0.as_secs_f64();
        Some((used, trial.machine.window.as_secs_f64()))
    });
    let unloaded = passes.iter().map(|pass| {
        let trial = pass.of(side.other());
        let used = trial.outcome.other_cpu?.0.as_secs_f64();
        Some((used, trial.took.as_secs_f64()))
    });
    let (unloaded, loaded) = (
        per_second(unloaded.collect())?,
        per_second(loaded.collect())?,
    );
    (loaded > 0.0).then(|| 100.0 * unloaded / loaded)
}
