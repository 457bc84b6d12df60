//! What was typed: the flags, and nothing but the validation of their text.

mod compare;
mod plan;
mod selftest;

pub(crate) use compare::{CompareArgs, CompareFormat, Price};
pub(crate) use plan::{PlanArgs, PlanFormat};
pub(crate) use selftest::{SelftestArgs, SelftestFormat};

use clap::{Args, Parser, Subcommand, ValueEnum};
use plimsoll_model::{Arrivals, CpuSet, Goal, LoadLevel, Rate, Share, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

const AFTER_HELP: &str = "\
Try first:
  plimsoll sweep --quick                     what does this machine carry?
  plimsoll sweep http://localhost:8080/      what does this server carry?
  plimsoll sweep --copies -- make -j1        how do copies of a job slow each other down?
  plimsoll report plimsoll-runs/FILE         the table and the sentences again
  plimsoll compare A.plimsoll B.plimsoll     which machine carries more?
  plimsoll plan FILE --peak 5000             how many instances, and when to add one?
  plimsoll doctor                            what can be measured here?

Exit status: 0 done, 1 the run failed, 2 a mistake in what was asked, 130 stopped by Ctrl-C.";

/// Tells how much load a machine can really carry.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load a service from idle to saturation and tell what it carries.
    Sweep(Box<SweepArgs>),
    /// Print the findings of a recorded run.
    Report(ReportArgs),
    /// Hold machines, or versions of a service, against each other.
    Compare(CompareArgs),
    /// Tell how many instances a peak takes, and at which CPU use to add one.
    Plan(PlanArgs),
    /// Make a record from a table that somebody else measured.
    Import(ImportArgs),
    /// Write a record's measurements in other formats.
    Export(ExportArgs),
    /// Measure services of known behaviour here, and tell how wrong the answers are.
    Selftest(SelftestArgs),
    /// Tell what can be measured on this machine, and what is missing.
    Doctor,
}

const SWEEP_HELP: &str = "\
Examples:
  plimsoll sweep --quick
        the hash service in this process, one worker per CPU, under 90 s
  plimsoll sweep http://localhost:8080/ --goal 'p99<10ms' --goal 'errors<0.1%'
        an HTTP server; the highest rate that keeps each goal
  plimsoll sweep https://localhost:8443/ -k --cpus 2-3 -c 256
        TLS without checking the certificate, the generator on CPUs 2 and 3
  plimsoll sweep --copies -- sh -c 'cp -r /src/. . && make -j1'
        1 to N copies of a build at once, each on a CPU and in a directory of its own
  plimsoll sweep --resume plimsoll-runs/FILE
        go on with a run that was interrupted";

/// `plimsoll sweep`
#[derive(Debug, Args)]
#[command(after_help = SWEEP_HELP)]
pub(crate) struct SweepArgs {
    /// The server to load, http:// or https://. Without: the hash service, in this process.
    pub(crate) url: Option<String>,

    /// The command to copy, after `--`.
    #[arg(last = true, value_name = "CMD", requires = "copies")]
    pub(crate) command: Vec<String>,

    /// Run 1 to N copies of a command at once instead of offering requests.
    #[arg(long, conflicts_with = "url", requires = "command")]
    pub(crate) copies: bool,

    /// A first look in under 90 s. Without: under 6 minutes, or 10 with a finer --precision.
    #[arg(long)]
    pub(crate) quick: bool,

    /// A promise to keep: p99<10ms, p99<2x (twice that of light load), errors<0.1%, cpu<80%. Repeatable (default: p99<2x).
    #[arg(long = "goal", value_name = "GOAL", conflicts_with = "copies")]
    pub(crate) goals: Vec<Goal>,

    /// Load levels in percent of the rated rate, such as 10,50,90; with --copies, numbers of copies (default: 5,10,20,...,100; copies: 1 to one per CPU).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = level)]
    pub(crate) levels: Option<Vec<LoadLevel>>,

    /// Half the width of a capacity's 95 % interval at which its search ends, within the time there is (default: 5%; a finer one may take 10 minutes in all).
    #[arg(long, value_name = "SHARE", conflicts_with = "copies", value_parser = precision)]
    pub(crate) precision: Option<Share>,

    /// How often each level is visited, every second time in the reverse order (default: 2; with --restart 3; copies with --quick 1).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: Option<u32>,

    /// How long each trial measures (default: 5s; with --quick 1.5s).
    #[arg(short = 'z', long, value_name = "TIME", value_parser = window)]
    pub(crate) duration: Option<Duration>,

