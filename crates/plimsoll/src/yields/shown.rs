//! What follows from a record of `plimsoll yield`, in any form that it is
//! asked for.

use crate::args::{Format, YieldFormat};
use crate::concluded::{self, no_json};
use crate::failure::Failure;
use crate::output::{Output, note};
use crate::page_file;
use plimsoll_model::{Trial, YieldFindings};
use plimsoll_record::Record;
use plimsoll_report::{Look, YieldHtml, YieldReport};

/// What follows from a record of such a run.
pub(crate) struct Shown<'a> {
    record: &'a Record,
    trials: Vec<Trial>,
    findings: YieldFindings,
}

impl Shown<'_> {
    /// Concludes from all trials of a record.
    pub(crate) fn of(record: &Record) -> Result<Shown<'_>, Failure> {
        let trials: Vec<Trial> = record.trials()?.collect::<Result<_, _>>()?;
        let findings = plimsoll_study::yields::findings(record.plan(), &trials);
        let findings = findings.ok_or_else(|| {
            Failure::Mistake(format!(
                "{} is no record of plimsoll yield; see it with plimsoll report",
                record.path().display()
            ))
        })?;
        Ok(Shown {
            record,
            trials,
            findings,
        })
    }

    /// In a format; text for a terminal that looks so.
    pub(crate) fn written(&self, format: YieldFormat, look: Look) -> Result<String, Failure> {
        let report = self.report();
        match format {
            YieldFormat::Text => Ok(plimsoll_report::yield_text(
                &report,
                look.width,
                look.colour,
            )),
            YieldFormat::Json => plimsoll_report::yield_json(&report).map_err(no_json),
            YieldFormat::Csv => Ok(plimsoll_report::yield_csv(&report)),
            YieldFormat::Html => self.page(),
        }
    }

    /// As a page with charts.
    fn page(&self) -> Result<String, Failure> {
        let trials = plimsoll_study::picture::trials(self.record.plan(), &self.trials);
        let steps = plimsoll_study::yields::step_courses(self.record.plan(), &self.trials);
        let page = YieldHtml {
            report: &self.report(),
            trials: &trials,
            steps: &steps,
            command_line: self.record.command_line(),
        };
        plimsoll_report::yield_html(&page).map_err(no_json)
    }

    fn report(&self) -> YieldReport<'_> {
        let record = self.record;
        concluded::report(record, record.plan(), &self.findings, &self.trials)
    }
}

/// What a run ends with: its findings on standard output, and where the page
/// with charts is, which is written first so that nobody who closes the output
/// loses it.
pub(super) fn show(
    record: &Record,
    format: YieldFormat,
    with_page: bool,
    output: &Output,
) -> Result<(), Failure> {
    let shown = Shown::of(record)?;
    let page = with_page.then(|| page_file::beside(record.path(), || shown.page()));
    output.print(&shown.written(format, output.look(None))?)?;
    if format != YieldFormat::Text {
        note(&format!("Record: {}", record.path().display()));
    }
    page.iter().for_each(|sentence| note(sentence));
    Ok(())
}

/// The format of what follows from such a record, by that of any report.
pub(crate) fn format(format: Format) -> YieldFormat {
    match format {
        Format::Text => YieldFormat::Text,
        Format::Json => YieldFormat::Json,
        Format::Csv => YieldFormat::Csv,
        Format::Html => YieldFormat::Html,
    }
}
