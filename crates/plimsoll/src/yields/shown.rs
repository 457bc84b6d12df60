//! What follows from a record of `plimsoll yield`, in any form that it is
//! asked for.

use crate::args::{Format, YieldFormat};
use crate::concluded;
use crate::failure::Failure;
use crate::output::{Output, note};
use crate::page_file;
use plimsoll_model::{Trial, YieldFindings};
use plimsoll_record::Record;
use plimsoll_report::yields::YieldPicture;
use plimsoll_report::{Look, YieldReport};

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
        let is_page = format == YieldFormat::Html;
        let (plan, trials) = (self.record.plan(), &self.trials);
        let drawn = is_page.then(|| plimsoll_study::picture::trials(plan, trials));
        let steps = is_page.then(|| plimsoll_study::yields::step_courses(plan, trials));
        let picture = drawn.as_ref().zip(steps.as_ref());
        let picture = picture.map(|(trials, steps)| YieldPicture { trials, steps });
        let document = plimsoll_report::yields::document(&report, picture);
        concluded::rendered(&document, format.into(), look)
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
    let page = with_page.then(|| {
        page_file::beside(record.path(), || {
            shown.written(YieldFormat::Html, output.look(None))
        })
    });
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
