use crate::lock::WriterLock;
use crate::open::{connect, new_file, open_trusted, read_into_memory};
use crate::run::{NewRun, Run};
use crate::{MemoryBudget, RecordError, legacy, read, schema, trust, write};
use plimsoll_model::{Provenance, Requirement, RunEnd, Trial, TrialSetting};
use rusqlite::Connection;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug)]
pub struct Record {
    // Dropped first: see `WriterLock`.
    pub(crate) conn: Connection,
    writer: Option<WriterLock>,
    path: PathBuf,
    pub(crate) run: Run,
    /// Number of trials in the file.
    pub(crate) trials: u64,
}

impl Record {
    /// Creates a new file and its parent directories, and opens it for
    /// appending.
    ///
    /// # Errors
    /// The file exists already, or it cannot be made; an unfinished file is
    /// removed.
    pub fn create<P: Serialize>(path: &Path, new: &NewRun<'_, P>) -> Result<Record, RecordError> {
        let run = Run::new(new, now_unix_ms()).map_err(|e| RecordError::unwritable(path, e))?;
        let file = new_file(path)?;
        initialize(path, file, run).inspect_err(|_| {
            // The file is ours: it was created above. If removing it fails too,
            // the first error is the relevant one.
            let _ = fs::remove_file(path);
        })
    }

    /// Opens a file for appending trials.
    ///
    /// # Errors
    /// Another run is writing it, another user may have written it, or it is
    /// missing, no record, or damaged.
    pub fn open_for_resume(path: &Path) -> Result<Record, RecordError> {
        let (file, resolved) = open_trusted(path)?;
        let lock = WriterLock::take(file, path)?;
        let mut conn = connect(&resolved)?;
        schema::check(&conn, path, || lock.length())?;
        schema::configure_writer(&mut conn).map_err(|e| RecordError::from_sqlite(path, e, 0))?;
        legacy::bring_up_to_date(&mut conn, path)?;
        Record::load(conn, Some(lock), path, &mut MemoryBudget::half_of_memory())
    }

    /// Opens a file for reading, as it is now. A run may write to it at the same time.
    /// Nothing is written, but if a run of this user was killed in the middle of a write:
    /// that is undone.
    ///
    /// # Errors
    /// If the file is missing, not a record, or damaged.
    pub fn open(path: &Path) -> Result<Record, RecordError> {
        Record::open_within(path, &mut MemoryBudget::half_of_memory())
    }

    /// The same of one of several records that are read together.
    ///
    /// # Errors
    /// As of [`Record::open`].
    pub fn open_within(path: &Path, budget: &mut MemoryBudget) -> Result<Record, RecordError> {
        budget.check_length(path)?;
        let (conn, bytes) = read_into_memory(path)?;
        schema::check(&conn, path, || Ok(bytes))?;
        Record::load(conn, None, path, budget)
    }

    fn load(
        conn: Connection,
        writer: Option<WriterLock>,
        path: &Path,
        budget: &mut MemoryBudget,
    ) -> Result<Record, RecordError> {
        let run = read::run(&conn, path)?;
        let trials = read::count(&conn, path)?;
        budget.take(&conn, path)?;
        Ok(Record {
            conn,
            writer,
            path: path.to_owned(),
            run,
            trials,
        })
    }

    /// Appends a trial and syncs it to the disk.
    ///
    /// # Errors
    /// The disk is full or refuses, another program keeps the file locked, the
    /// record was opened for reading, or the trial has a value that no reader
    /// accepts. The trials before it are kept, and the same trial may be
    /// appended again.
    pub fn append<S, O>(&mut self, trial: &Trial<S, O>) -> Result<(), RecordError>
    where
        S: TrialSetting + Serialize + DeserializeOwned,
        O: Serialize + DeserializeOwned,
    {
        self.check_writable()?;
        let (path, number) = (&self.path, self.trials + 1);
        write::trial(&mut self.conn, path, number, trial, |written| {
            // Values come from outside, such as another host's metrics. One that
            // cannot be read would damage the whole record, so this one trial is
            // read back: some milliseconds beside its seconds.
            let back = read::trial::<S, O>(written, path, &self.run.experiment, number);
            back.map(|_| ()).map_err(|e| e.of_an_append())
        })?;
        self.trials += 1;
        self.run.end = None;
        Ok(())
    }

