//! `plimsoll import`: a table that somebody measured becomes a record.

use crate::args::ImportArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::record_file::{self, Maker};
use crate::session::show;
use plimsoll_experiments::copies::CopiesOfCommand;
use plimsoll_experiments::import::{About, ImportedRows, Table};
use plimsoll_experiments::sweep::Sweep;
use plimsoll_experiments::{Experiment, TrialOf};
use plimsoll_model::{Provenance, RunEnd};
use plimsoll_record::{NewRun, Record};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A byte more than any table that is taken, so that a larger one is noticed
/// without being read to its end, which a device may not have.
const MOST_READ: u64 = 10_000_001;

pub(crate) fn run(args: &ImportArgs, output: &Output) -> Result<(), Failure> {
    let shown = args.table.display();
    let mistake = |why: &dyn std::fmt::Display| Failure::Mistake(format!("{shown}: {why}"));
    let table = Table::read(&bytes(&args.table)?).map_err(|e| mistake(&e))?;
    let imported = table.run(about(args)).map_err(|e| mistake(&e))?;
    record_file::check(&args.output, Maker::Import)?;
    let made_for = &imported.provenance;
    match &imported.rows {
        ImportedRows::Rates(plan, trials) => keep::<Sweep>(args, plan, trials, made_for, output),
        ImportedRows::Copies(plan, trials) => {
            keep::<CopiesOfCommand>(args, plan, trials, made_for, output)
        }
    }
}

/// Writes the record of an experiment, and shows its findings.
fn keep<E: Experiment>(
    args: &ImportArgs,
    plan: &E::Plan,
    trials: &[TrialOf<E>],
    provenance: &Provenance,
    output: &Output,
) -> Result<(), Failure> {
    let record = write::<E>(&args.output, plan, trials, provenance)?;
    show::<E>(&record, args.format.into(), !args.no_html, output).map(drop)
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST_READ).read_to_end(&mut bytes))
        .map_err(|e| {
            let shown = path.display();
            Failure::Mistake(format!(
                "the table {shown} cannot be read: {e}; check the name and its permissions"
            ))
        })?;
    Ok(bytes)
}

fn about(args: &ImportArgs) -> About {
    let stem = args.table.file_stem().unwrap_or(args.table.as_os_str());
    About {
        name: match &args.name {
            Some(name) => name.clone(),
            None => stem.to_string_lossy().into_owned(),
        },
        cpus: args.cpus,
        threads_per_core: args.threads_per_core,
        note: args.note.clone(),
        plimsoll_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Writes the whole record or none: half a table is of no use, and importing
/// it again costs nothing.
fn write<E: Experiment>(
    path: &Path,
    plan: &E::Plan,
    trials: &[TrialOf<E>],
    provenance: &Provenance,
) -> Result<Record, Failure> {
    let command_line: Vec<String> = std::env::args().collect();
    let run = NewRun {
        experiment: E::NAME,
        workload: E::workload(plan),
        plan,
        seed: E::run(plan).seed,
        provenance,
        command_line: &command_line,
        requirements: &[],
    };
    let mut record = Record::create(path, &run)?;
    let appended = trials.iter().try_for_each(|trial| record.append(trial));
    let written = appended.and_then(|()| record.mark_finished(&RunEnd::Complete));
    match written {
        Ok(()) => Ok(record),
        Err(error) => {
            drop(record);
            // What cannot be written cannot always be removed; the first error
            // is the one to tell.
            let _ = std::fs::remove_file(path);
            Err(error.into())
        }
    }
}
