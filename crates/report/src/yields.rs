//! What batch work beside a service gained and what the service paid, for a
//! terminal and for programs (`docs/schema/yield.schema.json`).

mod csv;
pub(crate) mod curve;
mod notes;
pub(crate) mod said;
pub(crate) mod step;
pub(crate) mod table;

#[cfg(test)]
mod tests;

pub use csv::yield_csv;

use crate::compare::put;
use crate::escape::safe;
use crate::json::{RecordOutput, escape};
use crate::sentence::Sentence;
use crate::table::{Column, Ink, Paint, render};
use crate::text::machine;
use crate::{Report, secrets};
use plimsoll_model::{Plan, Provenance, Requirement, YieldFindings};
use serde::Serialize;

const SCHEMA_VERSION: u32 = 1;

/// All that is shown of a yield run.
pub type YieldReport<'a> = Report<'a, YieldFindings>;

#[derive(Serialize)]
struct Output<'a> {
    schema_version: u32,
    kind: &'static str,
    workload: String,
    job: String,
    findings: &'a YieldFindings,
    provenance: &'a Provenance,
    plan: &'a Plan,
    requirements: &'a [Requirement],
    record: RecordOutput<'a>,
}

/// One JSON object with a line per value. What is not known is `null`.
///
/// # Errors
///
/// None that can occur with these types; the signature is that of
/// `serde_json`.
pub fn yield_json(report: &YieldReport<'_>) -> serde_json::Result<String> {
    let plan = secrets::hide(report.plan);
    let output = Output {
        schema_version: SCHEMA_VERSION,
        kind: "yield",
        workload: plan.workload.to_string(),
        job: job(&plan),
        findings: report.findings,
        provenance: report.provenance,
        plan: &plan,
        requirements: report.requirements,
        record: RecordOutput::of(&report.record),
    };
    serde_json::to_string_pretty(&output).map(|json| escape(&json) + "\n")
}

/// A table with a row per arm, and what follows from it in sentences: last
/// which arm to take.
pub fn yield_text(report: &YieldReport<'_>, width: usize, colour: bool) -> String {
    let paint = Paint(colour);
    let mut out = String::new();
    let say = |out: &mut String, sentence: Sentence| put(out, &sentence, width, paint);
    let subject = format!(
        "{}, beside it {}",
        safe(&secrets::hide(report.plan).workload.to_string()),
        safe(&job(report.plan))
    );
    say(&mut out, Sentence::new(Ink::Bold, subject));
    say(
        &mut out,
        Sentence::new(Ink::Dim, machine(report.provenance)),
    );
    let parts = parts(report);
    say(&mut out, parts.asked);
    out.push('\n');
    out += &render(parts.table, width, paint);
    out.push('\n');
    for sentence in parts.notes.into_iter().chain(said::left_out(report)) {
        say(&mut out, sentence);
    }
    out.push('\n');
    for sentence in parts.answer {
        say(&mut out, sentence);
    }
    let file = safe(&report.record.file.to_string_lossy());
    say(&mut out, Sentence::new(Ink::Dim, format!("Record: {file}")));
    out
}

/// What differs between a run at one load and one whose load steps.
pub(crate) struct Parts {
    /// What the arms have in common.
    pub(crate) asked: Sentence,
    /// A row per arm.
    pub(crate) table: Vec<Column>,
    /// How the table is to be read.
    pub(crate) notes: Vec<Sentence>,
    /// What follows from it.
    pub(crate) answer: Vec<Sentence>,
}

pub(crate) fn parts(report: &YieldReport<'_>) -> Parts {
    let findings = report.findings;
    match &report.plan.step {
        None => Parts {
            asked: said::asked(report),
            table: curve::table(findings),
            notes: notes::of(report),
            answer: curve::said(findings)
                .into_iter()
                .chain(said::answer(report))
                .collect(),
        },
        Some(plan) => Parts {
            asked: step::asked(report, plan),
            table: step::columns(findings),
            notes: step::notes(report),
            answer: step::answer(report, plan),
        },
    }
}

fn job(plan: &Plan) -> String {
    let side = plan.sideload.as_ref();
    side.map_or_else(String::new, |side| side.job.to_string())
}
