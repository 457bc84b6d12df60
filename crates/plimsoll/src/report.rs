//! `plimsoll report`: the findings of a record, made again.

use crate::args::{Ending, Format, ReportArgs};
use crate::concluded::Concluded;
use crate::failure::Failure;
use crate::output::{Output, note, spare_sources};
use crate::{page_file, yields};
use plimsoll_record::Record;

pub(crate) fn run(args: &ReportArgs, output: &Output) -> Result<(), Failure> {
    let file = args.output.as_deref();
    let format = Format::of(args.format, file, Format::Text).map_err(Failure::Mistake)?;
    spare_sources(file, &[&args.file])?;
    let record = Record::open(&args.file)?;
    if !args.goals.is_empty() && !record.plan().copies.is_empty() {
        return Err(Failure::Mistake(format!(
            "{} tells of copies, which answer no requests and so keep no goal; leave --goal out",
            args.file.display()
        )));
    }
    if record.plan().sideload.is_some() {
        if !args.goals.is_empty() {
            return Err(Failure::Mistake(format!(
                "{} tells of a job beside a service, which has a latency budget and no goals; leave --goal out",
                args.file.display()
            )));
        }
        let shown = yields::Shown::of(&record)?;
        let written = shown.written(yields::format(format), output.look(file))?;
        return output.put(&written, file);
    }
    let concluded = Concluded::of(&record, &args.goals)?;
    output.put(&concluded.written(format, output.look(file))?, file)
}

/// What a run ends with: its findings on standard output, and where the page
/// with charts is, which is written first so that nobody who closes the output
/// loses it.
pub(crate) fn show(
    record: &Record,
    format: Format,
    with_page: bool,
    output: &Output,
) -> Result<(), Failure> {
    let concluded = Concluded::of(record, &[])?;
    let page =
        with_page.then(|| page_file::beside(record.path(), || concluded.page(output.look(None))));
    output.print(&concluded.written(format, output.look(None))?)?;
    if format != Format::Text {
        note(&format!("Record: {}", record.path().display()));
    }
    page.iter().for_each(|sentence| note(sentence));
    Ok(())
}
