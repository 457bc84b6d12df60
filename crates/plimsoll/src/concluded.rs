//! What follows from a record, in any form that it is asked for.

use crate::args::Format;
use crate::failure::Failure;
use plimsoll_model::{Findings, Goal, Plan, Trial};
use plimsoll_record::Record;
use plimsoll_report::{HtmlReport, Look, RecordFacts, Report, TrialTally};

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
        let written = match format {
            Format::Text => Ok(plimsoll_report::text(&report, look)),
            Format::Json => plimsoll_report::json(&report),
            Format::Csv => Ok(plimsoll_report::csv(&report)),
            Format::Html => return self.page(),
        };
        written.map_err(no_json)
    }

    /// As a page with charts.
    pub(crate) fn page(&self) -> Result<String, Failure> {
        let page = HtmlReport {
            report: &self.report(),
            picture: &plimsoll_study::picture::picture(&self.plan, &self.trials),
            command_line: self.record.command_line(),
        };
        plimsoll_report::html(&page).map_err(no_json)
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
    let mut tally = TrialTally::default();
    for trial in trials {
        tally.add(&trial.verdict);
        tally.add_idle(trial);
        tally.add_view(&trial.machine);
    }
    Report {
        findings,
        plan,
        provenance: record.provenance(),
        requirements: record.requirements(),
        record: RecordFacts {
            file: record.path(),
            created_unix_ms: record.created_unix_ms(),
            ended: record.end(),
            trials: tally,
        },
    }
}

pub(crate) fn no_json(error: impl std::fmt::Display) -> Failure {
    Failure::Run(format!("the findings cannot be put into JSON: {error}"))
}
