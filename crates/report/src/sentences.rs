//! What was found, in plain words.

use crate::capacity::{Subject, at_cpu, carries, leading, leads, sentence};
use crate::escape::safe;
use crate::number::{self, for_count, per_second};
use crate::sentence::Sentence;
use crate::table::Ink;
use crate::{Report, doubts, headroom, smt};
use plimsoll_model::{
    CapacityFinding, CapacityNote, Findings, LightBasis, Outcome, PooledCpu, Requirement, RunEnd,
    TableRows, Workload,
};

/// The three sentences: how much work is carried within the goal that breaks
/// first, at which CPU use, and how far CPU use tells the truth; then one for
/// each further goal.
pub(crate) fn answers(report: &Report<'_>) -> Vec<Sentence> {
    let findings = report.findings;
    let subject = Subject::of(&report.plan.workload);
    let mut out = Vec::new();
    let first = leading(&findings.capacity);
    match first {
        Some(first) => {
            out.push(leads(subject, first));
            out.push(Sentence::new(Ink::Plain, at_cpu(subject, first.finding)));
        }
        None => out.push(Sentence::new(
            Ink::Yellow,
            "No goal was given, so how much is carried within one is not known.",
        )),
    }
    out.push(Sentence::new(
        Ink::Plain,
        headroom::sentence(subject, findings),
    ));
    let is_first = |c: &CapacityFinding| first.is_some_and(|first| first.is(c));
    for further in findings.capacity.iter().filter(|c| !is_first(c)) {
        let mut sentence = carries(subject, further);
        if further.cpu_pct.is_some() {
            sentence.text += &format!(" {}", at_cpu(subject, further));
        }
        out.push(sentence);
    }
    out
}

/// What else a reader should know: noise, the rated rate, how the run ended,
/// what the machine lacks.
pub(crate) fn notes(report: &Report<'_>) -> Vec<Sentence> {
    let mut out = vec![imported(report).unwrap_or_else(|| noise(report))];
    out.extend(pooled(&report.findings.cpu_pooled));
    out.extend(doubts::sentences(&report.findings.doubts));
    out.extend(rated(report));
    out.extend(idle(report));
    out.extend(light(report.findings));
    out.extend(smt::sentence(report));
    out.extend(view(report));
    out.extend(ended(report));
    out.extend(lacking(report.requirements));
    out
}

/// Where the trials are, for what comes after.
pub(crate) fn record(report: &Report<'_>) -> Sentence {
    let file = safe(&report.record.file.to_string_lossy());
    Sentence::new(Ink::Dim, format!("Record: {file}"))
}

/// What a table that somebody else measured leaves open.
fn imported(report: &Report<'_>) -> Option<Sentence> {
    let Workload::Imported(table) = &report.plan.workload else {
        return None;
    };
    let rows = report.record.trials.all();
    let open = match table.rows {
        TableRows::Rates => {
            " Which latency that is, a mean or a percentile, the table does not say; goals on any \
             percentile are held against it as it is."
        }
        TableRows::Copies => "",
    };
    let text = format!("Imported from a table of {rows} rows with one number each.{open}");
    Some(Sentence::new(Ink::Yellow, text))
}

/// More rows than these are for programs.
const MOST_POOLED_SHOWN: usize = 6;

