//! The head of the page, and how the run was measured, as facts.

use super::{YieldReport, sentences, step, table};
use crate::document::Fact;
use crate::number::{Written, no_interval, trimmed_pct};
use crate::sentence::words_of;
use plimsoll_model::{ArmFinding, BudgetVerdict, Estimate, human_duration};

/// The arm that is shown first: the one to take, else the first with a job beside the
/// service.
pub(super) fn first(report: &YieldReport<'_>) -> usize {
    let findings = report.findings;
    let at = |is: &dyn Fn(&ArmFinding) -> bool| findings.tried().position(|(_, arm)| is(arm));
    let best = findings.best();
    let best = best.and_then(|best| at(&|arm| std::ptr::eq(arm, best)));
    best.or_else(|| at(&|arm| arm.arm.is_beside())).unwrap_or(0)
}

pub(super) fn headline(report: &YieldReport<'_>) -> String {
    let findings = report.findings;
    if let Some(plan) = &report.plan.step {
        return step::headline(findings, plan);
    }
    let budget = &findings.budget;
    let Some(best) = findings.best() else {
        return format!("Budget {budget}: inconclusive");
    };
    let name = format!(
        "{}{}",
        best.arm,
        sentences::with(findings.recommended.headroom_pct)
    );
    let worst = worst(report, best);
    match findings.recommended.verdict {
        BudgetVerdict::Within => {
            let gained = best
                .work_gained_share
                .filter(|gained| gained.low.is_none_or(|low| low > 0.0))
                .filter(|_| best.work_by_cpu_share.is_none());
            let gained = words_of(gained.map(table::pct), |gained| {
                format!(" and gain {} % of its work", Written::pct(gained).value)
            });
            format!("Use {name}{gained}, {worst}, within {budget}")
        }
        BudgetVerdict::Inconclusive => {
            format!("Best supported: {name}, {worst}; budget {budget}: inconclusive")
        }
        BudgetVerdict::Beyond => format!(
            "No isolation mechanism keeps the service within {budget}; closest: {name}, {worst}"
        ),
    }
}

/// `p99 at worst +3.5 %`, and without an interval `p99 +2.1 % (no interval: one trial)`
fn worst(report: &YieldReport<'_>, best: &ArmFinding) -> String {
    let budget = &report.findings.budget;
    let (quantile, trials) = (budget.quantile, best.trials);
    let change = best
        .latency_change_pct
        .and_then(|change| change.under(budget));
    match (sentences::worst_case(report), change) {
        (Some(worst), _) => format!("{quantile} at worst {worst} %"),
        (None, Some(change)) => {
            let change = table::signed(change);
            format!("{quantile} {change} % ({})", no_interval(trials))
        }
        (None, None) => format!("{quantile} not compared"),
    }
}

pub(super) fn tiles(report: &YieldReport<'_>) -> Vec<Fact> {
    let findings = report.findings;
    let Some(best) = findings.best() else {
        return Vec::new();
    };
    let none = &no_interval(best.trials);
    let ends = |estimate: Estimate| {
        estimate
            .interval()
            .and_then(|_| Written::pct(estimate).ends())
    };
    let gained = best.work_gained_share.map(|share| {
        let gained = table::pct(share);
        let more = "of what the job does alone".to_owned();
        let tile = Fact::tile("Work gained", Written::pct(gained).value, "%", more);
        tile.ending(ends(gained), none)
    });
    let change = best
        .latency_change_pct
        .and_then(|change| change.under(&findings.budget));
    let paid = change.map(|change| {
        let name = format!("Latency paid, change of {}", findings.budget.quantile);
        let worst = words_of(sentences::worst_case(report), |worst| {
            format!("at worst {worst} %; ")
        });
        let verdict = match findings.recommended.verdict {
            BudgetVerdict::Within => "kept",
            BudgetVerdict::Beyond => "broken",
            BudgetVerdict::Inconclusive => "inconclusive",
        };
        let more = format!(
            "{worst}budget +{} %: {verdict}",
            trimmed_pct(findings.budget.more_pct)
        );
        Fact::tile(&name, table::signed(change), "%", more).ending(ends(change), none)
    });
    let total = best.total_work_share.map(|share| {
        let total = table::pct(share);
        let more = "of the machine's work, service and job".to_owned();
        let tile = Fact::tile("Total work", Written::pct(total).value, "%", more);
        tile.ending(ends(total), none)
    });
    [gained, paid, total].into_iter().flatten().collect()
}

pub(super) fn facts(report: &YieldReport<'_>) -> Vec<Fact> {
    let (side, run) = (&report.plan.sideload, &report.plan.load.run);
    let headroom = format!("{} %", trimmed_pct(side.headroom.pct()));
    Fact::known([
        ("Service", Some(report.workload.clone())),
        ("Best-effort job", Some(side.job.to_string())),
        ("CPUs of the job", Some(side.cpus.to_string())),
        ("Latency budget", Some(report.findings.budget.to_string())),
        ("Headroom of quotas and cpuset", Some(headroom)),
        (
            "Passes",
            Some(format!("{}, each arm once in each, shuffled", run.passes)),
        ),
        ("Window of a trial", Some(human_duration(run.window))),
        ("Seed", Some(run.seed.to_string())),
    ])
}