    /// How requests arrive.
    #[arg(long, value_name = "LAW", default_value = "poisson")]
    pub(crate) arrivals: ArrivalChoice,

    /// The rated rate in requests per second, if it is known; else it is found.
    #[arg(long, value_name = "RATE", value_parser = rate, conflicts_with = "copies")]
    pub(crate) rated: Option<Rate>,

    /// Seed of the order of levels and of the arrivals (default: any; the record has it).
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// CPUs of the hash service's workers, of the load generator, or of the copies, such as 0-3,8.
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub(crate) cpus: Option<CpuSet>,

    /// p99 of the generator's own lateness that makes a trial invalid, unless it is below a tenth of the p99 latency (default: 100us).
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub(crate) max_slip: Option<Duration>,

    /// CPU time taken by the hypervisor that makes a trial invalid (default: 2%).
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) max_steal: Option<Share>,

    /// CPU time used by other processes that makes a trial invalid (default: 5%).
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) max_other: Option<Share>,

    /// Where to write the record (default: plimsoll-runs/TIME-sweep.plimsoll).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Go on with the interrupted run in this record.
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    pub(crate) resume: Option<PathBuf>,

    /// Format of the findings on standard output.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,

    /// Progress as plain lines, also on a terminal.
    #[arg(long)]
    pub(crate) plain: bool,

    #[command(flatten)]
    pub(crate) http: HttpArgs,
}

/// Flags that concern a server.
#[derive(Debug, Args)]
#[command(next_help_heading = "For a server")]
pub(crate) struct HttpArgs {
    /// The method (default: GET, or POST with --data).
    #[arg(
        short = 'X',
        long,
        visible_alias = "request",
        value_name = "METHOD",
        requires = "url",
        conflicts_with = "copies"
    )]
    pub(crate) method: Option<String>,

    /// A header, such as 'Accept: text/html'. Repeatable.
    #[arg(
        short = 'H',
        long = "header",
        value_name = "HEADER",
        requires = "url",
        conflicts_with = "copies"
    )]
    pub(crate) headers: Vec<String>,

    /// The body; @FILE reads it from a file.
    #[arg(
        short = 'd',
        long = "data",
        visible_alias = "body",
        value_name = "BODY",
        requires = "url",
        conflicts_with = "copies"
    )]
    pub(crate) data: Option<String>,

    /// Connections kept open (default: 128).
    #[arg(short, long, value_name = "N", requires = "url", conflicts_with = "copies",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connections: Option<u32>,

    /// A request (or, with --copies, a copy) that takes longer has failed (default: 10s; copies: 1h).
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub(crate) timeout: Option<Duration>,

    /// Accept any TLS certificate.
    #[arg(short = 'k', long, requires = "url", conflicts_with = "copies")]
    pub(crate) insecure: bool,

    /// The status that counts as success (default: any of 200 to 299).
    #[arg(long, value_name = "STATUS", requires = "url", conflicts_with = "copies",
        value_parser = clap::value_parser!(u16).range(100..=599))]
    pub(crate) expect_status: Option<u16>,

    /// CPUs that the service may run on (default: where its processes may run).
    #[arg(long, value_name = "LIST", requires = "url", conflicts_with = "copies", value_parser = cpus)]
    pub(crate) service_cpus: Option<CpuSet>,

    /// The service's process, if it is on this host (default: found by its listening socket).
    #[arg(long, value_name = "PID", requires = "url", conflicts_with_all = ["copies", "service_cgroup", "node_metrics"])]
    pub(crate) service_pid: Option<u32>,

    /// The service's cgroup, as a path below the cgroup mount.
    #[arg(
        long,
        value_name = "PATH",
        requires = "url",
        conflicts_with = "copies",
        conflicts_with = "node_metrics"
    )]
    pub(crate) service_cgroup: Option<String>,

    /// A command that restarts the service, run by sh before each pass over the levels; shows how much comes from restarts.
    #[arg(long, value_name = "CMD", requires = "url", conflicts_with = "copies")]
    pub(crate) restart: Option<String>,

    /// node_exporter of the host where the service is, such as http://host:9100/metrics.
    #[arg(long, value_name = "URL", requires = "url", conflicts_with = "copies")]
    pub(crate) node_metrics: Option<String>,
}

