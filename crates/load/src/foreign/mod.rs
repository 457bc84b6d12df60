//! The output of load generators of others: k6, wrk2, fortio, pgbench, or any that prints one line
//! of JSON.
//!
//! They say what they measured, and not how late they sent it, so the slip of such a load is
//! unknown. What each of them measures from is in docs/load-commands.md.

mod address;
mod fortio;
mod k6;
mod line;
mod pgbench;
mod process;
mod wrk2;

pub use address::reach;
use plimsoll_model::{Errors, Histogram, LoadFormat, Work};
pub use process::{Asked, RunningCommand, check, start};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// A longer output is not that of a generator.
const MOST_BYTES: u64 = 64 << 20;

/// What a generator says of a load that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// How long it sent requests.
    pub lasted: Duration,
    /// Requests with a good answer.
    pub completed: u64,
    /// Requests that failed.
    pub errors: Errors,
    /// Of the good answers, as far as it says.
    pub latency: Histogram,
    /// Which quantiles of the latency are its own; the others are bounds from above.
    pub quantiles: Quantiles,
}

/// Quantiles that an output states.
#[derive(Debug, Clone, PartialEq)]
pub enum Quantiles {
    /// A histogram or single requests: all.
    All,
    /// These, from 0 to 1, in ascending order.
    Only(Vec<f64>),
}

impl Quantiles {
    /// Whether the output states this one.
    pub fn have(&self, q: f64) -> bool {
        match self {
            Quantiles::All => true,
            Quantiles::Only(stated) => stated.iter().any(|one| (one - q).abs() < 1e-9),
        }
    }
}

impl Output {
    /// The same as the work of a trial to which `rate` requests per second were to be sent.
    pub fn work(self, rate: f64) -> Work {
        let intended = (rate * self.lasted.as_secs_f64()).round() as u64;
        let sent = self.completed + self.errors.total();
        let intended = intended.max(self.errors.total());
        Work {
            intended,
            sent: sent.min(intended),
            completed: self.completed,
            errors: self.errors,
            unfinished: 0,
            latency: self.latency,
            ..Work::default()
        }
    }
}

/// Reads the output of a generator: what it has written to `out` or to files whose names begin so,
/// or else to its standard output, the file `stdout`.
///
/// # Errors
/// A clause that says what the output lacks, and the flag that makes the generator print it.
pub fn read(format: LoadFormat, out: &Path, stdout: &Path) -> Result<Output, String> {
    let printed = || text(stdout);
    let written = || match out.exists() {
        true => text(out),
        false => text(stdout),
    };
    let output = match format {
        LoadFormat::K6 => k6::parse(&written()?),
        LoadFormat::Wrk2 => wrk2::parse(&printed()?),
        LoadFormat::Fortio => fortio::parse(&written()?),
        LoadFormat::Pgbench => pgbench::parse(&printed()?, out),
        LoadFormat::Json => line::parse(&written()?),
    }?;
    match output.lasted.is_zero() || output.latency.count() == 0 && output.completed > 0 {
        true => Err("it says nothing of how long requests took".to_owned()),
        false => Ok(output),
    }
}

fn text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    read.map_err(|error| format!("it cannot be read ({error})"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A histogram of `count` values of which these quantiles are known, from 0 to 1, with the maximum.
/// A value between two of them is counted as the upper one.
fn from_quantiles(mut known: Vec<(f64, Duration)>, count: u64) -> Result<Histogram, String> {
    known.retain(|(q, _)| (0.0..=1.0).contains(q));
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    if known.last().is_none_or(|(q, _)| *q < 1.0) {
        return Err("it has no maximum of the latency".to_owned());
    }
    let mut latency = Histogram::new();
    let mut below = 0;
    for (q, value) in known {
        let up_to = ((q * count as f64 - 1e-6).ceil() as u64).min(count);
        latency.record_many(value, up_to.saturating_sub(below));
        below = below.max(up_to);
    }
    Ok(latency)
}

/// A time that an output states as a number.
fn time(value: f64, unit: Duration) -> Result<Duration, String> {
    let seconds = value * unit.as_secs_f64();
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("{value} is no time"))
}

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
