//! The form for programs; `docs/schema` has its contracts.

use super::run::Report;
use plimsoll_model::{Provenance, Requirement, RunEnd, safe_json};
use schemars::JsonSchema;
use serde::Serialize;

/// The envelope of any JSON output.
#[derive(Serialize, JsonSchema)]
pub struct Envelope<'a, B> {
    /// The version of this contract.
    schema_version: u32,
    /// The experiment or command.
    kind: &'a str,
    #[serde(flatten)]
    body: B,
}

/// The JSON output of a run.
#[derive(Serialize, JsonSchema)]
pub struct RunBody<'a, P, F> {
    /// The workload under test, in a few words.
    workload: String,
    /// The job that runs next to it, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    job: Option<String>,
    findings: &'a F,
    provenance: &'a Provenance,
    plan: &'a P,
    /// What the run needs of the machine.
    requirements: &'a [Requirement],
    /// The file with the trials.
    record: RecordBody<'a>,
}

#[derive(Serialize, JsonSchema)]
struct RecordBody<'a> {
    /// The file, as it was named.
    file: String,
    /// When it was made, in milliseconds since 1970.
    created_unix_ms: u64,
    /// How the run ended; `None` when it was killed or is still going.
    ended: Option<Ended>,
    /// Why it failed; `None` if it did not.
    failure: Option<&'a str>,
    /// Trials of all phases.
    trials: u64,
    /// The invalid ones of them.
    invalid_trials: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Ended {
    Complete,
    Interrupted,
    Failed,
}

/// One JSON object, written when it is asked for.
pub(crate) struct Json<'a>(Box<dyn Fn(bool) -> serde_json::Result<String> + 'a>);

impl<'a> Json<'a> {
    pub(crate) fn of(schema_version: u32, kind: &'a str, body: impl Serialize + 'a) -> Json<'a> {
        let envelope = Envelope {
            schema_version,
            kind,
            body,
        };
        Json(Box::new(move |is_pretty| {
            let json = match is_pretty {
                true => serde_json::to_string_pretty(&envelope)?,
                false => serde_json::to_string(&envelope)?,
            };
            Ok(safe_json(&json))
        }))
    }

    /// Of a run. `job` is what ran next to the workload.
    pub(crate) fn of_run<P: Serialize, F: Serialize>(
        schema_version: u32,
        report: &Report<'a, P, F>,
        job: Option<String>,
    ) -> Json<'a> {
        let record = &report.record;
        let (ended, failure) = match record.ended {
            Some(RunEnd::Complete) => (Some(Ended::Complete), None),
            Some(RunEnd::Interrupted) => (Some(Ended::Interrupted), None),
            Some(RunEnd::Failed(why)) => (Some(Ended::Failed), Some(why.as_str())),
            None => (None, None),
        };
        let body = RunBody {
            workload: report.workload.clone(),
            job,
            findings: report.findings,
            provenance: report.provenance,
            plan: report.plan,
            requirements: report.requirements,
            record: RecordBody {
                file: record.file.to_string_lossy().into_owned(),
                created_unix_ms: record.created_unix_ms,
                ended,
                failure,
                trials: record.trials.all,
                invalid_trials: record.trials.invalid,
            },
        };
        Json::of(schema_version, report.experiment, body)
    }

    pub(super) fn pretty(&self) -> serde_json::Result<String> {
        (self.0)(true).map(|json| json + "\n")
    }

    /// On one line, to be kept inside of something else.
    pub(super) fn compact(&self) -> serde_json::Result<String> {
        (self.0)(false)
    }
}
