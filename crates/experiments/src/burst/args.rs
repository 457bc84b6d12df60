//! The flags of `plimsoll burst`.

use crate::args::phases;
use crate::args::value::{positive_duration, rate};
use crate::args::{
    AgainstArgs, FIXED_OF_AGAINST, FIXED_OF_SERVER, LoadArgs, URL_OR_RECORD, url_or_record,
};
use crate::experiment::HelpPage;
use clap::Args;
use plimsoll_model::{Rate, RatePhase, parse_duration};
use plimsoll_schedulers::WaitPolicy;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  plimsoll burst --quick
        the hash service in this process, under 90 s
  plimsoll burst http://localhost:8080/
        100 requests a second for a minute, then a minute of nothing, six times
  plimsoll burst http://localhost:8080/ --service-pid 4711
        the same of a virtual machine, by the process of its monitor
  plimsoll burst http://localhost:8080/ -- ./server --port 8080
        a server that is started for the run, and ended after it
  plimsoll burst http://localhost:8080/ --pattern 10s@100,20s@0,5s@400,20s@0
        other bursts and breaks
  plimsoll burst http://localhost:8080/ --against http://localhost:8081/
        two servers in turns, on one axis";

const PATTERN: &[&str] = &["rate", "burst", "pause", "pattern", "cycles", "quick"];
const MEASUREMENT: &[&str] = &["waiting", "step", "arrivals", "seed", "cpus"];

pub(super) const HELP: HelpPage = HelpPage {
    headings: &[
        ("Bursts and breaks", PATTERN),
        ("Comparison", &["against", "against_pid", "against_cgroup"]),
        ("Measurement", MEASUREMENT),
    ],
    short: &[
        (
            "url",
            "http:// or https://; without, a hash service in this process",
        ),
        ("command", "Starts the server, after `--`"),
        ("rate", "Requests per second in a burst"),
        ("burst", "How long a burst lasts"),
        ("pause", "How long a break lasts"),
        ("against", "Another server, measured in turns"),
        ("quick", "A first look in under 90 s"),
        ("service_pid", "The service's process, or that of its VM"),
    ],
    fixed: &[PATTERN, FIXED_OF_AGAINST, MEASUREMENT, FIXED_OF_SERVER],
};

/// `plimsoll burst`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, group = url_or_record())]
pub struct BurstArgs {
    /// The server, http:// or https://, on this machine. Without: the hash service, in this process.
    #[arg(conflicts_with_all = ["memory", "files"])]
    pub(super) url: Option<String>,

    /// Requests per second in a burst (default: 100).
    #[arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true)]
    pub(super) rate: Option<Rate>,

    /// How long a burst lasts (default: 60s; with --quick 4s, or 2.2s if also --against).
    #[arg(long, value_name = "TIME", value_parser = length, allow_hyphen_values = true)]
    pub(super) burst: Option<Duration>,

    /// How long the break after it lasts (default: as long as a burst).
    #[arg(id = "pause", long = "break", value_name = "TIME", value_parser = length, allow_hyphen_values = true)]
    pub(super) pause: Option<Duration>,

    /// Any cycle of bursts and breaks, as TIME@RATE: 10s@100,20s@0,5s@400 (rate 0 is a break).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = phases::phase, conflicts_with_all = ["rate", "burst", "pause"], allow_hyphen_values = true)]
    pub(super) pattern: Option<Vec<RatePhase>>,

    /// How often the cycle is measured; below 6 the first request after a break has no interval (default: 6; with --quick 7, or 6 if also --against).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), allow_negative_numbers = true)]
    pub(super) cycles: Option<u32>,

    /// A first look in under 90 s, unless a length is given.
    #[arg(long)]
    pub(super) quick: bool,

    /// How often CPU time is read, 10ms to 10s (default: 100ms; with --quick 50ms).
    #[arg(long, value_name = "TIME", value_parser = step, allow_hyphen_values = true)]
    pub(super) step: Option<Duration>,

    /// How the workers of the hash service wait for requests: park, spin, adaptive or another policy of rig wait (default: park).
    #[arg(long, value_name = "POLICY", value_parser = waiting, conflicts_with_all = ["url", "against"])]
    pub(super) waiting: Option<WaitPolicy>,

    #[command(flatten)]
    pub(super) other: AgainstArgs,

    /// The command that serves the URL, after `--`: started before the run, on the CPUs of --service-cpus if given, followed with all that it starts, and ended after the run. It must stay in the foreground. It inherits environment and descriptors of this process. Without cgroups that this user may make, what leaves its parent, session and environment outlives the run.
    #[arg(last = true, value_name = "CMD", requires = URL_OR_RECORD, conflicts_with_all = ["service_pid", "service_cgroup"])]
    pub(super) command: Vec<String>,

    #[command(flatten)]
    pub(super) load: LoadArgs,
}

/// Zero is refused with the whole pattern.
fn length(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|d| *d <= Duration::from_secs(3600))
        .ok_or_else(|| "give a time up to 1h with its unit, such as 10s".into())
}

fn waiting(text: &str) -> Result<WaitPolicy, String> {
    let own = |policy: &WaitPolicy| !policy.is_peer();
    let known: Vec<String> = WaitPolicy::all()
        .iter()
        .filter(|policy| own(policy))
        .map(ToString::to_string)
        .collect();
    let named: Option<WaitPolicy> = text.parse().ok();
    named
        .filter(own)
        .ok_or_else(|| format!("choose from {}", known.join(", ")))
}

fn step(text: &str) -> Result<Duration, String> {
    positive_duration(text)
        .ok()
        .filter(|d| (Duration::from_millis(10)..=Duration::from_secs(10)).contains(d))
        .ok_or_else(|| "give a time between 10ms and 10s with its unit, such as 50ms".into())
}

/// For tests: flags as they are written.
#[cfg(test)]
pub(super) fn of(flags: &[&str]) -> Result<BurstArgs, clap::Error> {
    use clap::{Arg, Command, FromArgMatches};
    let command = BurstArgs::augment_args(Command::new("burst").no_binary_name(true));
    let command = command.arg(Arg::new("resume").long("resume"));
    BurstArgs::from_arg_matches(&command.try_get_matches_from(flags)?)
}
