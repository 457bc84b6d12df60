//! The report for programs: `docs/schema/output.schema.json` is its contract.

use crate::escape::is_unsafe;
use crate::{RecordFacts, Report, secrets};
use plimsoll_model::{Findings, Plan, Provenance, Requirement, RunEnd};
use serde::Serialize;

/// The version of the JSON output, which moves apart from the record's.
pub const OUTPUT_SCHEMA_VERSION: u32 = 2;

#[derive(Serialize)]
struct Output<'a> {
    schema_version: u32,
    kind: &'static str,
    workload: String,
    findings: &'a Findings,
    provenance: &'a Provenance,
    plan: &'a Plan,
    requirements: &'a [Requirement],
    record: RecordOutput<'a>,
}

#[derive(Serialize)]
pub(crate) struct RecordOutput<'a> {
    file: String,
    created_unix_ms: u64,
    ended: Option<&'static str>,
    failure: Option<&'a str>,
    trials: u64,
    invalid_trials: u64,
}

impl<'a> RecordOutput<'a> {
    pub(crate) fn of(record: &RecordFacts<'a>) -> RecordOutput<'a> {
        let (ended, failure) = match record.ended {
            Some(RunEnd::Complete) => (Some("complete"), None),
            Some(RunEnd::Interrupted) => (Some("interrupted"), None),
            Some(RunEnd::Failed(why)) => (Some("failed"), Some(why.as_str())),
            None => (None, None),
        };
        RecordOutput {
            file: record.file.to_string_lossy().into_owned(),
            created_unix_ms: record.created_unix_ms,
            ended,
            failure,
            trials: record.trials.all(),
            invalid_trials: record.trials.invalid(),
        }
    }
}

/// One JSON object with a line per value. What is not known is `null`.
///
/// # Errors
///
/// None that can occur with these types; the signature is that of
/// `serde_json`.
pub fn json(report: &Report<'_>) -> serde_json::Result<String> {
    with(report, |output| serde_json::to_string_pretty(output)).map(|json| json + "\n")
}

/// The same on one line, to be kept inside of something else.
///
/// # Errors
///
/// As [`json`].
pub(crate) fn compact(report: &Report<'_>) -> serde_json::Result<String> {
    with(report, |output| serde_json::to_string(output))
}

fn with(
    report: &Report<'_>,
    write: impl Fn(&Output<'_>) -> serde_json::Result<String>,
) -> serde_json::Result<String> {
    let plan = secrets::hide(report.plan);
    let output = Output {
        schema_version: OUTPUT_SCHEMA_VERSION,
        kind: if report.is_copies() {
            "copies"
        } else {
            "sweep"
        },
        workload: plan.workload.to_string(),
        findings: report.findings,
        provenance: report.provenance,
        plan: &plan,
        requirements: report.requirements,
        record: RecordOutput::of(&report.record),
    };
    write(&output).map(|json| escape(&json))
}

/// JSON may carry characters that drive a terminal (RFC 8259 asks for escapes
/// below U+0020 only); they stand within strings, where an escape says the
/// same.
pub(crate) fn escape(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_unsafe(c) && c != '\n' {
            out += &format!("\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}
