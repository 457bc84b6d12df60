//! `plimsoll export`: a record's measurements in other formats.

use crate::args::ExportArgs;
use crate::failure::Failure;
use crate::loaded::refuse_yield;
use crate::output::Output;
use plimsoll_record::{Record, export_hdr};

pub(crate) fn run(args: &ExportArgs, output: &Output) -> Result<(), Failure> {
    let record = Record::open(&args.file)?;
    refuse_yield(&record)?;
    let written = export_hdr(record.trials()?, &args.hdr)?;
    if written.is_empty() {
        return Err(Failure::Mistake(format!(
            "{} holds no latencies at load levels to export: a run of copies has none, and neither has one that ended before its levels",
            args.file.display()
        )));
    }
    for path in written {
        output.print(&format!("{}\n", path.display()))?;
    }
    Ok(())
}
