//! Export of histograms as HdrHistogram interval logs.

use crate::{Existing, RecordError, write_private};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use plimsoll_model::{Histogram, LoadLevel, Phase, Trial};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Writes one `level-NNN.N.hlog` per load level into `dir`, which is created if
/// needed, and returns the paths by level.
///
/// The format is HdrHistogram's interval log, version 1.3, as defined by its
/// Java `HistogramLogWriter`: text, one line per interval, histograms
/// compressed and in base64. Each valid trial at a level gives two intervals,
/// tagged `latency` and `slip`, with values in nanoseconds.
///
/// # Errors
/// A trial could not be read, one of the files exists already (then none is
/// written), or a file could not be written.
pub fn export_hdr<S, O>(
    trials: impl IntoIterator<Item = Result<Trial<S, O>, RecordError>>,
    dir: &Path,
) -> Result<Vec<PathBuf>, RecordError> {
    let mut logs: BTreeMap<LoadLevel, Vec<u8>> = BTreeMap::new();
    for trial in trials {
        let trial = trial?;
        if let Phase::Level { level: Some(level) } = trial.spec.phase
            && trial.verdict.is_valid()
        {
            let log = logs.entry(level).or_default();
            add(log, level, &trial).map_err(|detail| RecordError::unwritable(dir, detail))?;
        }
    }
    let files: Vec<(PathBuf, Vec<u8>)> = logs
        .into_iter()
        .map(|(level, log)| (dir.join(format!("level-{:05.1}.hlog", level.pct())), log))
        .collect();
    write_exported(dir, &files)?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// Adds a trial's two intervals, below a head if the log is empty.
fn add<S, O>(log: &mut Vec<u8>, level: LoadLevel, trial: &Trial<S, O>) -> Result<(), String> {
    let start = Duration::from_millis(trial.started_unix_ms) + trial.warm_up;
    let mut serializer = V2DeflateSerializer::new();
    let mut head = IntervalLogWriterBuilder::new();
    if log.is_empty() {
        head.add_comment("[Histogram log format version 1.3]")
            .add_comment(&format!("Load level: {} % of the rated rate", level.pct()))
            .add_comment("Values and Interval_Max are in nanoseconds, not divided by anything.")
            .with_start_time(UNIX_EPOCH + start);
    }
    let is_new = log.is_empty();
    head.begin_log_with(log, &mut serializer)
        .map_err(|e| e.to_string())?;
    if is_new {
        log.extend_from_slice(LEGEND);
    }
    // Without settings the header is empty.
    let mut lines = IntervalLogWriterBuilder::new()
        .begin_log_with(log, &mut serializer)
        .map_err(|e| e.to_string())?;
    let mut interval = |histogram: &Histogram, tag| {
        lines
            .write_histogram(histogram.as_hdr(), start, trial.window, Tag::new(tag))
            .map_err(|e| e.to_string())
    };
    interval(&trial.work.latency, "latency")?;
    interval(&trial.work.slip, "slip")
}

const LEGEND: &[u8] =
    b"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";

/// Writes new files, readable for their owner alone, into `dir`, which is created if
/// needed.
///
/// # Errors
/// One of the files exists already (then none is written), or could not be written.
pub fn write_exported(dir: &Path, files: &[(PathBuf, Vec<u8>)]) -> Result<(), RecordError> {
    fs::create_dir_all(dir).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => RecordError::NotInADirectory { path: dir.into() },
        // Parents are created too, so the file system accepts no directories
        // here.
        ErrorKind::NotFound => RecordError::NoDirectory { path: dir.into() },
        _ => RecordError::from_io(dir, &e, "make"),
    })?;
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(RecordError::ExportExists { path: path.into() });
    }
    for (path, log) in files {
        write_private(path, log, Existing::Keep).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => RecordError::ExportExists { path: path.into() },
            _ => RecordError::from_io(path, &e, "make"),
        })?;
    }
    Ok(())
}
