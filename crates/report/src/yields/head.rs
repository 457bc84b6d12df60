//! The head of the page, and how the run was measured, as facts.

use super::{YieldReport, sentences, step, table};
use crate::document::Fact;
use crate::number::{Written, trimmed_pct};
use crate::sentence::words_of;
use plimsoll_model::{ArmFinding, Estimate, human_duration};

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
    match (findings.best(), findings.recommended.within_budget) {
        (Some(best), _) => {
            let gained = words_of(best.work_gained_share.map(table::pct), |gained| {
                format!(" and gain {} % of its work", Written::pct(gained).value)
            });
            let headroom = sentences::with(findings.recommended.headroom_pct);
            format!("Use {}{headroom}{gained}, within {budget}", best.arm)
        }
        (None, Some(_)) => format!("No isolation mechanism keeps the service within {budget}"),
        (None, None) => format!("Budget {budget}: inconclusive"),
    }
}

pub(super) fn tiles(report: &YieldReport<'_>) -> Vec<Fact> {
    let findings = report.findings;
    let Some(best) = findings.best() else {
        return Vec::new();
    };
    let sure = |estimate: Estimate| Written::pct(estimate).interval();
    let gained = best.work_gained_share.map(|share| {
        let gained = table::pct(share);
        let more = format!("of what the job does alone; {}", sure(gained));
        Fact::tile("Work gained", Written::pct(gained).value, "%", more)
    });
    let paid = best.latency_change_pct.map(|change| {
        let change = change.under(&findings.budget);
        let name = format!("Latency paid, change of {}", findings.budget.quantile);
        let more = format!(
            "{}; budget +{} %",
            sure(change),
            trimmed_pct(findings.budget.more_pct)
        );
        Fact::tile(&name, table::signed(change), "%", more)
    });
    let total = best.total_work_share.map(|share| {
        let total = table::pct(share);
        let more = format!("of the machine's work, service and job; {}", sure(total));
        Fact::tile("Total work", Written::pct(total).value, "%", more)
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
