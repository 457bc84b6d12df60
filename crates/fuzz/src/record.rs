//! A record that somebody else made.

use plimsoll_model::{
    CopiesOutcome, CopiesPlan, CopiesSetting, Plan, Setting, YieldOutcome, YieldPlan, YieldSetting,
};
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
        "copies" => {
            record.plan::<CopiesPlan>()?;
            let mut trials = record.trials::<CopiesSetting, CopiesOutcome>()?;
            trials.try_for_each(|trial| trial.map(drop))
        }
        "yield" => {
            record.plan::<YieldPlan>()?;
            let mut trials = record.trials::<YieldSetting, YieldOutcome>()?;
            trials.try_for_each(|trial| trial.map(drop))
        }
        _ => {
            record.plan::<Plan>()?;
            let mut trials = record.trials::<Setting, ()>()?;
            trials.try_for_each(|trial| trial.map(drop))
        }
    }
}