/// Which rows are taken for something else than they say.
fn pooled(rows: &[PooledCpu]) -> Option<Sentence> {
    let shown = rows.iter().take(MOST_POOLED_SHOWN).map(|row| {
        format!(
            "{} ({} % is taken for {} %)",
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
        "Where CPU use falls although the rate rises, rows are averaged for all that is said of \
         CPU use: {}.",
        shown.join(", ")
    );
    (!rows.is_empty()).then(|| Sentence::new(Ink::Yellow, text))
}

/// What to do about a machine that is disturbed.
pub(crate) const QUIETER: &str = "Run it again when the machine is quieter, or allow more with \
                                  --max-slip, --max-steal or --max-other.";

/// Whether [`notes`] ask for a quieter machine.
pub(crate) fn asks_for_quiet(report: &Report<'_>) -> bool {
    let trials = &report.record.trials;
    2 * trials.invalid() > trials.all()
}

fn noise(report: &Report<'_>) -> Sentence {
    let trials = &report.record.trials;
    let (all, invalid) = (trials.all(), trials.invalid());
    if all == 0 {
        return Sentence::new(Ink::Red, "No trial was made.");
    }
    if invalid == 0 {
        let text = match all {
            1 => "The only trial counts.".to_owned(),
            _ => format!("All trials count ({all})."),
        };
        return Sentence::new(Ink::Dim, text);
    }
    let verb = for_count(invalid, "does", "do");
    let noun = for_count(all, "trial", "trials");
    let reason = trials.commonest_reason();
    let reason = reason.map_or_else(String::new, |why| {
        let often = for_count(invalid, "", "most often ");
        format!(", {often}because {why}")
    });
    let advice = if asks_for_quiet(report) {
        format!(" {QUIETER}")
    } else {
        String::new()
    };
    let text = format!(
        "{invalid} of {all} {noun}, those without a level included, {verb} not count{reason}.{advice}"
    );
    Sentence::new(Ink::Red, text)
}

fn rated(report: &Report<'_>) -> Option<Sentence> {
    let rated = report.findings.rated.as_ref()?;
    let rate = per_second(rated.rate_rps);
    let (ink, text) = if matches!(report.plan.workload, Workload::Imported(_)) {
        let text = format!(
            "100 % load is {rate}, the highest rate of the table; whether more is carried it does not say."
        );
        (Ink::Dim, text)
    } else if let (Some(instead), true) = (rated.never_carried, rated.given) {
        let text = format!(
            "100 % load is {rate}, as was given, and that is far more than the service carries: at \
             no level did it keep up, not at the lowest of {}, and it answered at most {}. Leave \
             --rated out to have the rate found.",
            per_second(instead.lowest_offered_rps),
            per_second(instead.most_achieved_rps)
        );
        (Ink::Yellow, text)
    } else if rated.given {
        (Ink::Dim, format!("100 % load is {rate}, as was given."))
    } else if rated.limited_by_service {
        let text = format!(
            "100 % load is {rate}, the highest throughput seen while the rated rate was sought."
        );
        (Ink::Dim, text)
    } else if rated.disturbed {
        let text = format!(
            "100 % load is {rate}, the highest throughput seen while the rated rate was sought; but \
             others used the CPUs then, and no trial that counts shows the service at its end: it \
             may carry more."
        );
        (Ink::Yellow, text)
    } else {
        let text = format!(
            "100 % load is {rate}: that is what the load generator reached, not the service, \
             which may carry more."
        );
        (Ink::Yellow, text)
    };
    Some(Sentence::new(ink, text))
}

/// CPU use without load, or why it is not known although it was looked at.
fn idle(report: &Report<'_>) -> Option<Sentence> {
    if let Some(idle) = report.findings.idle_cpu_pct {
        let text = format!("Without load CPU use was {} %.", number::pct(idle));
        return Some(Sentence::new(Ink::Dim, text));
    }
    let why = report.record.trials.idle_missing()?;
    let text = format!(
        "What CPU use is without load is not known: the trial without load does not count, \
         because {why}."
    );
    Some(Sentence::new(Ink::Yellow, text))
}

/// Where light load is not that of levels, and no capacity's note says so.
fn light(findings: &Findings) -> Option<Sentence> {
    let light = findings.light_load.as_ref()?;
    let says = |c: &CapacityFinding| matches!(c.note, Some(CapacityNote::Light { .. }));
    let is_told = findings.capacity.iter().any(says);
    let note = CapacityNote::Light {
        basis: light.basis,
        up_to_load_pct: light.up_to_load_pct,
    };
    let matters = findings.capacity.iter().any(|c| c.goal.is_relative());
    let is_odd = light.basis != LightBasis::Levels && matters && !is_told;
    is_odd.then(|| Sentence::new(Ink::Yellow, sentence(&note.to_string())))
}

/// What looking on took, where that is not next to nothing.
fn view(report: &Report<'_>) -> Option<Sentence> {
    let taken = report.record.trials.view_pct().filter(|pct| *pct > 1.0)?;
    let text = format!(
        "Drawing the live view took {} % of one CPU while trials were measured; with --plain \
         there is none.",
        number::pct(taken)
    );
    Some(Sentence::new(Ink::Yellow, text))
}

fn ended(report: &Report<'_>) -> Option<Sentence> {
    let text = match report.record.ended {
        Some(RunEnd::Complete) => return None,
        Some(RunEnd::Interrupted) => {
            "The run was stopped before its plan was done; all this comes from \
                               the trials until then."
                .to_owned()
        }
        Some(RunEnd::Failed(why)) => {
            let why = safe(why);
            format!("The run failed: {}.", why.trim_end_matches('.'))
        }
        None => "The record does not say how its run ended: it was killed, or still \
                           goes on."
            .to_owned(),
    };
    Some(Sentence::new(Ink::Yellow, text))
}

/// What the machine lacks, by name: `plimsoll doctor` has the rest.
fn lacking(requirements: &[Requirement]) -> Option<Sentence> {
    let is_met = |r: &&Requirement| !matches!(r.outcome, Outcome::Met { .. });
    let names: Vec<String> = requirements
        .iter()
        .filter(is_met)
        .map(|r| safe(&r.name))
        .collect();
    if names.is_empty() {
        return None;
    }
    let text = format!(
        "Not to be had here: {}; `plimsoll doctor` says why.",
        names.join(", ")
    );
    Some(Sentence::new(Ink::Dim, text))
}
