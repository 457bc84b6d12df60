//! `plimsoll report`: the findings of a record, made again.

use crate::args::{Format, ReportArgs};
use crate::failure::Failure;
use crate::output::Output;
use plimsoll_model::{Goal, Trial};
use plimsoll_record::Record;
use plimsoll_report::{RecordFacts, Report, TrialTally};

pub(crate) fn run(args: &ReportArgs, output: &Output) -> Result<(), Failure> {
    let record = Record::open(&args.file)?;
    show(&record, &args.goals, args.format, output)
}

/// Makes the findings from what the record holds, and prints them. Other
/// goals than the run's own may be asked for: the trials are the same.
pub(crate) fn show(
    record: &Record,
    goals: &[Goal],
    format: Format,
    output: &Output,
) -> Result<(), Failure> {
    let trials: Vec<Trial> = record.trials()?.collect::<Result<_, _>>()?;
    let mut plan = record.plan().clone();
    if !goals.is_empty() {
        plan.goals = goals.to_vec();
    }
    let findings = plimsoll_study::findings(&plan, &trials);
    let mut tally = TrialTally::default();
    trials.iter().for_each(|t| tally.add(&t.verdict));
    let report = Report {
        findings: &findings,
        plan: &plan,
        provenance: record.provenance(),
        requirements: record.requirements(),
        record: RecordFacts {
            file: record.path(),
            created_unix_ms: record.created_unix_ms(),
            ended: record.end(),
            trials: tally,
        },
    };
    output.findings(&report, format)
}