/// `plimsoll report`
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The record of a run.
    pub(crate) file: PathBuf,

    /// How to print the findings.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,

    /// Another promise to hold the trials against. Repeatable; replaces those of the run.
    #[arg(long = "goal", value_name = "GOAL")]
    pub(crate) goals: Vec<Goal>,
}

const IMPORT_HELP: &str = "\
The table is CSV: a line with the names of the columns, then a row per load. Columns are
  rate_rps,cpu_pct,latency_us      a rate, the CPU use (0 to 100) and the latency at it
  copies,cpu_pct,seconds           copies of a job at once, the CPU use, the time of a copy
in any order. Repeated rows at one load are repeated trials. What is concluded from a sweep is \
concluded from a table too, but loads with one row have no interval, and which latency it is \
(a mean, a percentile) only whoever measured it knows.

Example:
  plimsoll import web1.csv -o web1.plimsoll --name 'web1, 8 CPUs' --cpus 8 --note 'p99, from wrk2'";

/// `plimsoll import`
#[derive(Debug, Args)]
#[command(after_help = IMPORT_HELP)]
pub(crate) struct ImportArgs {
    /// The table, in CSV.
    pub(crate) table: PathBuf,

    /// Where to write the record.
    #[arg(short, long, value_name = "FILE", required = true)]
    pub(crate) output: PathBuf,

    /// What was measured, such as the machine's name (default: the name of the table's file).
    #[arg(long, value_name = "NAME", value_parser = words)]
    pub(crate) name: Option<String>,

    /// How many CPUs the machine has.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8192))]
    pub(crate) cpus: Option<u32>,

    /// Where the table comes from and what its latency is; the record keeps it.
    #[arg(long, value_name = "TEXT", value_parser = words)]
    pub(crate) note: Option<String>,

    /// Format of the findings on standard output.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// `plimsoll export`
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The record of a run.
    pub(crate) file: PathBuf,

    /// Write HdrHistogram interval logs, one per level, into this directory.
    #[arg(long, value_name = "DIR", required = true)]
    pub(crate) hdr: PathBuf,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table and sentences.
    Text,
    /// JSON, as docs/schema/output.schema.json describes.
    Json,
    /// One row per level.
    Csv,
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

fn cpus(text: &str) -> Result<CpuSet, String> {
    let set: CpuSet = text.parse().map_err(|e| format!("{e}"))?;
    if set.is_empty() {
        return Err("it names no CPU; write it like 0-3,8".into());
    }
    Ok(set)
}

fn rate(text: &str) -> Result<Rate, String> {
    let number: f64 = text.parse().map_err(|_| WANTED_RATE.to_owned())?;
    Rate::per_second(number)
        .filter(|r| (0.01..=1e9).contains(&r.get()))
        .ok_or_else(|| WANTED_RATE.to_owned())
}

const WANTED_RATE: &str = "give requests per second between 0.01 and 1000000000, such as 5000";

fn words(text: &str) -> Result<String, String> {
    let words = text.trim();
    let fits = !words.is_empty() && words.chars().count() <= 500;
    fits.then(|| words.to_owned())
        .ok_or_else(|| "give 1 to 500 characters".into())
}

fn share(text: &str) -> Result<Share, String> {
    let number = text
        .strip_suffix('%')
        .and_then(|n| n.trim().parse::<f64>().ok());
    number
        .and_then(|n| Share::new(n / 100.0))
        .ok_or_else(|| "give a share of all CPU time between 0% and 100%, such as 5%".into())
}

fn precision(text: &str) -> Result<Share, String> {
    share(text)
        .ok()
        .filter(|s| (0.005..=0.5).contains(&s.get()))
        .ok_or_else(|| "give half the width of the interval as a share of the rate between 0.5% and 50%, such as 2%".into())
}

fn positive_duration(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|d| !d.is_zero() && *d <= Duration::from_secs(86_400))
        .ok_or_else(|| {
            "give a time above 0 and up to a day with its unit, such as 10s, 250ms, 2m".into()
        })
}

fn window(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|d| (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(d))
        .ok_or_else(|| "give a time between 100ms and 1h with its unit, such as 5s".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_fit_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        for bad in ["0", "-1", "NaN", "inf", "1e300", "fast", ""] {
            assert!(rate(bad).is_err(), "{bad}");
        }
        for bad in ["0s", "-5s", "5", "NaNs", "1000h", ""] {
            assert!(positive_duration(bad).is_err(), "{bad}");
            assert!(window(bad).is_err(), "{bad}");
        }
    }
}
