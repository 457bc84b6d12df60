//! What follows from the table, in sentences.

use super::YieldReport;
use super::table::{pct, signed};
use crate::number::{Written, per_second, time_us, trimmed_pct};
use crate::sentence::{Sentence, words_if, words_of};
use crate::table::Ink;
use plimsoll_model::{
    Arm, ArmFinding, BesideRate, BudgetVerdict, Cause, Estimate, Job, human_duration,
};

pub(super) fn asked(report: &YieldReport<'_>) -> Sentence {
    let findings = report.findings;
    let Some(rate) = findings.rate_rps else {
        return Ink::Dim.says("Nothing was measured yet.");
    };
    let side = &report.plan.sideload;
    let of = match (&findings.rated, side.service) {
        (Some(rated), BesideRate::Load(level)) => format!(
            ", {} % of the {} that the service carries alone",
            trimmed_pct(level.pct()),
            per_second(rated.rate_rps)
        ),
        (None, _) | (_, BesideRate::Rate(_)) => String::new(),
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

pub(super) fn passes(n: u32) -> String {
    match n {
        0 => "no pass with valid trials of all arms".to_owned(),
        1 => "one pass with valid trials of all arms".to_owned(),
        n => format!("{n} passes with valid trials of all arms"),
    }
}

/// Which arm to take and why, or what it takes to decide.
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
                let with = words_if(!findings.curve.is_empty(), " with other headrooms");
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
    let gained = words_of(best.work_gained_share.map(pct), |gained| {
        Written::pct(gained).with_ends(" %")
    });
    let paid = words_of(best.latency_change_pct, |change| {
        let change = Written::pct(change.under(&findings.budget)).with_ends(" %");
        format!(" and {} changes by {change}", findings.budget.quantile)
    });
    format!(
        "Use {}{}: the job gains {gained} of its work beside the service{paid}, within {}.{}",
        best.arm,
        with(findings.recommended.headroom_pct),
        findings.budget,
        why(best)
    )
}

pub(crate) fn with(headroom_pct: Option<f64>) -> String {
    words_of(headroom_pct, |headroom| {
        format!(" with a headroom of {} %", trimmed_pct(headroom))
    })
}

fn why(arm: &ArmFinding) -> &'static str {
    match arm.cause {
        Some(Cause::Waiting) => " The cause is run delay.",
        Some(Cause::Slower) => " The cause is slower execution, not run delay.",
        Some(Cause::Both) => " The causes are run delay and slower execution.",
        None => "",
    }
}

/// The arm with the smallest change among those that are asked for, with its
/// headroom.
fn least_change<'a>(
    report: &YieldReport<'a>,
    is_asked: fn(Estimate) -> bool,
) -> Option<(String, &'a ArmFinding, Estimate)> {
    let findings = report.findings;
    let beside = findings.tried().filter(|(_, a)| a.arm.is_beside());
    let changed = beside.filter_map(|(headroom, a)| {
        let change = a.latency_change_pct?.under(&findings.budget);
        is_asked(change).then(|| (format!("{}{}", a.arm, with(headroom)), a, change))
    });
    changed.min_by(|a, b| a.2.value.total_cmp(&b.2.value))
}

/// Where no verdict is certain: the arm with the smallest change, of those with
/// an interval.
fn best_supported(report: &YieldReport<'_>) -> String {
    let least = least_change(report, |change| change.interval().is_some());
    words_of(least, |(name, arm, change)| {
        let total = words_of(arm.total_work_share.map(pct), |total| {
            format!(", {} % total work", Written::pct(total).value)
        });
        let ends = Written::pct(change).ends_in_brackets();
        format!(
            " Best supported: {name}, {} %{ends}{total}.",
            signed(change)
        )
    })
}

fn cheapest(report: &YieldReport<'_>) -> String {
    words_of(least_change(report, |_| true), |(name, arm, change)| {
        let price = words_of(arm.price_us_per_pct, |price| {
            let price = time_us(price.value.max(0.0));
            format!(", {price} of p99 for each percent of work")
        });
        let change = trimmed_pct(change.value.max(0.0));
        format!(" Closest: {name}, +{change} %{price}.{}", why(arm))
    })
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
    listed(&arms.iter().map(|arm| arm.name()).collect::<Vec<_>>())
}

/// `a, b and c`
pub(super) fn listed<S: AsRef<str>>(parts: &[S]) -> String {
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => parts.concat(),
    }
}
