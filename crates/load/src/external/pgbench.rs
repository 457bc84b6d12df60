//! pgbench: the files of `--log`, which have each transaction, and what it prints in the end.

use super::{Output, Quantiles, S, regular, time};
use plimsoll_model::{Errors, Histogram};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

const WAY_OUT: &str = "give pgbench -T {duration}, --log and --log-prefix={out}";

pub(super) fn parse(printed: &str, out: &Path) -> Result<Output, String> {
    let lasted = printed.lines().find_map(|line| {
        let seconds = line.strip_prefix("duration:")?.trim().strip_suffix(" s")?;
        time(seconds.parse().ok()?, S).ok()
    });
    let lasted = lasted.ok_or_else(|| format!("it has no duration; {WAY_OUT}"))?;
    let failed = printed.lines().find_map(|line| {
        let count = line.strip_prefix("number of failed transactions:")?;
        count.split_whitespace().next()?.parse::<u64>().ok()
    });
    let logs = logs(out).map_err(|error| format!("its log cannot be read ({error})"))?;
    if logs.is_empty() {
        return Err(format!("there is no log of transactions; {WAY_OUT}"));
    }
    let (mut latency, mut dropped) = (Histogram::new(), 0);
    for log in logs {
        dropped += read(&log, &mut latency)?;
    }
    Ok(Output {
        lasted,
        completed: latency.count(),
        errors: Errors {
            status: failed.unwrap_or(0),
            ..Errors::default()
        },
        dropped,
        latency,
        quantiles: Quantiles::All,
    })
}

/// The files whose names begin like `out`: one for each thread of pgbench.
fn logs(out: &Path) -> std::io::Result<Vec<PathBuf>> {
    let (Some(folder), Some(prefix)) = (out.parent(), out.file_name()) else {
        return Ok(Vec::new());
    };
    let prefix = format!("{}.", prefix.to_string_lossy());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// `client transaction time_us script epoch us [lag]`; a time of another kind is a word: skipped,
/// which this returns the number of, or failed.
fn read(log: &Path, latency: &mut Histogram) -> Result<u64, String> {
    let name = || log.file_name().unwrap_or_default().to_string_lossy();
    let mut skipped = 0;
    for line in BufReader::new(regular(log)?).lines() {
        let line = line.map_err(|error| format!("{}: {error}", name()))?;
        let time = line.split(' ').nth(2);
        let time = time.ok_or_else(|| format!("{}: '{line}' is no transaction", name()))?;
        match time.parse::<u64>() {
            Ok(us) => latency.record(Duration::from_micros(us)),
            Err(_) => skipped += u64::from(time == "skipped"),
        }
    }
    Ok(skipped)
}
