//! What follows from a record, in any format.

use crate::failure::Failure;
use crate::tally::tally;
use plimsoll_experiments::{Experiment, TrialOf};
use plimsoll_model::{Goal, each_once};
use plimsoll_record::Record;
use plimsoll_report::{Document, Format, Look, RecordFacts, Report, render};

/// The plan of a record, with other goals where some are given.
///
/// # Errors
/// The experiment has no goals.
pub(crate) fn plan<E: Experiment>(record: &Record, goals: &[Goal]) -> Result<E::Plan, Failure> {
    let plan: E::Plan = record.plan()?;
    if goals.is_empty() {
        return Ok(plan);
    }
    E::with_goals(&plan, &each_once(goals)).ok_or_else(|| {
        Failure::Mistake(format!(
            "--goal does not apply to {}, a record of plimsoll {}; leave it out",
            record.path().display(),
            E::NAME
        ))
    })
}

pub(crate) fn trials<E: Experiment>(record: &Record) -> Result<Vec<TrialOf<E>>, Failure> {
    Ok(record.trials()?.collect::<Result<_, _>>()?)
}

pub(crate) struct Conclusion<'a, E: Experiment> {
    record: &'a Record,
    /// With secrets hidden.
    plan: E::Plan,
    trials: Vec<TrialOf<E>>,
    findings: E::Findings,
    picture: E::Picture,
}

impl<E: Experiment> Conclusion<'_, E> {
    /// Concludes from all trials of a record. `goals` replace those of the run:
    /// the trials are the same.
    pub(crate) fn of<'a>(record: &'a Record, goals: &[Goal]) -> Result<Conclusion<'a, E>, Failure> {
        let (plan, trials) = (plan::<E>(record, goals)?, trials::<E>(record)?);
        Ok(Conclusion {
            record,
            findings: E::findings(&plan, &trials),
            picture: E::picture(&plan, &trials),
            plan: E::shown(&plan),
            trials,
        })
    }

    /// In a format; `look` is that of text.
    pub(crate) fn written(&self, format: Format, look: Look) -> Result<String, Failure> {
        let report = self.report();
        let document = E::document(&report, &self.picture);
        rendered(&document, format, look)
    }

    /// What is kept for later commands; a remark for the user.
    pub(crate) fn conclude(&self) -> Option<String> {
        E::conclude(&self.report())
    }

    fn report(&self) -> Report<'_, E::Plan, E::Findings> {
        let record = self.record;
        Report {
            experiment: E::NAME,
            workload: E::workload(&self.plan),
            findings: &self.findings,
            plan: &self.plan,
            seed: E::run(&self.plan).seed,
            provenance: record.provenance(),
            requirements: record.requirements(),
            record: RecordFacts {
                file: record.path(),
                created_unix_ms: record.created_unix_ms(),
                ended: record.end(),
                trials: tally(&self.trials),
                command_line: record.command_line(),
            },
        }
    }
}

pub(crate) fn rendered(
    document: &Document<'_>,
    format: Format,
    look: Look,
) -> Result<String, Failure> {
    render(document, format, look)
        .map_err(|e| Failure::Run(format!("the findings cannot be shown: {e}")))
}
