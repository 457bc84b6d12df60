//! The flags of `plimsoll service`.

use clap::{ArgGroup, Args};
use plimsoll_experiments::args::value::{cpus, positive_duration, rate};
use plimsoll_experiments::args::{ArrivalChoice, HashArgs};
use plimsoll_lab::{MOST_RPS, Target};
use plimsoll_law::LatencyGoal;
use plimsoll_model::{CpuSet, Goal, LoadLevel, Rate};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const SERVICE_HELP: &str = "\
The rating is what the service carries when it is saturated: the median of five
rounds of 2 s under four times the load. It is measured once per machine, in 12 s,
and kept. CPU use is not load: at half of the rating it may be 55 %.

Messages of the control socket, a line of JSON each; every line is answered:
  {\"rate\": 1200}             requests per second
  {\"load\": 60}               percent of the rating
  {\"until\": \"p95<75ms\"}      the highest load that keeps a goal
  {\"status\": true}           the last second

Examples:
  plimsoll service --load 60%
        the hash service at 60 % of its rating until Ctrl-C
  plimsoll service --until 'p95<75ms' -z 60s
        the highest load that keeps p95 below 75 ms
  plimsoll service --load 20% --control /run/user/1000/lab
  echo '{\"load\": 90}' | socat - /run/user/1000/lab
        change the load while it runs
  plimsoll service --listen 127.0.0.1:8080
        the hash service over HTTP, for any load generator and Prometheus
  plimsoll service --memory 2GiB --files /var/tmp --file-size 1GiB
        requests also touch memory, and read files

Exit status: 0, also at Ctrl-C; 1 if the goal of --until is missed at any load or
was missed since the load settled (before that, by all requests), 2 for a mistake in what was asked, 130 at Ctrl-C
during the calibration.";

#[derive(Debug, Args)]
#[command(after_help = SERVICE_HELP, group = ArgGroup::new("target").multiple(false))]
pub(crate) struct ServiceArgs {
    /// The load, in percent of the rating (default: 60%).
    #[arg(
        long,
        value_name = "PERCENT",
        group = "target",
        allow_negative_numbers = true
    )]
    load: Option<LoadLevel>,

    /// The load, in requests per second.
    #[arg(long, value_name = "RATE", value_parser = offered, group = "target")]
    rate: Option<Rate>,

    /// Find and hold the highest load that keeps a latency goal, such as 'p95<75ms'.
    #[arg(long, value_name = "GOAL", value_parser = goal, group = "target")]
    until: Option<LatencyGoal>,

    /// How long it runs (default: until Ctrl-C).
    #[arg(short = 'z', long, value_name = "TIME", value_parser = positive_duration)]
    pub(super) duration: Option<Duration>,

    /// Serve the same requests over HTTP at this address, such as 127.0.0.1:8080, and OpenMetrics text at /metrics. Without --load, --rate or --until there are no others.
    #[arg(long, value_name = "ADDR")]
    pub(super) listen: Option<SocketAddr>,

    /// Take messages that change the load at this Unix socket, from this user and root.
    #[arg(long, value_name = "PATH")]
    pub(super) control: Option<PathBuf>,

    /// The rating in requests per second, if it is known; else it is measured once and kept.
    #[arg(long, value_name = "RATE", value_parser = offered, conflicts_with = "recalibrate")]
    pub(super) rated: Option<Rate>,

    /// Measure the rating again.
    #[arg(long)]
    pub(super) recalibrate: bool,

    /// A line of JSON per second in place of the table.
    #[arg(long)]
    pub(super) json: bool,

    /// How requests arrive.
    #[arg(long, value_name = "LAW", default_value = "poisson")]
    pub(super) arrivals: ArrivalChoice,

    /// Seed of the arrivals and of what requests do (default: any).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) seed: Option<u64>,

    /// CPUs of the service, such as 0-3,8 (default: all that this process may use).
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub(super) cpus: Option<CpuSet>,

    #[command(flatten)]
    pub(super) hash: HashArgs,
}

impl ServiceArgs {
    pub(super) fn target(&self) -> Target {
        let usual = match self.listen {
            Some(_) => None,
            None => LoadLevel::percent(60.0).map(Target::Load),
        };
        let given = self.load.map(Target::Load);
        given
            .or(self.rate.map(Target::Rate))
            .or(self.until.map(Target::Until))
            .or(usual)
            .unwrap_or(Target::Rate(Rate::ZERO))
    }
}

pub(crate) fn goal(text: &str) -> Result<LatencyGoal, String> {
    let goal = text.parse::<Goal>().ok().map(LatencyGoal::try_from);
    match goal {
        Some(Ok(goal)) => Ok(goal),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("give a percentile and a time above 0, such as p95<75ms".to_owned()),
    }
}

fn offered(text: &str) -> Result<Rate, String> {
    let rate = rate(text)?;
    match rate.get() <= MOST_RPS {
        true => Ok(rate),
        false => Err(format!("give up to {MOST_RPS} requests per second")),
    }
}
