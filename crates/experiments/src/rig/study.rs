//! From trials to findings: pure.

mod grain;
mod peak;
mod searches;

use super::findings::{
    AccountFinding, FailedScheduler, GraphFinding, IdleFinding, KernelFinding, ProofFinding,
    RigFindings, RuleFinding, SteadyFinding,
};
use super::graphs::Planned;
use super::outcome::{AccountFigures, Calibrated, Part, RigSetting, RigTrial, counts};
use super::plan::{GraphPlan, RigPlan};
use super::waiting;
use plimsoll_graph::RuleUse;
use plimsoll_model::Estimate;
use plimsoll_study::bootstrap;
use plimsoll_study::rig::over_trials;
use std::collections::BTreeMap;

/// What all figures of a run share.
struct Study<'t> {
    plan: &'t RigPlan,
    trials: &'t [RigTrial],
    /// The time of a job with interruptions relative to that without.
    interruption: Estimate,
}

pub(super) fn findings(plan: &RigPlan, trials: &[RigTrial]) -> RigFindings {
    let all = plan.schedulers.iter();
    let (breaking, gaps) = searches::findings(plan, trials);
    let kernel = kernel(plan, trials);
    let (waiting, waiting_recommended) = waiting::findings(plan, trials);
    let study = Study {
        plan,
        trials,
        interruption: kernel.interruption_ratio.unwrap_or(Estimate::alone(1.0)),
    };
    RigFindings {
        grain: grain::findings(&study),
        peak: peak::findings(&study),
        breaking,
        gaps,
        steady: when(plan.has(Part::Steady), || {
            all.clone().map(|name| steady(trials, name)).collect()
        }),
        idle: when(plan.has(Part::Steady), || {
            all.clone().map(|name| idle(trials, name)).collect()
        }),
        proof: proof(trials),
        accounting: accounting(trials),
        kernel,
        graphs: graphs(plan),
        waiting,
        waiting_recommended,
        failed: trials.iter().filter_map(failed).collect(),
    }
}

fn when<T>(wanted: bool, rows: impl FnOnce() -> Vec<T>) -> Vec<T> {
    if wanted { rows() } else { Vec::new() }
}

/// The trials at a setting that count.
fn valid<'t>(trials: &'t [RigTrial], setting: &RigSetting) -> Vec<&'t RigTrial> {
    let at_setting = trials.iter().filter(|t| t.spec.setting == *setting);
    at_setting.filter(|t| counts(t)).collect()
}

/// The mean over trials of a figure that each may have.
fn mean_of(trials: &[&RigTrial], of: impl Fn(&RigTrial) -> Option<f64>) -> Option<Estimate> {
    let each: Vec<f64> = trials.iter().filter_map(|t| of(t)).collect();
    over_trials(&each)
}

/// The ratio of two sums over the items of a trial; `None` if the second is 0.
fn ratio_of_sums(each: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (above, below) = each.fold((0.0, 0.0), |sums, (a, b)| (sums.0 + a, sums.1 + b));
    (below > 0.0).then(|| above / below)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0u32), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (a, b) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some((values[a] + values[b]) / 2.0)
}

fn proof(trials: &[RigTrial]) -> ProofFinding {
    let each = trials.iter().map(|t| &t.outcome.proof);
    // The numbers of a stranger's record may be anything.
    let sum = |all: u64, more: u64| all.saturating_add(more);
    ProofFinding {
        nodes_checked: each.clone().map(|proof| proof.nodes_checked).fold(0, sum),
        violations: each.map(|proof| proof.violated).fold(0, sum),
    }
}

fn failed(trial: &RigTrial) -> Option<FailedScheduler> {
    Some(FailedScheduler {
        scheduler: trial.spec.setting.scheduler().to_owned(),
        part: trial.spec.setting.part(),
        why: trial.outcome.failure.clone()?,
    })
}

fn steady(trials: &[RigTrial], scheduler: &str) -> SteadyFinding {
    let scheduler = scheduler.to_owned();
    let setting = RigSetting::Steady {
        scheduler: scheduler.clone(),
    };
    let valid = valid(trials, &setting);
    let concurrency = |trial: &RigTrial| {
        let timed = trial.outcome.runs.iter().filter_map(|run| run.timed);
        ratio_of_sums(timed.map(|t| (t.busy_ns as f64, t.covered_ns as f64)))
    };
    let drift = |trial: &RigTrial| {
        let runs = trial.outcome.runs.iter().map(|run| run.elapsed_ns as f64);
        let runs: Vec<f64> = runs.collect();
        let (first, second) = runs.split_at(runs.len() / 2);
        Some(median(second.to_vec())? / median(first.to_vec())?)
    };
    let growth = |t: &&RigTrial| {
        let (before, after) = t.outcome.memory_bytes?;
        Some(after.saturating_sub(before))
    };
    SteadyFinding {
        scheduler,
        average_concurrency: mean_of(&valid, concurrency),
        drift_ratio: mean_of(&valid, drift),
        memory_growth_bytes: valid.iter().filter_map(growth).max(),
        trials: valid.len(),
    }
}

