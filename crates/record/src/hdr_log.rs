//! Export of histograms as HdrHistogram interval logs.

use crate::{Existing, RecordError, write_private};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use plimsoll_model::{Histogram, LoadLevel, Phase, Trial};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Writes one `level-NNN.N.hlog` per load level into `dir`, which is created if
/// needed and if there are any, and returns the paths. Trials that have none, as those of other experiments
/// than a sweep, are in one `setting-N.hlog` per setting, whose comment names it.
///
/// The format is HdrHistogram's interval log, version 1.3, as defined by its
/// Java `HistogramLogWriter`: text, one line per interval, histograms
/// compressed and in base64. Each valid trial with latencies gives two intervals,
/// tagged `latency` and `slip`, with values in nanoseconds.
///
/// # Errors
/// A trial could not be read, one of the files exists already (then none is
/// written), or a file could not be written.
pub fn export_hdr<S: Serialize, O>(
    trials: impl IntoIterator<Item = Result<Trial<S, O>, RecordError>>,
    dir: &Path,
) -> Result<Vec<PathBuf>, RecordError> {
    let unwritable = |detail| RecordError::unwritable(dir, detail);
    let (mut levels, mut settings) = (BTreeMap::new(), Vec::new());
    for trial in trials {
        let trial = trial?;
        let Phase::Level { level } = trial.spec.phase else {
            continue;
        };
        if !trial.verdict.is_valid() || trial.work.latency.count() == 0 {
            continue;
        }
        let (log, of) = match level {
            Some(level) => {
                let of = format!("Load level: {} % of the rated rate", level.pct());
                (levels.entry(level).or_default(), of)
            }
            None => {
                let setting = serde_json::to_string(&trial.spec.setting);
                let setting = setting.map_err(|e| unwritable(e.to_string()))?;
                let of = format!("Setting: {setting}");
                (of_setting(&mut settings, setting), of)
            }
        };
        add(log, &of, &trial).map_err(unwritable)?;
    }
    let levels = levels.into_iter().map(|(level, log): (LoadLevel, _)| {
        let name = format!("level-{:05.1}.hlog", level.pct());
        (dir.join(name), log)
    });
    let settings = settings.into_iter().enumerate().map(|(i, (_, log))| {
        let name = format!("setting-{}.hlog", i + 1);
        (dir.join(name), log)
    });
    let files: Vec<(PathBuf, Vec<u8>)> = levels.chain(settings).collect();
    if !files.is_empty() {
        write_exported(dir, &files)?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// The log of a setting, in their order.
fn of_setting(logs: &mut Vec<(String, Vec<u8>)>, setting: String) -> &mut Vec<u8> {
    let known = logs.iter().position(|(other, _)| *other == setting);
    let at = known.unwrap_or_else(|| {
        logs.push((setting, Vec::new()));
        logs.len() - 1
    });
    &mut logs[at].1
}

/// Adds a trial's two intervals, below a head if the log is empty.
fn add<S, O>(log: &mut Vec<u8>, of: &str, trial: &Trial<S, O>) -> Result<(), String> {
    let start = Duration::from_millis(trial.started_unix_ms) + trial.warm_up;
    let mut serializer = V2DeflateSerializer::new();
    let mut head = IntervalLogWriterBuilder::new();
    if log.is_empty() {
        head.add_comment("[Histogram log format version 1.3]")
            .add_comment(of)
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
