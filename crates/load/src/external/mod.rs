//! External load generators and their output: k6, wrk2, fortio, pgbench, or any that prints one line
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
mod shell_line;
mod values;
mod wrk2;

pub use address::connect;
use plimsoll_model::{Errors, Histogram, LoadFormat, Work, sort_by_number};
pub use process::{RunningCommand, start};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;
pub use values::{LoadParameters, check, unknown_values};

/// A longer output is not that of a generator.
const MOST_BYTES: u64 = 64 << 20;
/// As much as no generator sends in a trial.
const MOST_REQUESTS: u64 = 1 << 40;
/// Less than any request takes.
const SHORTEST: Duration = Duration::from_micros(1);
/// What rounding leaves of a time.
const ROUNDED: f64 = 0.98;
/// The least part of its time in which a generator sends.
const LEAST_SENT: f64 = 0.8;
/// What a generator with equal gaps may send beyond what it was asked for.
const EXCESS: f64 = 1.05;

/// What a generator says of a load that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// How long it sent requests.
    pub lasted: Duration,
    /// Requests with a good answer.
    pub completed: u64,
    /// Requests that failed.
    pub errors: Errors,
    /// Requests that it says it could not send.
    pub dropped: u64,
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
    pub fn include(&self, q: f64) -> bool {
        match self {
            Quantiles::All => true,
            Quantiles::Only(stated) => stated.iter().any(|one| (one - q).abs() < 1e-9),
        }
    }
}

impl Output {
    /// The same as the work of a trial to which `asked` was to be sent, by a command that `ran` so
    /// long.
    ///
    /// # Errors
    /// It did something else, as a clause: more requests than it was asked for, which several in each
    /// iteration of a script are, or for another time.
    pub fn work(
        self,
        asked: LoadParameters,
        ran: Duration,
        format: LoadFormat,
    ) -> Result<Work, String> {
        let (lasted, wanted) = (self.lasted.as_secs_f64(), asked.duration.as_secs_f64());
        // It may take longer where it waits for the last answers.
        if lasted < LEAST_SENT * wanted || lasted > EXCESS * ran.as_secs_f64() {
            return Err(format!(
                "it was asked to send for {wanted:.0} s and ran for {:.1} s, and says that it sent for {lasted:.3} s",
                ran.as_secs_f64()
            ));
        }
        let intended = asked.rate.get() * lasted;
        let sent = self.completed + self.errors.total();
        let longest = self.latency.max().unwrap_or_default();
        if longest.as_secs_f64() > EXCESS * ran.as_secs_f64() {
            return Err(format!(
                "it ran for {:.1} s, and says that a request took {:.1} s",
                ran.as_secs_f64(),
                longest.as_secs_f64()
            ));
        }
        // Independent users send more at times: five standard deviations.
        let chance = match format {
            LoadFormat::Pgbench | LoadFormat::Json => 5.0 * intended.sqrt(),
            LoadFormat::K6 | LoadFormat::Wrk2 | LoadFormat::Fortio => 5.0,
        };
        if sent as f64 > EXCESS * intended + chance {
            return Err(format!(
                "it was asked for {intended:.0} requests, and sent {sent}; {{rate}} is the rate of requests: \
                 if each iteration of a script sends several, divide it by their number"
            ));
        }
        // k6 drops iterations, of which each may send several requests.
        if format == LoadFormat::Json && (sent + self.dropped) as f64 > EXCESS * intended + chance {
            return Err(format!(
                "it was asked for {intended:.0} requests, sent {sent}, and says that it dropped {}",
                self.dropped
            ));
        }
        // What was dropped was to be sent, whatever the rate of iterations was.
        let intended = (intended.round() as u64).max(sent + self.dropped);
        Ok(Work {
            intended,
            sent,
            completed: self.completed,
            errors: self.errors,
            unfinished: 0,
            latency: self.latency,
            ..Work::default()
        })
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
    let counts = output.errors.by_kind().map(|(_, count)| count);
    if counts
        .into_iter()
        .chain([output.completed, output.dropped])
        .any(|n| n > MOST_REQUESTS)
    {
        return Err("it counts more requests than can be".to_owned());
    }
    let says_nothing = match output.latency.max() {
        None => "it says nothing of how long requests took",
        Some(longest) if longest < SHORTEST => "it says that no request took 1 us",
        Some(_) => return Ok(output),
    };
    match output.completed {
        0 => Ok(output),
        _ => Err(says_nothing.to_owned()),
    }
}

fn text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = regular(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("it cannot be read ({error})"))?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err("it is longer than 64 MiB".to_owned()),
        false => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// A file that ends: a pipe in its place would be waited for.
fn regular(path: &Path) -> Result<File, String> {
    let unreadable = |error| format!("it cannot be read ({error})");
    match path.symlink_metadata().map_err(unreadable)?.is_file() {
        true => File::open(path).map_err(unreadable),
        false => Err("it is no regular file".to_owned()),
    }
}

/// A histogram of `count` values of which these quantiles are known, from 0 to 1, with the maximum.
/// A value between two of them is counted as the upper one.
fn from_quantiles(mut known: Vec<(f64, Duration)>, count: u64) -> Result<Histogram, String> {
    if let Some((q, _)) = known.iter().find(|(q, _)| !(0.0..=1.0).contains(q)) {
        return Err(format!("'{}' is no percentile from 0 to 100", 100.0 * q));
    }
    sort_by_number(&mut known, |one| one.0);
    if count == 0 {
        return Ok(Histogram::new());
    }
    // wrk2 prints some of them twice, rounded differently.
    if known
        .windows(2)
        .any(|pair| pair[0].1.mul_f64(ROUNDED) > pair[1].1)
    {
        return Err("a higher percentile of it is below a lower one".to_owned());
    }
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
