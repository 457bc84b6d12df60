//! The flags of `plimsoll sweep`.

use super::http::{HEADERS, OF_A_SERVER, OF_A_SWEPT_SERVER, url_or_record};
use super::value::{cpus, positive_duration, share};
use super::{FOR_A_SERVER, Format, HeaderArgs, HttpArgs, SweptServerArgs};
use clap::{Args, ValueEnum};
use plimsoll_model::{Arrivals, CpuSet, Goal, LoadLevel, Rate, Share, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

const SWEEP_HELP: &str = "\
Examples:
  plimsoll sweep --quick
        the hash service in this process, one worker per CPU, under 90 s
  plimsoll sweep http://localhost:8080/ --goal 'p99<10ms' --goal 'errors<0.1%'
        an HTTP server; the highest rate that keeps each goal
  plimsoll sweep https://localhost:8443/ -k --cpus 2-3 -c 256
        TLS without checking the certificate, the generator on CPUs 2 and 3
  plimsoll sweep --copies -- sh -c 'cp -r /src/. . && make -j1'
        1 to N copies of a build, each on a CPU and in a directory of its own
  plimsoll sweep --resume plimsoll-runs/FILE
        go on with a run that was interrupted";

/// `plimsoll sweep`
#[derive(Debug, Args)]
#[command(after_help = SWEEP_HELP, group = url_or_record())]
pub(crate) struct SweepArgs {
    /// The server to load, http:// or https://. Without: the hash service, in this process.
    pub(crate) url: Option<String>,

    /// The command to copy, after `--`.
    #[arg(last = true, value_name = "CMD", requires = "copies")]
    pub(crate) command: Vec<String>,

    /// Run 1 to N copies of a command at once instead of offering requests.
    #[arg(long, conflicts_with_all = [OF_A_SERVER, OF_A_SWEPT_SERVER, HEADERS], requires = "command")]
    pub(crate) copies: bool,

    /// A first look in under 90 s. Without: under 6 minutes, or 10 with a finer --precision.
    #[arg(long)]
    pub(crate) quick: bool,

    /// A promise to keep: p99<10ms, p99<2x (twice that of light load), errors<0.1%, cpu<80%. Repeatable (default: p99<2x).
    #[arg(long = "goal", value_name = "GOAL", conflicts_with = "copies")]
    pub(crate) goals: Vec<Goal>,

    /// Load levels in percent of the rated rate, such as 10,50,90; with --copies, numbers of copies (default: 5,10,20,...,100; copies: 1 to one per CPU).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = level, allow_hyphen_values = true)]
    pub(crate) levels: Option<Vec<LoadLevel>>,

    /// Half the width of a capacity's 95 % interval at which its search ends, within the time there is (default: 5%; a finer one may take 10 minutes in all).
    #[arg(long, value_name = "SHARE", conflicts_with = "copies", value_parser = precision, allow_hyphen_values = true)]
    pub(crate) precision: Option<Share>,

    /// How often each level is visited, every second time in the reverse order (default: 2; with --restart 3; copies with --quick 1).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), allow_negative_numbers = true)]
    pub(crate) trials: Option<u32>,

    /// How long each trial measures (default: 5s; with --quick 1.5s).
    #[arg(short = 'z', long, value_name = "TIME", value_parser = window, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,

    /// How requests arrive.
    #[arg(long, value_name = "LAW", default_value = "poisson")]
    pub(crate) arrivals: ArrivalChoice,

    /// The rated rate in requests per second, if it is known; else it is found.
    #[arg(long, value_name = "RATE", value_parser = rate, conflicts_with = "copies", allow_hyphen_values = true)]
    pub(crate) rated: Option<Rate>,

    /// Seed of the order of levels and of the arrivals (default: any; the record has it).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,

    /// CPUs of the hash service's workers, of the load generator, or of the copies, such as 0-3,8.
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub(crate) cpus: Option<CpuSet>,

    /// p99 of the generator's own lateness that makes a trial invalid, unless it is below a tenth of the p99 latency (default: 100us).
    #[arg(long, value_name = "TIME", value_parser = positive_duration, allow_hyphen_values = true)]
    pub(crate) max_slip: Option<Duration>,

    /// CPU time taken by the hypervisor that makes a trial invalid (default: 2%).
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub(crate) max_steal: Option<Share>,

    /// CPU time used by other processes that makes a trial invalid (default: 5%).
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub(crate) max_other: Option<Share>,

    /// Where to write the record (default: plimsoll-runs/TIME-sweep.plimsoll).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Go on with the interrupted run in this record. It runs the commands in the record, so the file must be yours and writable by you alone.
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    pub(crate) resume: Option<PathBuf>,

    /// Format of the findings on standard output.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,

    /// Leave out the page with charts beside the record.
    #[arg(long)]
    pub(crate) no_html: bool,

    /// Progress as plain lines, also on a terminal.
    #[arg(long)]
    pub(crate) plain: bool,

    /// A request (or, with --copies, a copy) that takes longer has failed (default: 10s; copies: 1h).
    #[arg(long, value_name = "TIME", help_heading = FOR_A_SERVER, value_parser = positive_duration, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) header: HeaderArgs,

    #[command(flatten)]
    pub(crate) http: HttpArgs,

    #[command(flatten)]
    pub(crate) swept: SweptServerArgs,
}

/// How requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalChoice {
    /// Independent users: exponential gaps.
    Poisson,
    /// Equal gaps.
    Constant,
}

impl From<ArrivalChoice> for Arrivals {
    fn from(choice: ArrivalChoice) -> Arrivals {
        match choice {
            ArrivalChoice::Poisson => Arrivals::Poisson,
            ArrivalChoice::Constant => Arrivals::Constant,
        }
    }
}

fn level(text: &str) -> Result<LoadLevel, String> {
    text.parse::<LoadLevel>().map_err(|e| e.to_string())
}

pub(super) fn rate(text: &str) -> Result<Rate, String> {
    let number: f64 = text.parse().map_err(|_| WANTED_RATE.to_owned())?;
    Rate::per_second(number)
        .filter(|r| (0.01..=1e9).contains(&r.get()))
        .ok_or_else(|| WANTED_RATE.to_owned())
}

const WANTED_RATE: &str = "give requests per second between 0.01 and 1000000000, such as 5000";

fn precision(text: &str) -> Result<Share, String> {
    share(text)
        .ok()
        .filter(|s| (0.005..=0.5).contains(&s.get()))
        .ok_or_else(|| "give half the width of the interval as a share of the rate between 0.5% and 50%, such as 2%".into())
}

pub(super) fn window(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|d| (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(d))
        .ok_or_else(|| "give a time between 100ms and 1h with its unit, such as 5s".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_are_refused() {
        for bad in ["0", "-1", "NaN", "inf", "1e300", "fast", ""] {
            assert!(rate(bad).is_err(), "{bad}");
        }
        for bad in ["0s", "-5s", "5", "NaNs", "1000h", ""] {
            assert!(window(bad).is_err(), "{bad}");
        }
    }
}
