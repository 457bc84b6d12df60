//! What follows from the table, in sentences.

use super::YieldReport;
use super::table::{pct, signed};
use crate::number::{Written, per_second, time_us, trimmed_pct};
use crate::sentence::Sentence;
use crate::table::Ink;
use plimsoll_model::{Arm, ArmFinding, BesideRate, BudgetVerdict, Cause, Job, human_duration};

pub(super) fn asked(report: &YieldReport<'_>) -> Sentence {
    let findings = report.findings;
    let Some(rate) = findings.rate_rps else {
        return Ink::Dim.says("Nothing was measured yet.");
    };
    let side = &report.plan.sideload;
    let of = match &findings.rated {
        Some(rated) => match side.service {
            BesideRate::Load(level) => format!(
                ", {} % of the {} that the service carries alone",
                trimmed_pct(level.pct()),
                per_second(rated.rate_rps)
            ),
            BesideRate::Rate(_) => String::new(),
        },
        None => String::new(),
    };
    let passes = passes(findings.passes);
    let to_the_end = match side.job {
        Job::Command(_) => ", or until the command ends",
        Job::Burn => "",
    };
    Ink::Dim.says(format!(
        "{} requests{of}; {} a trial{to_the_end}; {passes}.",
        per_second(rate),
        human_duration(report.plan.load.run.window)
    ))
}

/// In how many passes all arms can be compared.
pub(super) fn passes(n: u32) -> String {
    match n {
        0 => "no pass with valid trials of all arms".to_owned(),
        1 => "one pass with valid trials of all arms".to_owned(),
        n => format!("{n} passes with valid trials of all arms"),
    }
}

/// Which arm to take, and why, or what would be needed to tell.
pub(super) fn answer(report: &YieldReport<'_>) -> Vec<Sentence> {
    let findings = report.findings;
    let recommended = &findings.recommended;
    let budget = &findings.budget;
    let mut said = Vec::new();
    match (findings.best(), recommended.within_budget) {
        (Some(best), _) => {
            said.push(Ink::Green.says(take(best, report)));
            let headroom = recommended
                .headroom_pct
                .filter(|_| best.arm == Arm::Plimsoll);
            said.extend(headroom.map(|headroom| {
                let headroom = trimmed_pct(headroom);
                Ink::Plain.says(format!(
                    "Run it with: plimsoll side --headroom {headroom}% -- COMMAND"
                ))
            }));
            if !recommended.undecided.is_empty() {
                let with = match findings.curve.is_empty() {
                    true => "",
                    false => " with other headrooms",
                };
                said.push(Ink::Yellow.says(format!(
                    "{}{with}: inconclusive, with more work gained. {}",
                    names(&recommended.undecided),
                    needed(report)
                )));
            }
        }
        (None, Some(_)) => {
            let cheapest = cheapest(report);
            said.push(Ink::Red.says(format!(
                "No isolation mechanism keeps the service within {budget}.{cheapest} Leave more \
                 headroom (--headroom), allow more (--budget), or run the job elsewhere."
            )));
        }
        (None, None) => {
            said.push(Ink::Yellow.says(format!(
                "Budget {budget}: inconclusive.{} {}",
                best_supported(report),
                needed(report)
            )));
        }
    }
    said
}

fn take(best: &ArmFinding, report: &YieldReport<'_>) -> String {
    let findings = report.findings;
    let gained = best
        .work_gained_share
        .map(|share| Written::pct(pct(share)).with_ends(" %"))
        .unwrap_or_default();
    let change = best.latency_change_pct.map(|c| c.under(&findings.budget));
    let paid = change
        .map(|change| {
            format!(
                " and {} changes by {}",
                findings.budget.quantile,
                Written::pct(change).with_ends(" %")
            )
        })
        .unwrap_or_default();
    format!(
        "Use {}{}: the job gains {gained} of its work beside the service{paid}, within {}.{}",
        best.arm,
        with(findings.recommended.headroom_pct),
        findings.budget,
        why(best)
    )
}

pub(crate) fn with(headroom_pct: Option<f64>) -> String {
    headroom_pct
        .map(|headroom| format!(" with a headroom of {} %", trimmed_pct(headroom)))
        .unwrap_or_default()
}

fn why(arm: &ArmFinding) -> &'static str {
    match arm.cause {
        Some(Cause::Waiting) => " The cause is run delay.",
        Some(Cause::Slower) => " The cause is slower execution, not run delay.",
        Some(Cause::Both) => " The causes are run delay and slower execution.",
        None => "",
    }
}

/// Where no verdict is certain: the arm with the smallest change, of those with
/// an interval.
fn best_supported(report: &YieldReport<'_>) -> String {
    let findings = report.findings;
    let beside = findings.tried().filter(|(_, a)| a.arm.is_beside());
    let changed = beside.filter_map(|(headroom, a)| {
        let change = a.latency_change_pct?.under(&findings.budget);
        Some((headroom, a, change))
    });
    let sure = changed.filter(|(_, _, change)| change.interval().is_some());
    let least = sure.min_by(|a, b| a.2.value.total_cmp(&b.2.value));
    least
        .map(|(headroom, arm, change)| {
            let total = arm
                .total_work_share
                .map(|share| format!(", {} % total work", Written::pct(pct(share)).value))
                .unwrap_or_default();
            let written = Written::pct(change);
            let ends = written
                .ends()
                .map(|ends| format!(" ({ends})"))
                .unwrap_or_default();
            format!(
                " Best supported: {}{}, {} %{ends}{total}.",
                arm.arm,
                with(headroom),
                signed(change)
            )
        })
        .unwrap_or_default()
}

fn cheapest(report: &YieldReport<'_>) -> String {
    let findings = report.findings;
    let change = |a: &ArmFinding| Some(a.latency_change_pct?.under(&findings.budget).value);
    let beside = findings.tried().filter(|(_, a)| a.arm.is_beside());
    let nearest = beside
        .filter_map(|(headroom, a)| Some((headroom, a, change(a)?)))
        .min_by(|a, b| a.2.total_cmp(&b.2));
    nearest
        .map(|(headroom, arm, change)| {
            let price = arm
                .price_us_per_pct
                .map(|price| {
                    format!(
                        ", {} of p99 for each percent of work",
                        time_us(price.value.max(0.0))
                    )
                })
                .unwrap_or_default();
            format!(
                " Closest: {}{}, +{} %{price}.{}",
                arm.arm,
                with(headroom),
                trimmed_pct(change.max(0.0)),
                why(arm)
            )
        })
        .unwrap_or_default()
}

fn needed(report: &YieldReport<'_>) -> String {
    let is_open = |a: &&ArmFinding| a.verdict == Some(BudgetVerdict::Inconclusive);
    let tried = report.findings.tried().map(|(_, found)| found);
    let open = tried.filter(is_open);
    // Which one is best is known only when all are decided.
    let each: Option<Vec<u32>> = open.map(|a| a.passes_to_tell).collect();
    let passes = each.and_then(|passes| passes.into_iter().max());
    let again = |passes: u32| format!("About {passes} passes may decide it (--passes {passes}).");
    let longer = || {
        "Stop other load on this machine and measure longer: without --quick, or with --duration \
         and --passes."
            .to_owned()
    };
    passes.map_or_else(longer, again)
}

pub(super) fn names(arms: &[Arm]) -> String {
    let names: Vec<&str> = arms.iter().map(|arm| arm.name()).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.join(""),
    }
}
