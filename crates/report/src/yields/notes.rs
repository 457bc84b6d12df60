//! How the table is to be read, and what is odd about it.

use super::YieldReport;
use super::sentences::{listed, names};
use super::table::NO_INTERVAL;
use crate::number::{confidence, for_count, grouped, per_second, trimmed_pct};
use crate::sentence::Sentence;
use crate::table::Ink;
use plimsoll_model::{Arm, ArmFinding, Estimate, Share, YieldFindings, human_duration};
use std::time::Duration;

/// A total above this is no measuring error.
const BEYOND_ALL: f64 = 1.1;
/// In less time than this a law decides twice at most.
const FEW_DECISIONS: Duration = Duration::from_secs(3);

pub(super) fn legend(findings: &YieldFindings) -> Vec<(&'static str, String)> {
    let quantile = findings.budget.quantile;
    let is_priced = findings
        .tried()
        .any(|(_, arm)| arm.price_us_per_pct.is_some());
    let change = format!("of {quantile}, against the service alone in the same pass");
    let entries = [
        Some(("gained", "the job's work as a share of what it does alone")),
        Some((
            "total",
            "that plus the service's work as a share of its capacity",
        )),
        Some(("change", change.as_str())),
        Some(("waits", "run delay per request")),
        is_priced.then_some(("price", "p99 paid per percent of work gained")),
        Some((
            "headroom",
            "the part of the machine that the job must leave unused",
        )),
        Some(("allowed", "the most it could use of its CPUs")),
    ];
    let entries = entries.into_iter().flatten();
    entries.map(|(name, is)| (name, is.to_owned())).collect()
}

pub(super) fn of(report: &YieldReport<'_>) -> Vec<Sentence> {
    let findings = report.findings;
    let mut said = vec![match findings.noise_floor_pct {
        Some(floor) => Ink::Plain.says(format!(
            "Noise floor of {} (A/A): {} % ({}).",
            findings.budget.quantile,
            trimmed_pct(floor),
            confidence()
        )),
        None => Ink::Yellow.says(format!(
            "The noise floor of {} is not known: fewer than 3 valid passes that show it.",
            findings.budget.quantile
        )),
    }];
    said.extend(without_interval(findings));
    said.extend(short_trials(report));
    if findings.rated.is_none() {
        said.push(Ink::Dim.says(
            "total is not known without the service's capacity: give --rated RATE, or --load in \
             place of --rate.",
        ));
    }
    let doubt = doubtful_rate(report);
    said.extend(beyond_all(report, doubt.is_some()));
    said.extend(doubt);
    said.extend(coarse(report));
    said.extend(findings.arms.iter().filter_map(held));
    said.extend(hasty(report));
    said
}

/// What the mark in the table means, where there is one.
fn without_interval(findings: &YieldFindings) -> Option<Sentence> {
    let figures = |arm: &ArmFinding| {
        let change = arm
            .latency_change_pct
            .and_then(|c| c.under(&findings.budget));
        let known = [
            arm.work_gained_share,
            arm.total_work_share,
            change,
            arm.price_us_per_pct,
        ];
        known.into_iter().flatten()
    };
    let mut all = findings.tried().flat_map(|(_, arm)| figures(arm));
    all.any(|figure| figure.interval().is_none()).then(|| {
        Ink::Yellow.says(format!(
            "{NO_INTERVAL} No interval: it takes 3 passes in which an arm and what it is compared \
             with are valid, and for a price 5."
        ))
    })
}

/// Quantiles that trials have too few requests for.
fn short_trials(report: &YieldReport<'_>) -> Option<Sentence> {
    let findings = report.findings;
    let short = &findings.short_trials;
    let fewest = short.iter().map(|short| short.requests).min()?;
    let names: Vec<String> = short
        .iter()
        .map(|short| short.quantile.to_string())
        .collect();
    let needed: Vec<String> = short.iter().map(|s| grouped(s.needed as f64, 0)).collect();
    let is_budget = short
        .iter()
        .any(|short| short.quantile == findings.budget.quantile);
    let (ink, so) = match is_budget {
        true => (
            Ink::Yellow,
            ", so there is no verdict; measure longer (--duration)",
        ),
        false => (Ink::Dim, ""),
    };
    Some(ink.says(format!(
        "{} of a trial {} not compared: {} {} requests, and the shortest trial of the service alone \
         has {}{so}.",
        listed(&names),
        for_count(names.len(), "is", "are"),
        for_count(names.len(), "it takes", "they take"),
        listed(&needed),
        grouped(fewest as f64, 0)
    )))
}

