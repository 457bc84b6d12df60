//! What follows from a record, in any form that it is asked for.

use crate::args::Format;
use crate::failure::Failure;
use crate::tally::tally;
use plimsoll_model::{Findings, Goal, Plan, Trial};
use plimsoll_record::Record;
use plimsoll_report::{Document, Look, RecordFacts, Report, render};

/// What follows from a record.
pub(crate) struct Concluded<'a> {
    record: &'a Record,
    plan: Plan,
    trials: Vec<Trial>,
    findings: Findings,
}

impl Concluded<'_> {
    /// Other goals than the run's own may be asked for: the trials are the
    /// same.
    pub(crate) fn of<'a>(record: &'a Record, goals: &[Goal]) -> Result<Concluded<'a>, Failure> {
        let trials: Vec<Trial> = record.trials()?.collect::<Result<_, _>>()?;
        let mut plan = record.plan().clone();
        if !goals.is_empty() {
            plan.goals = goals.to_vec();
        }
        Ok(Concluded {
            record,
            findings: plimsoll_study::findings(&plan, &trials),
            plan,
            trials,
        })
    }

    /// In a format; text for a terminal that looks so.
    pub(crate) fn written(&self, format: Format, look: Look) -> Result<String, Failure> {
        let report = self.report();
        let picture = (format == Format::Html)
            .then(|| plimsoll_study::picture::picture(&self.plan, &self.trials));
        let document = match report.is_copies() {
            true => plimsoll_report::copies::document(&report, picture.as_ref()),
            false => plimsoll_report::sweep::document(&report, picture.as_ref()),
        };
        rendered(&document, format.into(), look)
    }

    /// As a page with charts.
    pub(crate) fn page(&self, look: Look) -> Result<String, Failure> {
        self.written(Format::Html, look)
    }

    fn report(&self) -> Report<'_> {
        report(self.record, &self.plan, &self.findings, &self.trials)
    }
}

/// What was concluded from a record, with all that a report says of the record.
pub(crate) fn report<'a, F>(
    record: &'a Record,
    plan: &'a Plan,
    findings: &'a F,
    trials: &[Trial],
) -> Report<'a, F> {
    Report {
        findings,
        plan,
        provenance: record.provenance(),
        requirements: record.requirements(),
        record: RecordFacts {
            file: record.path(),
            created_unix_ms: record.created_unix_ms(),
            ended: record.end(),
            trials: tally(trials),
            command_line: record.command_line(),
        },
    }
}

/// A document in a format.
pub(crate) fn rendered(
    document: &Document<'_>,
    format: plimsoll_report::Format,
    look: Look,
) -> Result<String, Failure> {
    render(document, format, look)
        .map_err(|e| Failure::Run(format!("the findings cannot be shown: {e}")))
}