    /// Records how the run ended. A record without an end was killed, or is
    /// still being written.
    ///
    /// # Errors
    /// As for [`Record::append`].
    pub fn mark_finished(&mut self, end: &RunEnd) -> Result<(), RecordError> {
        self.check_writable()?;
        write::end(&self.conn, end, now_unix_ms())
            .map_err(|e| RecordError::from_sqlite(&self.path, e, self.trials))?;
        self.run.end = Some(end.clone());
        Ok(())
    }

    /// Adds what the run was found to miss after its begin.
    ///
    /// # Errors
    /// As for [`Record::append`].
    pub fn add_requirements(
        &mut self,
        found: impl IntoIterator<Item = Requirement>,
    ) -> Result<(), RecordError> {
        self.check_writable()?;
        self.run.requirements.extend(found);
        write::requirements(&self.conn, &self.run.requirements)
            .map_err(|e| RecordError::from_sqlite(&self.path, e, self.trials))
    }

    fn check_writable(&self) -> Result<(), RecordError> {
        match self.writer {
            Some(_) => Ok(()),
            None => {
                let path = (&self.path).into();
                Err(RecordError::OpenedForReading { path })
            }
        }
    }

    /// All trials in the file, in the order they were made, one read at a
    /// time: two histograms make half a megabyte of each. `S` and `O` are the
    /// experiment's setting and outcome.
    ///
    /// The iterator ends after the first error.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn trials<S: DeserializeOwned, O: DeserializeOwned>(
        &self,
    ) -> Result<impl Iterator<Item = Result<Trial<S, O>, RecordError>> + '_, RecordError> {
        let last = read::count(&self.conn, &self.path)?;
        let mut next = 1;
        Ok(std::iter::from_fn(move || {
            let number = (next <= last).then_some(next)?;
            let trial = read::trial(&self.conn, &self.path, &self.run.experiment, number);
            next = if trial.is_ok() { number + 1 } else { last + 1 };
            Some(trial)
        }))
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.conn
    }

    pub fn experiment(&self) -> &str {
        &self.run.experiment
    }

    /// The plan; `P` is the experiment's.
    ///
    /// # Errors
    /// The plan is another experiment's.
    pub fn plan<P: DeserializeOwned>(&self) -> Result<P, RecordError> {
        let text = &self.run.plan_json;
        // serde would take the fields of a structure in their order for the structure.
        if text.trim_start().starts_with('[') {
            return Err(RecordError::damaged(&self.path, "plan_json is a list"));
        }
        serde_json::from_str(text)
            .map_err(|e| RecordError::damaged(&self.path, format!("plan_json: {e}")))
    }

    /// The machine and the program that made the trials.
    pub fn provenance(&self) -> &Provenance {
        &self.run.provenance
    }

    pub fn requirements(&self) -> &[Requirement] {
        &self.run.requirements
    }

    /// The program and its arguments, as typed.
    pub fn command_line(&self) -> &[String] {
        &self.run.command_line
    }

    /// The working directory of the run, in which its commands are looked up. Older records
    /// have none.
    pub fn folder(&self) -> Option<&Path> {
        self.run.folder.as_deref().map(Path::new)
    }

    /// When the file was created, in milliseconds since 1970: informative only.
    pub fn created_unix_ms(&self) -> u64 {
        self.run.created_unix_ms
    }

    /// How the run ended; `None` if it was killed or is still running.
    pub fn end(&self) -> Option<&RunEnd> {
        self.run.end.as_ref()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.writer.is_some() {
            // One that cannot be removed is empty, and changes nothing.
            let _ = schema::remove_journal(&self.conn);
        }
    }
}

/// Writes the tables and the `run` row into a new file.
fn initialize(path: &Path, file: File, run: Run) -> Result<Record, RecordError> {
    let lock = WriterLock::take(file, path)?;
    let mut conn = connect(path)?;
    let fail = |e| match RecordError::from_sqlite(path, e, 0) {
        RecordError::DiskFull { path, .. } => RecordError::NoSpace { path },
        // A value that no reader would take.
        RecordError::Damaged { path, detail } => RecordError::Unwritable { path, detail },
        other => other,
    };
    schema::configure_writer(&mut conn).map_err(fail)?;
    let tx = conn.transaction().map_err(fail)?;
    schema::make_tables(&tx).map_err(fail)?;
    write::run(&tx, &run).map_err(fail)?;
    // Before anything is in the file. From now on the journal is there until the end.
    trust::check_journal(path)?;
    tx.commit().map_err(fail)?;
    Ok(Record {
        conn,
        writer: Some(lock),
        path: path.to_owned(),
        run,
        trials: 0,
    })
}

/// Informative only; a clock before 1970 gives 0.
fn now_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}
