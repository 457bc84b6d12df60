//! `plimsoll export`: a record's measurements in other formats.

use crate::args::ExportArgs;
use crate::failure::Failure;
use crate::loaded::Loaded;
use crate::output::Output;
use plimsoll_record::export_hdr;

pub(crate) fn run(args: &ExportArgs, output: &Output) -> Result<(), Failure> {
    let loaded = Loaded::open(&args.file, &[])?;
    let written = export_hdr(loaded.trials.into_iter().map(Ok), &args.hdr)?;
    if written.is_empty() {
        return Err(Failure::Mistake(format!(
            "{} holds no latencies at load levels to export: the run ended before its levels",
            args.file.display()
        )));
    }
    for path in written {
        output.print(&format!("{}\n", path.display()))?;
    }
    Ok(())
}
