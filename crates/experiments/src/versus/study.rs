//! From trials to findings: pure.

use super::experiment::VersusTrial;
use super::findings::{ComparedFigure, FigureFound, RequestsFound, VersusDoubt, VersusFindings};
use super::plan::{Side, VersusPlan};
use plimsoll_model::{BodySizes, Errors, Estimate, HIDDEN, Workload};
use plimsoll_study::bootstrap::shows_quantile;
use plimsoll_study::carried::trial_is_carried;
use plimsoll_study::pairs::{self, Pair};

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

/// So much of the CPU time of the base may be taken elsewhere without a doubt.
const MOVED: f64 = 0.03;

/// The valid trials of both services in one pass.
struct Pass<'t> {
    base: &'t VersusTrial,
    new: &'t VersusTrial,
}

impl Pass<'_> {
    fn of(&self, side: Side) -> &VersusTrial {
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
    let outside_us = outside_us(&passes);
    let moved = outside_us.filter(|us| has_moved(us, &figures));
    let mut doubts = doubts(plan, &passes, &requests);
    doubts.extend(moved.map(|us| VersusDoubt::WorkMoved { us }));
    VersusFindings {
        figures,
        outside_us,
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

fn passes<'t>(plan: &VersusPlan, trials: &'t [VersusTrial]) -> Vec<Pass<'t>> {
    let valid = |side, pass| {
        let mut own = trials.iter().filter(move |t: &&VersusTrial| {
            t.spec.phase.is_level() && t.spec.setting.side == side && t.spec.pass == pass
        });
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

fn value_us(of: ComparedFigure, trial: &VersusTrial) -> Option<f64> {
    let quantile = |q| {
        let latency = &trial.work.latency;
        let shown = latency.quantile(q);
        let shown = shown.filter(|_| shows_quantile(latency.count(), q));
        shown.map(|time| time.as_secs_f64() * 1e6)
    };
    match of {
        ComparedFigure::Cpu => trial.service.as_ref()?.cpu.us_per(trial.sensed_answers()),
        ComparedFigure::P50 => quantile(0.5),
        ComparedFigure::P90 => quantile(0.9),
        ComparedFigure::P99 => quantile(0.99),
    }
}

fn pairs(of: ComparedFigure, passes: &[Pass<'_>]) -> Vec<Pair> {
    let pair = |pass: &Pass<'_>| {
        let (base, new) = (value_us(of, pass.base)?, value_us(of, pass.new)?);
        (base > 0.0 && new > 0.0).then_some(Pair { base, new })
    };
    passes.iter().filter_map(pair).collect()
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

/// What the machine takes for an answer without the service and the generator.
fn outside_us(passes: &[Pass<'_>]) -> Option<Estimate> {
    let of = |trial: &VersusTrial| {
        let of_machine = trial.machine.cpu.as_ref()?.busy().0.as_secs_f64();
        let known = trial.service.as_ref()?.cpu.0 + trial.generator_cpu?.0;
        let answers = trial.sensed_answers();
        (answers > 0.0).then(|| 1e6 * (of_machine - known.as_secs_f64()) / answers)
    };
    let pair = |pass: &Pass<'_>| {
        let (base, new) = (of(pass.base)?, of(pass.new)?);
        Some(Pair { base, new })
    };
    pairs::difference(&passes.iter().filter_map(pair).collect::<Vec<_>>())
}

fn has_moved(us: &Estimate, figures: &[FigureFound]) -> bool {
    let mut cpu = figures.iter().filter(|f| f.figure == ComparedFigure::Cpu);
    let limit = cpu.next().map(|cpu| MOVED * cpu.base_us.value);
    let beyond = |(low, high): (f64, f64)| limit.is_some_and(|l| low > l || high < -l);
    us.interval().is_some_and(beyond)
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

fn doubts(plan: &VersusPlan, passes: &[Pass<'_>], requests: &[RequestsFound]) -> Vec<VersusDoubt> {
    let failures = requests.iter().filter(|found| {
        (found.failed + found.unfinished) as f64 > FAILURES_MATTER * found.intended as f64
    });
    let failures = failures.map(|found| VersusDoubt::Failures {
        side: found.side,
        failed: found.failed,
        unfinished: found.unfinished,
        of: found.intended,
    });
    let not_carried = Side::BOTH.into_iter().filter_map(|side| {
        let missed = passes
            .iter()
            .filter(|pass| !trial_is_carried(pass.of(side)));
        let trials = missed.count();
        let matters = trials as f64 > PAUSES * passes.len() as f64;
        matters.then_some(VersusDoubt::NotCarried {
            side,
            trials,
            of: passes.len(),
        })
    });
    let waited = requests.iter().filter_map(|found| {
        let pct = found.waited_pct.filter(|pct| *pct > WAITED_PCT)?;
        let side = found.side;
        Some(VersusDoubt::Connections { side, pct })
    });
    let unloaded = requests.iter().filter_map(|found| {
        let pct = found.background_pct.filter(|pct| *pct > BACKGROUND_PCT)?;
        let side = found.side;
        Some(VersusDoubt::BackgroundWork { side, pct })
    });
    let (base, new) = (&plan.against.run.cpus.service, &plan.load.run.cpus.service);
    let cpus = (base != new).then(|| VersusDoubt::Cpus {
        base: base.clone(),
        new: new.clone(),
    });
    let trends = ComparedFigure::ALL.into_iter().filter_map(|figure| {
        let halves = pairs::halves_of_a_trend(&pairs(figure, passes))?;
        Some(VersusDoubt::Trend {
            figure,
            first_pct: halves.first_pct,
            second_pct: halves.second_pct,
        })
    });
    let each = failures.chain(not_carried).chain(bodies(requests));
    each.chain(waited)
        .chain(unloaded)
        .chain(cpus)
        .chain(trends)
        .collect()
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
