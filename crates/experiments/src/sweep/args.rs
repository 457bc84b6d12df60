//! The flags of `plimsoll sweep`.

use crate::args::value::{rate, share, window};
use crate::args::{Effort, LoadArgs, URL_OR_RECORD, WarmUpArgs, url_or_record};
use crate::experiment::HelpPage;
use clap::Args;
use plimsoll_model::{Goal, LoadFormat, LoadLevel, Rate, Share};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  plimsoll sweep --quick
        the hash service in this process, one worker per CPU, under 90 s
  plimsoll sweep http://localhost:8080/ --goal 'p99<10ms' --goal 'errors<0.1%'
        an HTTP server; the capacity under each goal
  plimsoll sweep https://localhost:8443/ -k --cpus 2-3 -c 256
        TLS without checking the certificate, the generator on CPUs 2 and 3
  plimsoll sweep tcp://localhost:5432 --load-command 'gen {rate} {duration}'
        an external load generator (docs/load-commands.md)
  plimsoll sweep --resume plimsoll-runs/FILE
        resume an interrupted run";

pub(super) const HELP: HelpPage = HelpPage {
    headings: &[
        ("Question", &["goals", "quick", "precision"]),
        (
            "Measurement",
            &[
                "levels", "trials", "duration", "confirm", "arrivals", "rated", "seed", "cpus",
            ],
        ),
    ],
    short: &[
        (
            "url",
            "http:// or https://; without, a hash service in this process",
        ),
        ("goals", "An SLO: p99<10ms, p99<2x, errors<0.1%, cpu<80%"),
        (
            "quick",
            "A first look in under 90 s; without, under 6 minutes",
        ),
        ("cpus", "CPUs of the generator or the hash service"),
        ("method", "The method"),
        ("headers", "A header, such as 'Accept: text/html', or @FILE"),
        ("data", "The body, or @FILE"),
        (
            "connections",
            "Connections kept open (default: 128, more while they are the limit)",
        ),
        ("insecure", "Accept any TLS certificate"),
    ],
    // The other flags are compared with the record.
    fixed: &[&[
        "quick",
        "precision",
        "arrivals",
        "cpus",
        "restart",
        "load_command",
        "load_format",
        "warm_up",
        "insecure",
        "expect_status",
        "service_cpus",
        "service_pid",
        "service_cgroup",
    ]],
};

/// `plimsoll sweep`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, group = url_or_record())]
pub struct SweepArgs {
    /// The server to load, http:// or https://. Without: the hash service, in this process.
    #[arg(conflicts_with_all = ["memory", "files"])]
    pub(super) url: Option<String>,

    /// A first look in under 90 s. Without: under 6 minutes, or 10 with a finer --precision.
    #[arg(long)]
    pub(super) quick: bool,

    /// A goal (SLO): p99<10ms, p99<2x (twice the latency at light load), errors<0.1%, cpu<80%. Repeatable (default: p99<2x).
    #[arg(long = "goal", value_name = "GOAL")]
    pub(super) goals: Vec<Goal>,

    /// Load levels in percent of the rated rate, such as 10,50,90 (default: 5,10,20,...,100).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = level, allow_hyphen_values = true)]
    pub(super) levels: Option<Vec<LoadLevel>>,

    /// Half the width of a capacity's 95 % interval at which its search ends, within the time there is (default: 5%; a finer one may take 10 minutes in all).
    #[arg(long, value_name = "SHARE", value_parser = precision, allow_hyphen_values = true)]
    pub(super) precision: Option<Share>,

    /// How often each level is visited, every second time in the reverse order (default: 2; with --restart 3).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), allow_negative_numbers = true)]
    pub(super) trials: Option<u32>,

    /// How long each trial measures (default: 5s; with --quick 1.5s).
    #[arg(short = 'z', long, value_name = "TIME", value_parser = window, allow_hyphen_values = true)]
    pub(super) duration: Option<Duration>,

    /// How long the lower end of each capacity is tried without a break at the end: so long that
    /// rare pauses show (default: 12s, 60s where latency rises late in trials; with --quick none).
    #[arg(long, value_name = "TIME", value_parser = window, allow_hyphen_values = true)]
    pub(super) confirm: Option<Duration>,

    /// The rated rate in requests per second, if it is known; else it is measured.
    #[arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true)]
    pub(super) rated: Option<Rate>,

    /// Load the service at URL with an external generator: run by sh for each trial, with values for {rate}, {duration}, {seed}, {url} and {out} (docs/load-commands.md).
    #[arg(long, value_name = "CMD", requires = "url", help_heading = crate::args::FOR_A_SERVER, conflicts_with_all = [
        "method", "headers", "data", "connections", "timeout", "requests_per_connection", "no_keepalive", "http2", "grpc", "streams", "insecure",
        "cacert", "cert", "key", "expect_status", "expect_body", "requests_file", "max_connections", "restart", "arrivals"])]
    pub(super) load_command: Option<String>,

    /// How its output is read: k6, wrk2, fortio, pgbench or json (default: by the program that it names, else json).
    #[arg(long, value_name = "FORMAT", requires = "load_command", help_heading = crate::args::FOR_A_SERVER, value_parser = load_format)]
    pub(super) load_format: Option<LoadFormat>,

    #[command(flatten)]
    pub(super) load: LoadArgs,

    /// As many connections as the calibration may try where 128 are the limit, as far as the limit on open files permits (default: 10000; with --connections or --rated their number stays).
    #[arg(long, value_name = "N", requires = "url", help_heading = crate::args::FOR_A_SERVER, conflicts_with_all = ["connections", "rated"],
        value_parser = clap::value_parser!(u32).range(128..), allow_negative_numbers = true)]
    pub(super) max_connections: Option<u32>,

    #[command(flatten)]
    pub(super) warm_up: WarmUpArgs,

    /// A command that restarts the service, run by sh before each pass over the levels; shows how much varies between restarts.
    #[arg(long, value_name = "CMD", requires = "url", conflicts_with = "warm_up", help_heading = crate::args::FOR_A_SERVER)]
    pub(super) restart: Option<String>,

    /// node_exporter of the host where the service is, such as http://host:9100/metrics.
    #[arg(long, value_name = "URL", requires = URL_OR_RECORD, help_heading = crate::args::FOR_A_SERVER, conflicts_with_all = ["service_pid", "service_cgroup"])]
    pub(super) node_metrics: Option<String>,
}

impl SweepArgs {
    pub(super) fn effort(&self) -> Effort {
        Effort::of(self.quick)
    }

    /// The goals, each once.
    pub(super) fn goals(&self) -> Vec<Goal> {
        plimsoll_model::each_once(&self.goals)
    }
}

fn level(text: &str) -> Result<LoadLevel, String> {
    text.parse::<LoadLevel>().map_err(|e| e.to_string())
}

fn load_format(text: &str) -> Result<LoadFormat, String> {
    let found = LoadFormat::ALL.iter().find(|(name, _)| *name == text);
    let known = || "give k6, wrk2, fortio, pgbench or json".to_owned();
    found.map(|(_, format)| *format).ok_or_else(known)
}

fn precision(text: &str) -> Result<Share, String> {
    share(text)
        .ok()
        .filter(|s| (0.005..=0.5).contains(&s.get()))
        .ok_or_else(|| "give half the width of the interval as a share of the rate between 0.5% and 50%, such as 2%".into())
}