/// More than 100 %, beyond doubt. Where the capacity is a lower bound, a little
/// more says nothing.
fn beyond_all(report: &YieldReport<'_>, rate_in_doubt: bool) -> Option<Sentence> {
    report.findings.rated.as_ref()?;
    let is_beyond = |total: Estimate| match total.low {
        Some(low) if !rate_in_doubt => low > 1.0,
        low => low.unwrap_or(total.value) > BEYOND_ALL,
    };
    let mut tried = report.findings.tried();
    let found =
        tried.find(|(_, arm)| arm.arm.is_beside() && arm.total_work_share.is_some_and(is_beyond));
    found.map(|_| {
        Ink::Yellow.says(
            "A total above 100 %: each part is a share of what it did alone, so alone the service \
             was disturbed, or the job ran slower or left CPUs idle.",
        )
    })
}

/// What the service carries alone, where no valid trial shows it saturated.
pub(super) fn doubtful_rate(report: &YieldReport<'_>) -> Option<Sentence> {
    let rated = report.findings.rated.as_ref()?;
    if rated.given || rated.limited_by_service {
        return None;
    }
    let why = match rated.disturbed {
        true => {
            "other processes used the CPUs during calibration, and no valid trial shows the service \
             saturated"
        }
        false => "the load generator saturated first",
    };
    Some(Ink::Yellow.says(format!(
        "{} is a lower bound of what the service carries alone: {why}. Load and total are lower then.",
        per_second(rated.rate_rps)
    )))
}

/// Few CPUs cannot be divided as finely as the headroom was asked for.
pub(super) fn coarse(report: &YieldReport<'_>) -> Option<Sentence> {
    let side = &report.plan.sideload;
    let is_tried = side.arms.contains(&Arm::CpuSet);
    let grain = 100.0 / side.cpus.len().max(1) as f64;
    let is_about_arms = side.headrooms.is_empty();
    (is_tried && is_about_arms && grain > side.headroom.pct()).then(|| {
        Ink::Dim.says(format!(
            "cpuset allots whole CPUs, each {} % of this machine: it does not keep {} % headroom \
             exactly.",
            trimmed_pct(grain),
            trimmed_pct(side.headroom.pct())
        ))
    })
}

pub(super) fn held(found: &ArmFinding) -> Option<Sentence> {
    let held = found.held;
    let pct = |share: Share| trimmed_pct(share.pct());
    let frozen = match held.frozen.filter(|_| found.arm.is_law())? {
        Share::ZERO => "never frozen".to_owned(),
        share => format!("frozen {} % of the time", pct(share)),
    };
    let allowed = held
        .allowed
        .map(|share| format!("allowed {} % of its CPUs on average", pct(share)));
    let throttled = held
        .throttled
        .map(|share| format!("throttled in {} % of quota periods", pct(share)));
    let parts: Vec<String> = [allowed, Some(frozen), throttled]
        .into_iter()
        .flatten()
        .collect();
    Some(Ink::Dim.says(format!("{}: {}.", found.arm, parts.join(", "))))
}

/// A law of which a trial sees hardly a decision.
pub(super) fn hasty(report: &YieldReport<'_>) -> Option<Sentence> {
    let side = &report.plan.sideload;
    let laws: Vec<Arm> = side.arms.iter().copied().filter(|a| a.is_law()).collect();
    (!laws.is_empty() && report.plan.load.run.window < FEW_DECISIONS).then(|| {
        Ink::Yellow.says(format!(
            "{} {} once a second, so a trial of {} has hardly a decision; measure longer \
             (--duration 5s).",
            names(&laws),
            for_count(laws.len(), "decides", "decide"),
            human_duration(report.plan.load.run.window)
        ))
    })
}
