//! A record that somebody else made.

use plimsoll_experiments::Experiment;
use plimsoll_experiments::copies::CopiesOfCommand;
use plimsoll_experiments::lateness::WakeUps;
use plimsoll_experiments::rig::Rig;
use plimsoll_experiments::sweep::Sweep;
use plimsoll_experiments::wake::Wake;
use plimsoll_experiments::yields::Yield;
use plimsoll_record::{Record, RecordError};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

thread_local! {
    static FOLDER: Option<TempDir> = crate::folder();
}

pub(crate) fn record(input: &[u8]) {
    FOLDER.with(|folder| {
        let Some(folder) = folder else { return };
        let path = folder.path().join("record");
        // SQLite takes a journal beside it for a part of it.
        let _ = fs::remove_file(folder.path().join("record-journal"));
        let written = fs::write(&path, input);
        if let (Ok(()), Err(error)) = (written, read(&path)) {
            let message = error.to_string();
            assert!(!message.contains('\n'), "{message}");
        }
    });
}

fn read(path: &Path) -> Result<(), RecordError> {
    let record = Record::open(path)?;
    match record.experiment() {
        CopiesOfCommand::NAME => read_as::<CopiesOfCommand>(&record),
        Yield::NAME => read_as::<Yield>(&record),
        WakeUps::NAME => read_as::<WakeUps>(&record),
        Rig::NAME => read_as::<Rig>(&record),
        Wake::NAME => read_as::<Wake>(&record),
        _ => read_as::<Sweep>(&record),
    }
}

fn read_as<E: Experiment>(record: &Record) -> Result<(), RecordError> {
    record.plan::<E::Plan>()?;
    let mut trials = record.trials::<E::Setting, E::Outcome>()?;
    trials.try_for_each(|trial| trial.map(drop))
}