fn idle(trials: &[RigTrial], scheduler: &str) -> IdleFinding {
    let scheduler = scheduler.to_owned();
    let setting = RigSetting::Idle {
        scheduler: scheduler.clone(),
    };
    let valid = valid(trials, &setting);
    let ratio = |t: &RigTrial| Some(t.outcome.idle_cpu_ns? as f64 / t.window.as_nanos() as f64);
    IdleFinding {
        scheduler,
        cpu_ratio: mean_of(&valid, ratio),
        trials: valid.len(),
    }
}

fn accounting(trials: &[RigTrial]) -> Vec<AccountFinding> {
    let mut sums: BTreeMap<(&str, Part), AccountFigures> = BTreeMap::new();
    for trial in trials.iter().filter(|t| counts(t)) {
        if let Some(account) = trial.outcome.account {
            let setting = &trial.spec.setting;
            let sum = sums.entry((setting.scheduler(), setting.part()));
            *sum.or_default() += account;
        }
    }
    let row = |((scheduler, part), sum): ((&str, Part), AccountFigures)| {
        let share = |ns: u64| ns as f64 / sum.wall_ns.max(1) as f64;
        let known = sum.work_ns + sum.dispatch_ns + sum.steal_ns + sum.spin_ns + sum.parked_ns;
        AccountFinding {
            scheduler: scheduler.to_owned(),
            part,
            work_share: share(sum.work_ns),
            dispatch_share: share(sum.dispatch_ns),
            steal_share: share(sum.steal_ns),
            spin_share: share(sum.spin_ns),
            parked_share: share(sum.parked_ns),
            unexplained_share: share(sum.wall_ns.saturating_sub(known)),
        }
    };
    sums.into_iter().map(row).collect()
}

/// Of many trials: their median and mean deviate little, and what interrupts is rare, so
/// it is the same for all schedulers, and of all trials together.
fn kernel(plan: &RigPlan, trials: &[RigTrial]) -> KernelFinding {
    let valid: Vec<&RigTrial> = trials.iter().filter(|t| t.verdict.is_valid()).collect();
    let over_all = |of: &dyn Fn(&Calibrated) -> Option<f64>| {
        let of_trial = |t: &&RigTrial| mean(t.outcome.calibrations.iter().filter_map(of));
        let each: Vec<f64> = valid.iter().filter_map(of_trial).collect();
        bootstrap::mean(&each, plan.run.seed)
    };
    let drift = |t: &&RigTrial| {
        let each = t.outcome.calibrations.iter().map(|c| c.all_busy_ns);
        let (least, most) = each.fold((f64::INFINITY, 0.0f64), |(a, b), ns| (a.min(ns), b.max(ns)));
        (most > 0.0).then(|| most / least)
    };
    KernelFinding {
        name: plan.kernel.clone(),
        all_busy_ratio: over_all(&|c| Some(c.all_busy_ns / c.alone_ns)),
        interruption_ratio: over_all(&|c| Some(c.all_busy_mean_ns? / c.all_busy_ns)),
        drift_ratio: median(valid.iter().filter_map(drift).collect()),
    }
}

fn graphs(plan: &RigPlan) -> Vec<GraphFinding> {
    let wanted = [
        (Part::Break, &plan.graph),
        (Part::Steady, &plan.steady_graph),
    ];
    let of = wanted.into_iter().filter(|(part, _)| plan.has(*part));
    of.filter_map(|(_, graph)| graph_finding(plan, graph))
        .collect()
}

fn graph_finding(plan: &RigPlan, of: &GraphPlan) -> Option<GraphFinding> {
    let planned = Planned::of(of, plan).ok()?;
    let (graph, bounds) = (planned.graph(), planned.list.bounds());
    let rule = |used: &RuleUse| RuleFinding {
        rule: used.rule.name().to_owned(),
        configured_share: used.configured,
        realised_share: used.realised,
        draws: used.draws,
    };
    Some(GraphFinding {
        name: of.name.clone(),
        nodes: graph.count().into(),
        edges: graph.edges() as u64,
        total_work: bounds.total_work,
        critical_path: bounds.critical_path,
        shortest_possible: planned.list.shortest(),
        list_schedule: planned.list.length(),
        rules: planned.uses.iter().map(rule).collect(),
    })
}
