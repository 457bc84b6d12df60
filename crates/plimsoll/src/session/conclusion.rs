//! What follows from a record, in any format.

use crate::failure::Failure;
use crate::output::Output;
use crate::tally::tally;
use plimsoll_experiments::{Experiment, TrialOf};
use plimsoll_model::{Goal, Outcome, Requirement, RunEnd, each_once, shown_urls};
use plimsoll_record::Record;
use plimsoll_report::chart::PlotFile;
use plimsoll_report::{Document, Format, Look, RecordFacts, Report, render};
use std::ffi::OsString;

/// The plan of a record.
///
/// # Errors
/// It cannot be read, or is none that a run could have made.
pub(super) fn recorded<E: Experiment>(record: &Record) -> Result<E::Plan, Failure> {
    let plan: E::Plan = record.plan()?;
    let shown = record.path().display();
    E::check(&plan).map_err(|why| Failure::Mistake(format!("{shown}: {why}")))?;
    Ok(plan)
}

/// The plan of a record, with other goals where some are given.
///
/// # Errors
/// The experiment has no goals.
pub(crate) fn plan<E: Experiment>(record: &Record, goals: &[Goal]) -> Result<E::Plan, Failure> {
    let plan = recorded::<E>(record)?;
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
    /// These with secrets hidden too, which older versions recorded.
    command_line: Vec<String>,
    requirements: Vec<Requirement>,
    ended: Option<RunEnd>,
}

impl<E: Experiment> Conclusion<'_, E> {
    /// Concludes from all trials of a record. `goals` replace those of the run:
    /// the trials are the same.
    pub(crate) fn of<'a>(
        record: &'a Record,
        goals: &[Goal],
        output: &Output,
    ) -> Result<Conclusion<'a, E>, Failure> {
        let (plan, trials) = (plan::<E>(record, goals)?, trials::<E>(record)?);
        Ok(Conclusion {
            record,
            findings: E::findings(&plan, &trials),
            picture: E::picture(&plan, &trials),
            plan: E::shown(&plan),
            trials,
            command_line: output.shown_words(record.command_line().iter().map(OsString::from)),
            requirements: record.requirements().iter().map(shown).collect(),
            ended: record.end().map(|end| match end {
                RunEnd::Failed(why) => RunEnd::Failed(shown_urls(why)),
                other => other.clone(),
            }),
        })
    }

    /// In a format; `look` is that of text.
    pub(crate) fn written(&self, format: Format, look: Look) -> Result<String, Failure> {
        let report = self.report();
        let document = E::document(&report, &self.picture);
        rendered(&document, format, look)
    }

    /// Its charts for gnuplot, with their data.
    pub(crate) fn plots(&self) -> Vec<PlotFile> {
        let report = self.report();
        E::document(&report, &self.picture).plots()
    }

    /// What is kept for later commands; a remark for the user.
    pub(crate) fn conclude(&self) -> Option<String> {
        E::conclude(&self.report())
    }

    /// What has no answer although the run is complete.
    pub(super) fn unanswered(&self) -> Option<String> {
        E::unanswered(&self.findings)
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
            requirements: &self.requirements,
            record: RecordFacts {
                file: record.path(),
                created_unix_ms: record.created_unix_ms(),
                ended: self.ended.as_ref(),
                trials: tally(&self.trials),
                command_line: &self.command_line,
            },
        }
    }
}

/// A requirement without secrets of URLs.
fn shown(requirement: &Requirement) -> Requirement {
    let outcome = match &requirement.outcome {
        Outcome::Met { found } => Outcome::Met {
            found: shown_urls(found),
        },
        Outcome::Missed { lost, remedy } => Outcome::Missed {
            lost: shown_urls(lost),
            remedy: remedy.clone(),
        },
        Outcome::Failed { why, remedy } => Outcome::Failed {
            why: shown_urls(why),
            remedy: remedy.clone(),
        },
    };
    Requirement {
        outcome,
        ..requirement.clone()
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
