//! What was found, in plain words.

use super::{headroom, thresholds};
use crate::capacity::{self, Subject, at_cpu, carries, leading, leads};
use crate::number::{self, per_second};
use crate::sentence::{Sentence, words_if};
use crate::table::Ink;
use crate::{Report, document, method, smt};
use plimsoll_model::{
    CapacityFinding, CapacityNote, CpuLimit, Findings, LightBasis, LimitedBy, PooledCpu, RunEnd,
};

pub(super) fn answers(report: &Report<'_>) -> Vec<Sentence> {
    let findings = report.findings;
    let subject = Subject {
        is_cut_short: report.record.ended != Some(&RunEnd::Complete),
        ..Subject::of(&report.plan.workload)
    };
    let mut out = Vec::new();
    let first = leading(&findings.capacity);
    match first {
        Some(first) => {
            out.push(leads(subject, first));
            out.push(Ink::Plain.says(at_cpu(subject, first.finding)));
        }
        None => out.push(Ink::Yellow.says("No goal was given, so there is no capacity.")),
    }
    out.push(Ink::Plain.says(headroom::sentence(subject, findings)));
    let is_first = |c: &CapacityFinding| first.is_some_and(|first| first.is(c));
    for further in findings.capacity.iter().filter(|c| !is_first(c)) {
        let mut sentence = carries(subject, further);
        if further.cpu_pct.is_some() {
            sentence.text += &format!(" {}", at_cpu(subject, further));
        }
        out.push(sentence);
    }
    if !findings.thresholds.is_empty() {
        out.extend(thresholds::sentence(subject, findings));
    }
    out
}

pub(super) fn notes(report: &Report<'_>) -> Vec<Sentence> {
    let rows = report.record.trials.all;
    let note = report.table().map(|table| method::imported(table, rows));
    let mut out: Vec<Sentence> = note.into_iter().collect();
    out.extend(pooled(&report.findings.cpu_pooled));
    out.extend(rated(report));
    out.extend(usable(report));
    out.extend(idle(report));
    out.extend(light(Subject::of(&report.plan.workload), report.findings));
    out.extend(smt::of_sweep(report));
    out
}

/// More rows than these are for programs.
const MOST_POOLED_SHOWN: usize = 6;

fn pooled(rows: &[PooledCpu]) -> Option<Sentence> {
    let shown = rows.iter().take(MOST_POOLED_SHOWN).map(|row| {
        format!(
            "{} ({} % taken as {} %)",
            per_second(row.rate_rps),
            number::pct(row.measured_cpu_pct),
            number::pct(row.fitted_cpu_pct)
        )
    });
    let mut shown: Vec<String> = shown.collect();
    if let Some(more) = rows.len().checked_sub(MOST_POOLED_SHOWN).filter(|n| *n > 0) {
        shown.push(format!("and {more} more"));
    }
    let text = format!(
        "CPU use falls between rows whose rate rises; these rows are averaged: {}.",
        shown.join(", ")
    );
    (!rows.is_empty()).then(|| Ink::Yellow.says(text))
}

fn rated(report: &Report<'_>) -> Option<Sentence> {
    let rated = report.findings.rated.as_ref()?;
    let rate = per_second(rated.rate_rps);
    let says = |ink: Ink, what: &str| Some(ink.says(format!("100 % load is {rate}, {what}")));
    if report.is_imported() {
        return says(
            Ink::Dim,
            "the highest rate of the table, which need not be saturation.",
        );
    }
    match rated.never_carried {
        Some(instead) if rated.given => says(
            Ink::Yellow,
            &format!(
                "as given, far more than the service carries: it kept up at no level, not at the \
                 lowest of {}, and answered at most {}. Leave --rated out to have the rated rate \
                 found.",
                per_second(instead.lowest_offered_rps),
                per_second(instead.most_achieved_rps)
            ),
        ),
        _ if rated.given => says(Ink::Dim, "as given."),
        _ => {
            let ink = match rated.limited_by_service {
                true => Ink::Dim,
                false => Ink::Yellow,
            };
            says(ink, limited_by(rated.limited_by))
        }
    }
}

/// What the highest throughput of the calibration says.
fn limited_by(limit: LimitedBy) -> &'static str {
    match limit {
        LimitedBy::Service => "the highest throughput during calibration.",
        LimitedBy::OtherLoad => {
            "the highest throughput during calibration, a lower bound: other processes used the \
             CPUs, and no valid trial shows the service saturated."
        }
        LimitedBy::Connections => {
            "a lower bound: the client's connections were the limit, unless the service's limit \
             is the same."
        }
        LimitedBy::ClientCpu => {
            "a lower bound: the load generator's CPUs were the limit. Give it more with --cpus, \
             or run it on another machine."
        }
        LimitedBy::Generator => {
            "a lower bound: the load generator sent late, though its CPUs were not busy; \
             something held it up."
        }
        LimitedBy::Unknown => "a lower bound: nothing limited it in the calibration.",
    }
}

/// How many CPUs the service could use, and what CPU use is of under a quota.
fn usable(report: &Report<'_>) -> Option<Sentence> {
    let usable = report.plan.run.cpus.capacity?;
    let of = words_if(
        usable.limited_by == CpuLimit::Quota,
        "; CPU use is its own CPU time over that",
    );
    let usable = method::capacity(usable);
    Some(Ink::Dim.says(format!("The service could use {usable}{of}.")))
}

fn idle(report: &Report<'_>) -> Option<Sentence> {
    if let Some(idle) = report.findings.idle_cpu_pct {
        return Some(Ink::Dim.says(format!("CPU use without load: {} %.", number::pct(idle))));
    }
    let why = document::reason(report.record.trials.idle_invalid?);
    Some(Ink::Yellow.says(format!(
        "CPU use without load is not known: the trial without load is invalid, because {why}."
    )))
}

/// Where light load is not that of levels, and no capacity's note says so.
fn light(subject: Subject, findings: &Findings) -> Option<Sentence> {
    let light = findings.light_load.as_ref()?;
    let says = |c: &CapacityFinding| matches!(c.note, Some(CapacityNote::Light { .. }));
    let is_told = findings.capacity.iter().any(says);
    let note = CapacityNote::Light {
        basis: light.basis,
        up_to_load_pct: light.up_to_load_pct,
    };
    let matters = findings.capacity.iter().any(|c| c.goal.is_relative());
    let is_odd = light.basis != LightBasis::Levels && matters && !is_told;
    is_odd.then(|| Ink::Yellow.says(capacity::note_sentence(subject, note)))
}
