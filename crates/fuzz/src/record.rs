//! A record that somebody else made.

use plimsoll_experiments::{Experiment, each_experiment};
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
    let readers = each_experiment!(reader);
    let mut of = readers
        .iter()
        .filter(|(name, _)| *name == record.experiment());
    of.try_for_each(|(_, read)| read(&record))
}

type Reader = fn(&Record) -> Result<(), RecordError>;

const fn reader<E: Experiment>() -> (&'static str, Reader) {
    (E::NAME, read_as::<E>)
}

fn read_as<E: Experiment>(record: &Record) -> Result<(), RecordError> {
    record.plan::<E::Plan>()?;
    let mut trials = record.trials::<E::Setting, E::Outcome>()?;
    trials.try_for_each(|trial| trial.map(drop))
}
