//! `plimsoll report`: the findings of a record, made again.

use crate::args::{Ending, Format, ReportArgs};
use crate::failure::Failure;
use crate::output::{Output, spare_sources};
use crate::registry;
use plimsoll_record::Record;

pub(crate) fn run(args: &ReportArgs, output: &Output) -> Result<(), Failure> {
    let file = args.output.as_deref();
    let format = Format::of(args.format, file, Format::Text).map_err(Failure::Mistake)?;
    spare_sources(file, &[&args.file])?;
    let record = Record::open(&args.file)?;
    let experiment = registry::of(&record)?;
    let look = output.look(file);
    let written = experiment.report(&record, &args.goals, format.into(), look)?;
    output.put(&written, file)
}
