//! From trials to findings: pure.

mod grain;
mod peak;
mod searches;

use super::findings::{
    AccountFinding, FailedScheduler, GraphFinding, IdleFinding, KernelFinding, ProofFinding,
    RigFindings, RuleFinding, SteadyFinding,
};
use super::graphs::Planned;
use super::outcome::{AccountFigures, Part, RigSetting, RigTrial};
use super::plan::{GraphPlan, RigPlan};
use plimsoll_graph::RuleUse;
use plimsoll_model::Estimate;
use plimsoll_study::bootstrap;
use std::collections::BTreeMap;

pub(super) fn findings(plan: &RigPlan, trials: &[RigTrial]) -> RigFindings {
    let all = plan.schedulers.iter();
    let (breaking, gaps) = searches::findings(plan, trials);
    RigFindings {
        grain: grain::findings(plan, trials),
        peak: peak::findings(plan, trials),
        breaking,
        gaps,
        steady: when(plan.has(Part::Steady), || {
            all.clone().map(|name| steady(plan, trials, name)).collect()
        }),
        idle: when(plan.has(Part::Steady), || {
            all.clone().map(|name| idle(plan, trials, name)).collect()
        }),
        proof: proof(trials),
        accounting: accounting(trials),
        kernel: kernel(plan, trials),
        graphs: graphs(plan),
        failed: trials.iter().filter_map(failed).collect(),
    }
}

fn when<T>(wanted: bool, rows: impl FnOnce() -> Vec<T>) -> Vec<T> {
    if wanted { rows() } else { Vec::new() }
}

/// The valid trials at a setting whose scheduler kept its contract.
fn valid<'t>(trials: &'t [RigTrial], setting: &RigSetting) -> Vec<&'t RigTrial> {
    let counts = |t: &&RigTrial| {
        t.spec.setting == *setting && t.verdict.is_valid() && t.outcome.failure.is_none()
    };
    trials.iter().filter(counts).collect()
}

/// Fewer trials do not show how they differ.
const FEWEST_TRIALS: usize = 3;

/// An estimate from the runs of so many trials, without its interval if they are too few.
fn sure(estimate: Option<Estimate>, trials: usize) -> Option<Estimate> {
    match trials < FEWEST_TRIALS {
        true => estimate.map(|e| Estimate::alone(e.value)),
        false => estimate,
    }
}

/// The mean over trials of a figure that each may have.
fn over_trials(
    plan: &RigPlan,
    trials: &[&RigTrial],
    of: impl Fn(&RigTrial) -> Option<f64>,
) -> Option<Estimate> {
    let each: Vec<f64> = trials.iter().filter_map(|t| of(t)).collect();
    bootstrap::mean(&each, plan.run.seed)
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
    ProofFinding {
        nodes_checked: each.clone().map(|proof| proof.nodes_checked).sum(),
        violations: each.map(|proof| proof.violated).sum(),
    }
}

fn failed(trial: &RigTrial) -> Option<FailedScheduler> {
    Some(FailedScheduler {
        scheduler: trial.spec.setting.scheduler().to_owned(),
        part: trial.spec.setting.part(),
        why: trial.outcome.failure.clone()?,
    })
}

fn steady(plan: &RigPlan, trials: &[RigTrial], scheduler: &str) -> SteadyFinding {
    let scheduler = scheduler.to_owned();
    let setting = RigSetting::Steady {
        scheduler: scheduler.clone(),
    };
    let valid = valid(trials, &setting);
    let concurrency = |trial: &RigTrial| {
        let timed = trial.outcome.runs.iter().filter_map(|run| run.timed);
        let sums = timed.fold((0, 0), |(busy, covered), t| {
            (busy + t.busy_ns, covered + t.covered_ns)
        });
        (sums.1 > 0).then(|| sums.0 as f64 / sums.1 as f64)
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
        average_concurrency: over_trials(plan, &valid, concurrency),
        drift_ratio: over_trials(plan, &valid, drift),
        memory_growth_bytes: valid.iter().filter_map(growth).max(),
        trials: valid.len(),
    }
}

fn idle(plan: &RigPlan, trials: &[RigTrial], scheduler: &str) -> IdleFinding {
    let scheduler = scheduler.to_owned();
    let setting = RigSetting::Idle {
        scheduler: scheduler.clone(),
    };
    let valid = valid(trials, &setting);
    let ratio = |t: &RigTrial| Some(t.outcome.idle_cpu_ns? as f64 / t.window.as_nanos() as f64);
    IdleFinding {
        scheduler,
        cpu_ratio: over_trials(plan, &valid, ratio),
        trials: valid.len(),
    }
}

fn accounting(trials: &[RigTrial]) -> Vec<AccountFinding> {
    let mut sums: BTreeMap<(&str, Part), AccountFigures> = BTreeMap::new();
    for trial in trials.iter().filter(|t| t.verdict.is_valid()) {
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

fn kernel(plan: &RigPlan, trials: &[RigTrial]) -> KernelFinding {
    let valid: Vec<&RigTrial> = trials.iter().filter(|t| t.verdict.is_valid()).collect();
    let busy = |trial: &RigTrial| {
        let each = trial.outcome.calibrations.iter();
        mean(each.map(|c| c.all_busy_ns / c.alone_ns))
    };
    let drift = |t: &&RigTrial| {
        let each = t.outcome.calibrations.iter().map(|c| c.all_busy_ns);
        let (least, most) = each.fold((f64::INFINITY, 0.0f64), |(a, b), ns| (a.min(ns), b.max(ns)));
        (most > 0.0).then(|| most / least)
    };
    KernelFinding {
        name: plan.kernel.clone(),
        all_busy_ratio: over_trials(plan, &valid, busy),
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
