//! From trials of waiting to findings: pure.

use super::recommend::recommended;
use super::{
    GapPattern, WaitFigures, WaitPlan, WaitingFinding, WaitingLatency, WaitingRecommendation,
    figures, of_setting, planned,
};
use crate::rig::outcome::{RigTrial, counts};
use crate::rig::plan::RigPlan;
use plimsoll_model::{Estimate, Histogram};
use plimsoll_study::wake::{Draws, Figure};
use std::time::Duration;

/// The rows of a policy, in the order of the plan, with all figures that follow from passes.
pub(super) struct Row {
    pub(super) finding: WaitingFinding,
    pub(super) burn: Option<Figure>,
    pub(super) log_p99: Option<Figure>,
}

pub(in super::super) fn findings(
    plan: &RigPlan,
    trials: &[RigTrial],
) -> (Vec<WaitingFinding>, Option<WaitingRecommendation>) {
    let Some(wait) = planned(plan) else {
        return (Vec::new(), None);
    };
    let rows = rows(plan, wait, trials);
    let recommended = recommended(wait, &rows);
    let findings = rows.into_iter().map(|row| row.finding).collect();
    (findings, Some(recommended))
}

/// The findings of one kind of gaps.
pub(in super::super) fn waiting_rows(
    found: &[WaitingFinding],
    (gaps, mean_gap_us): (GapPattern, f64),
) -> impl Iterator<Item = &WaitingFinding> {
    let own = found.iter();
    own.filter(move |row| row.gaps == gaps && row.mean_gap_us == mean_gap_us)
}

fn rows(plan: &RigPlan, wait: &WaitPlan, trials: &[RigTrial]) -> Vec<Row> {
    let draws = Draws::of(plan.run.passes as usize, plan.run.seed);
    let all = wait.settings();
    let at = all.iter().filter_map(of_setting);
    let mut rows: Vec<Row> = at.map(|at| row(plan, wait, trials, at, &draws)).collect();
    let known: Vec<WaitingFinding> = rows.iter().map(|row| row.finding.clone()).collect();
    for row in &mut rows {
        let own = &mut row.finding;
        let alike = || waiting_rows(&known, (own.gaps, own.mean_gap_us));
        let lower: Vec<&WaitingFinding> = alike()
            .filter(|other| is_below(other, own, |a, b| Some(a.value < b.value)))
            .collect();
        let on_front = lower.is_empty();
        let (seen, noise): (Vec<_>, Vec<_>) = lower
            .into_iter()
            .filter(|other| has_intervals(other) && has_intervals(own))
            .partition(|other| is_below(other, own, separate));
        let names = |rows: Vec<&WaitingFinding>| rows.iter().map(|r| r.policy.clone()).collect();
        let has_figures = own.latency_us.p99.is_some() && own.burn_pct.is_some();
        own.on_front = has_figures && on_front;
        (own.dominated_by, own.lower_within_noise) = (names(seen), names(noise));
    }
    rows
}

/// Whether the first has both figures lower than the second.
fn is_below(
    first: &WaitingFinding,
    second: &WaitingFinding,
    lower: fn(Estimate, Estimate) -> Option<bool>,
) -> bool {
    let of = |row: &WaitingFinding| Some((row.latency_us.p99?, row.burn_pct?));
    let both = of(first).zip(of(second));
    both.is_some_and(|(a, b)| lower(a.0, b.0) == Some(true) && lower(a.1, b.1) == Some(true))
}

fn has_intervals(row: &WaitingFinding) -> bool {
    let both = [row.latency_us.p99, row.burn_pct];
    both.iter()
        .all(|e| e.is_some_and(|e| e.interval().is_some()))
}

fn separate(first: Estimate, second: Estimate) -> Option<bool> {
    Some(first.high? < second.low?)
}

fn row(
    plan: &RigPlan,
    wait: &WaitPlan,
    trials: &[RigTrial],
    (policy, gaps, mean_gap): (&str, GapPattern, Duration),
    draws: &Draws,
) -> Row {
    let is_own =
        |t: &&RigTrial| counts(t) && of_setting(&t.spec.setting) == Some((policy, gaps, mean_gap));
    let own: Vec<&RigTrial> = trials.iter().filter(is_own).collect();
    let of_pass = |pass| own.iter().find(|t| t.spec.pass == pass).copied();
    let passes: Vec<Option<&RigTrial>> = (0..plan.run.passes).map(of_pass).collect();
    let latencies: Vec<Option<&Histogram>> = passes
        .iter()
        .map(|trial| Some(&(*trial)?.work.latency))
        .collect();
    // In idleness there are no wake-ups to speak of.
    let wakes = gaps != GapPattern::Idle;
    let quantile = |q| {
        let figure = Figure::quantile_us(&latencies, q, draws).filter(|_| wakes);
        figure.map(|figure| figure.positive_estimate())
    };
    let mean = |of: &dyn Fn(&WaitFigures) -> Option<f64>| {
        let each = passes.iter().map(|trial| of(&figures(&(*trial)?.outcome)?));
        Figure::mean(&each.collect::<Vec<_>>(), draws)
    };
    let burn = mean(&burn_pct);
    let positive = |figure: Option<Figure>| figure.map(|figure| figure.positive_estimate());
    // The upper end is at most that of one thread for each CPU but that of the waker.
    let most_pct = 100.0 * f64::from(plan.workers().saturating_sub(1));
    let valid = || passes.iter().flatten();
    let finding = WaitingFinding {
        policy: policy.to_owned(),
        gaps,
        mean_gap_us: mean_gap.as_secs_f64() * 1e6,
        latency_us: WaitingLatency {
            p50: quantile(0.5),
            p99: quantile(0.99),
            p999: quantile(0.999),
        },
        burn_pct: positive(burn.clone()).map(|burn| {
            let most = most_pct.max(burn.value);
            burn.map_rising(|pct| pct.min(most))
        }),
        parked_pct: mean(&|f| share(100.0 * f.parked? as f64, f.wakeups as f64))
            .filter(|_| wakes)
            .map(|figure| figure.estimate().map_rising(|pct| pct.max(0.0))),
        competitive_ratio: positive(mean(&|f| competitive_ratio(f, wait.price)).filter(|_| wakes)),
        on_front: false,
        dominated_by: Vec::new(),
        lower_within_noise: Vec::new(),
        wakeups: valid().map(|t| t.work.latency.count()).sum(),
        trials: valid().count(),
    };
    Row {
        finding,
        burn,
        log_p99: Figure::log_quantile_us(&latencies, 0.99, draws),
    }
}

fn share(of: f64, all: f64) -> Option<f64> {
    (all > 0.0).then(|| of / all)
}

fn burn_pct(figures: &WaitFigures) -> Option<f64> {
    let used = figures.workers_cpu.as_secs_f64();
    share(100.0 * used, figures.window.as_secs_f64())
}

/// CPU time and sleeps at their price, by what knowing each gap before would have paid.
fn competitive_ratio(figures: &WaitFigures, price: Duration) -> Option<f64> {
    let slept = figures.parked? as f64 * price.as_secs_f64();
    let paid = figures.workers_cpu.as_secs_f64() + slept;
    share(paid, figures.hindsight.as_secs_f64())
}
