//! What was found, in plain words.

use crate::capacity::{Subject, at_cpu, carries};
use crate::escape::safe;
use crate::number::{self, for_count, per_second};
use crate::table::Ink;
use crate::{Report, headroom};
use plimsoll_model::{Outcome, Requirement, RunEnd, TableRows, Workload};

/// A sentence and how it is painted.
#[derive(Debug, Clone)]
pub(crate) struct Sentence {
    pub(crate) ink: Ink,
    pub(crate) text: String,
}

impl Sentence {
    pub(crate) fn new(ink: Ink, text: impl Into<String>) -> Sentence {
        Sentence {
            ink,
            text: text.into(),
        }
    }
}

/// The three sentences: how much work is carried, at which CPU use, and how
/// far CPU use tells the truth; then one for each further goal.
pub(crate) fn answers(report: &Report<'_>) -> Vec<Sentence> {
    let findings = report.findings;
    let subject = Subject::of(&report.plan.workload);
    let mut out = Vec::new();
    match findings.capacity.first() {
        Some(first) => {
            out.push(carries(subject, first));
            out.push(Sentence::new(Ink::Plain, at_cpu(subject, first)));
        }
        None => out.push(Sentence::new(
            Ink::Yellow,
            "No goal was given, so how much is carried within one is not known.",
        )),
    }
    out.push(Sentence::new(
        Ink::Plain,
        headroom::sentence(subject, &findings.headroom),
    ));
    for further in findings.capacity.iter().skip(1) {
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
    out.extend(rated(report));
    if let Some(idle) = report.findings.idle_cpu_pct {
        let text = format!("Without load CPU use was {} %.", number::pct(idle));
        out.push(Sentence::new(Ink::Dim, text));
    }
    out.extend(threads(report));
    out.extend(ended(report));
    out.extend(lacking(report.requirements));
    let file = safe(&report.record.file.to_string_lossy());
    out.push(Sentence::new(Ink::Dim, format!("Record: {file}")));
    out
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
    let advice = if 2 * invalid > all {
        " Run it again when the machine is quieter, or allow more with --max-slip, --max-steal or --max-other."
    } else {
        ""
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
    } else if report.plan.calibration.rated.is_some() {
        (Ink::Dim, format!("100 % load is {rate}, as was given."))
    } else if rated.limited_by_service {
        let text = format!(
            "100 % load is {rate}, the highest throughput seen while the rated rate was sought."
        );
        (Ink::Dim, text)
    } else {
        let text = format!(
            "100 % load is {rate}: that is what the load generator reached, not the service, \
             which may carry more."
        );
        (Ink::Yellow, text)
    };
    Some(Sentence::new(ink, text))
}

/// Whether SMT has a part in how CPU use and work go together.
fn threads(report: &Report<'_>) -> Option<Sentence> {
    // Of a service on another host, or in a table, nothing is known of its cores.
    let is_table = matches!(report.plan.workload, Workload::Imported(_));
    let measured_here = !is_table && !report.plan.cpus.service.is_empty();
    let text = match report
        .provenance
        .topology
        .threads_per_core
        .filter(|_| measured_here)?
    {
        1 => "One thread per core here: CPU use needs no correction for SMT.".to_owned(),
        n => format!(
            "{n} threads per core here: a core with one busy thread does more than 1/{n} of what it \
             can, so CPU use lags behind work and catches up at the end."
        ),
    };
    Some(Sentence::new(Ink::Dim, text))
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
