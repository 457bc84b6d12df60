//! From trials to findings: pure.

mod policies;
mod programs;
mod recommend;
mod split;
mod states;

use super::findings::{WakeFindings, WakeLatency, WakeupFinding};
use super::outcome::{WakeTrial, Wakes};
use super::plan::WakePlan;
use plimsoll_model::{Estimate, Histogram, IdlePolicy};
use plimsoll_study::wake::{Draws, Figure};

const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// The valid trials of one kind of wake-up under one policy.
struct Cell<'t> {
    policy: IdlePolicy,
    wakes: Wakes,
    /// By pass; `None` where no trial of the pass is valid.
    passes: Vec<Option<&'t WakeTrial>>,
    /// p50, p90, p99, p99.9 of the latency in microseconds.
    quantiles: Vec<Option<Figure>>,
    /// The logarithm of p99 in microseconds.
    log_p99: Option<Figure>,
}

impl<'t> Cell<'t> {
    fn of(
        plan: &WakePlan,
        (policy, wakes): (IdlePolicy, Wakes),
        trials: &'t [WakeTrial],
        draws: &Draws,
    ) -> Cell<'t> {
        let is_own = |t: &&WakeTrial| {
            let setting = &t.spec.setting;
            let counts = t.verdict.is_valid() && t.outcome.not_kept.is_none();
            counts && setting.policy == policy && setting.wakes() == Some(&wakes)
        };
        let own: Vec<&WakeTrial> = trials.iter().filter(is_own).collect();
        let of_pass = |pass| own.iter().find(|t| t.spec.pass == pass).copied();
        let passes: Vec<Option<&WakeTrial>> = (0..plan.run.passes).map(of_pass).collect();
        let latencies: Vec<Option<&Histogram>> = passes
            .iter()
            .map(|trial| Some(&(*trial)?.work.latency))
            .collect();
        let quantile = |q: &f64| Figure::quantile_us(&latencies, *q, draws);
        let quantiles = QUANTILES.iter().map(quantile).collect();
        Cell {
            policy,
            wakes,
            quantiles,
            log_p99: Figure::log_quantile_us(&latencies, 0.99, draws),
            passes,
        }
    }

    fn valid(&self) -> impl Iterator<Item = &'t WakeTrial> {
        self.passes.iter().flatten().copied()
    }

    fn quantile(&self, at: usize) -> Option<&Figure> {
        self.quantiles.get(at)?.as_ref()
    }

    fn p50(&self) -> Option<&Figure> {
        self.quantile(0)
    }

    fn p99(&self) -> Option<&Figure> {
        self.quantile(2)
    }

    /// The mean of a figure that each trial has by itself.
    fn mean(&self, draws: &Draws, of: impl Fn(&WakeTrial) -> Option<f64>) -> Option<Figure> {
        let each = self.passes.iter().map(|trial| of((*trial)?));
        Figure::mean(&each.collect::<Vec<_>>(), draws)
    }

    fn finding(&self, plan: &WakePlan) -> Option<WakeupFinding> {
        let placed = plan.placed(self.wakes.placement)?;
        let wakeups: u64 = self.valid().map(|t| t.work.latency.count()).sum();
        let slept: u64 = self.valid().map(|t| t.outcome.slept).sum();
        let longest = self.valid().filter_map(|t| t.work.latency.max()).max();
        let at = |at: usize| Some(self.quantile(at)?.positive_estimate());
        Some(WakeupFinding {
            policy: self.policy,
            wait: self.wakes.wait,
            placement: self.wakes.placement,
            gap_us: self.wakes.gap_us(),
            arrivals: self.wakes.arrivals(),
            waker_cpu: placed.waker_cpu,
            wakee_cpu: placed.wakee_cpu,
            latency_us: WakeLatency {
                p50: at(0),
                p90: at(1),
                p99: at(2),
                p999: at(3),
                max: longest.map(|longest| Estimate::alone(longest.as_secs_f64() * 1e6)),
            },
            too_few: too_few(self.valid().count(), &self.quantiles),
            asleep_pct: (wakeups > 0).then(|| (100.0 * slept as f64 / wakeups as f64).min(100.0)),
            wakeups,
            trials: self.valid().count(),
        })
    }
}

/// Why quantiles are missing.
fn too_few(trials: usize, quantiles: &[Option<Figure>]) -> Option<String> {
    if trials == 0 {
        return Some("no valid trial".to_owned());
    }
    let names = ["p50", "p90", "p99", "p99.9"].into_iter().zip(quantiles);
    let missing = names.filter(|(_, figure)| figure.is_none());
    let missing: Vec<&str> = missing.map(|(name, _)| name).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "too few wake-ups in a trial for {}: p99 takes 299, p99.9 takes 2995; lengthen the trials with -z",
            missing.join(" and ")
        )
    })
}

pub(super) fn findings(plan: &WakePlan, trials: &[WakeTrial]) -> WakeFindings {
    let draws = Draws::of(plan.run.passes as usize, plan.run.seed);
    let each = plan.wakes().into_iter().flat_map(|wakes| {
        let policies = plan.policies.iter();
        policies.map(move |policy| (*policy, wakes))
    });
    let cells: Vec<Cell> = each.map(|at| Cell::of(plan, at, trials, &draws)).collect();
    let compared = policies::compared(plan, &cells, &draws);
    let noise = policies::noise(&compared);
    let policies = policies::findings(plan, &compared);
    WakeFindings {
        wakeups: cells.iter().filter_map(|cell| cell.finding(plan)).collect(),
        states: states::findings(&cells),
        recommended: recommend::recommended(plan, &policies),
        programs: programs::findings(plan, trials, &draws),
        noise,
        policies,
        split: split::finding(&cells, &draws),
        left_out: plan.left_out.clone(),
    }
}
