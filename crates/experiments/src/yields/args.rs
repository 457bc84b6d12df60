//! The flags of `plimsoll yield`.

use super::StepLoads;
use crate::args::value::{positive_duration, rate, share, window};
use crate::args::{Effort, FIXED_OF_SERVER, LoadArgs, WarmUpArgs, url_or_record};
use crate::experiment::HelpPage;
use clap::Args;
use plimsoll_model::{Arm, Budget, LoadLevel, Rate, Share};
use std::time::Duration;

/// Flags that decide the plan: the question, the measurement, and the server.
const FLAGS: &[&str] = &[
    "load",
    "rate",
    "rated",
    "step",
    "job",
    "job_timeout",
    "arms",
    "headroom",
    "curve",
    "headrooms",
    "budget",
    "quick",
    "passes",
    "duration",
    "arrivals",
    "seed",
    "cpus",
];
const OF_QUESTION: usize = 12;

pub(super) const HELP: HelpPage = HelpPage {
    headings: &[
        ("Question", FLAGS.split_at(OF_QUESTION).0),
        ("Measurement", FLAGS.split_at(OF_QUESTION).1),
    ],
    short: &[
        (
            "url",
            "http:// or https://; without, a hash service in this process",
        ),
        ("load", "The service's load (default: 60%)"),
        ("rate", "Requests per second, in place of --load"),
        ("step", "How soon is latency back when the load steps up?"),
        ("job", "'burn', 'memory', 'disk', or a command for sh"),
        ("arms", "Isolation mechanisms (default: all)"),
        ("headroom", "What quotas, cpuset and laws leave unused"),
        ("curve", "Latency over many headrooms under a quota"),
        ("headrooms", "The headrooms of --curve"),
        ("budget", "How much latency may be paid"),
        (
            "quick",
            "A first look in under 2 minutes; without, under 12",
        ),
        ("passes", "How often each arm is visited"),
    ],
    fixed: &[FLAGS, FIXED_OF_SERVER, &["warm_up"]],
};

const YIELD_HELP: &str = "\
How to read it, from a run on two shared virtual CPUs:
  arm         gained   change          interval  verdict
  none          49.2  +26,100  20,500 to 33,100  beyond
  quota-10ms    19.2     +158         86 to 256  beyond
  plimsoll      39.1       -4         -19 to 14  inconclusive
Held by nothing, the job did 49.2 % of its work beside the service, and p99 was
260 times as long. By a quota of 10 ms it did 19.2 %, and p99 more than doubled.
By the law of `plimsoll side` it did 39.1 %; p99 changed by -19 to 14 %: whether
it is within 5 % is inconclusive on a machine whose own noise is 25 %.

Examples:
  plimsoll yield --quick
        the hash service at 60 % of what it carries, a job of hashing beside it
  plimsoll yield http://localhost:8080/ --rate 2000 --budget 'p99.9+20%'
        an HTTP server of this machine at 2,000 requests a second
  plimsoll yield --job 'make -C /src -j2' --arms nice,weight,quota-10ms
        a build in place of hashing, held in three ways
  plimsoll yield --arms weight,resctl,koordinator,plimsoll -z 10s
        three laws of batch work, and the least weight alone
  plimsoll yield --curve
        at how much headroom does latency begin to rise under a quota?
  plimsoll yield --step
        after which time latency is back when the load steps from 20 % to 90 %
  plimsoll yield --resume plimsoll-runs/FILE
        go on with a run that was interrupted";

/// `plimsoll yield`
#[derive(Debug, Args)]
#[command(after_help = YIELD_HELP, group = url_or_record())]
pub struct YieldArgs {
    /// The server to load, http:// or https://, on this machine. Without: the hash service, in this process.
    #[arg(conflicts_with_all = ["memory", "files"])]
    pub(super) url: Option<String>,

    /// The service's load, in percent of what it carries alone (default: 60%).
    #[arg(long, value_name = "PERCENT", value_parser = load)]
    pub(super) load: Option<LoadLevel>,

    /// The service's requests per second, in place of --load.
    #[arg(long, value_name = "RATE", value_parser = rate, conflicts_with = "load")]
    pub(super) rate: Option<Rate>,

    /// What the service carries alone, in requests per second, if it is known; else it is found.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(super) rated: Option<Rate>,

    /// Step the load up, from LOW to HIGH percent of what the service carries alone (default: 20%,90%), and tell after which time its latency is back.
    #[arg(long, value_name = "LOW,HIGH", num_args = 0..=1, require_equals = true,
        default_missing_value = "20%,90%", value_parser = step, conflicts_with_all = ["load", "rate", "curve", "headrooms"])]
    pub(super) step: Option<StepLoads>,

    /// The job: 'burn' (hashing, a thread per CPU), 'memory' or 'memory:SIZE' (takes memory while there is some, and writes it), 'disk' or 'disk:DIR' (writes and reads files), or a command that does the same work each time, run again and again and timed until all its processes have ended, by `sh -c` if it is more than plain words; first once alone, which counts for nothing but fills the caches.
    #[arg(long, value_name = "JOB", default_value = "burn")]
    pub(super) job: String,

    /// A run of the job's command that takes longer beside the service has failed; if a law left it next to nothing all that time, no work was done.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = positive_duration)]
    pub(super) job_timeout: Duration,

    /// Ways to restrict the job: none, nice, sched-idle, weight, cpu-idle, quota-10ms, quota-100ms, cpuset; memory-high, memory-max and io-weight, by cgroup; and by a law that decides once a second: resctl (resctl-demo's for the CPU, without its guards of memory and disk pressure), koordinator, plimsoll (default: all of the CPU; with --quick none by law; of memory or disk beside these jobs; with --curve the quotas; with --step those that differ most).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = arm)]
    pub(super) arms: Option<Vec<Arm>>,

    /// The part of the machine that quotas, cpuset and laws leave unused.
    #[arg(long, value_name = "SHARE", default_value = "20%", value_parser = headroom)]
    pub(super) headroom: Share,

    /// In place of all arms, quota-10ms and quota-100ms, or those of --arms that leave a headroom, over many headrooms.
    #[arg(long, conflicts_with = "headroom")]
    pub(super) curve: bool,

    /// The headrooms of --curve (default: 0,5,10,15,20,30,40,50; with --quick 0,5,10,20,40; percent).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = headroom_pct, requires = "curve")]
    pub(super) headrooms: Option<Vec<Share>>,

    /// How much latency may be paid: p50, p95, p99 or p99.9, and percent more.
    #[arg(long, value_name = "BUDGET", default_value = "p99+5%", value_parser = budget)]
    pub(super) budget: Budget,

    /// A first look in under 2 minutes, beside hashing; a command takes its own time. Without: under 12.
    #[arg(long)]
    pub(super) quick: bool,

    /// How often each arm is visited (default: 8; with --quick 6; below 5 there are no intervals).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) passes: Option<u32>,

    /// How long each trial measures, at least: beside a command that takes longer, to its end (default: 4.5s; with --quick 0.9s; with --curve 2.5s and 0.7s); with --step, how long after each step (3s and 1.5s).
    #[arg(short = 'z', long, value_name = "TIME", value_parser = window)]
    pub(super) duration: Option<Duration>,

    #[command(flatten)]
    pub(super) service: LoadArgs,

    #[command(flatten)]
    pub(super) warm_up: WarmUpArgs,
}

impl YieldArgs {
    pub(super) fn effort(&self) -> Effort {
        Effort::of(self.quick)
    }
}

/// Less than nothing is no load, and at all that is carried nothing is left.
fn load(text: &str) -> Result<LoadLevel, String> {
    let level = text.parse::<LoadLevel>().ok();
    level.filter(|level| level.pct() < 100.0).ok_or_else(|| {
        "give percent of what the service carries alone, above 0 and below 100, such as 60%".into()
    })
}

fn step(text: &str) -> Result<StepLoads, String> {
    let read = || {
        let (low, high) = text.split_once(',')?;
        let (low, high) = (load(low).ok()?, load(high).ok()?);
        (low < high).then_some(StepLoads { low, high })
    };
    read().ok_or_else(|| {
        "give two loads in percent of what the service carries alone, above 0 and below 100, the \
         lower one first, such as --step=20%,90%"
            .into()
    })
}

fn arm(text: &str) -> Result<Arm, String> {
    let arm: Arm = text.trim().parse().map_err(|e| format!("{e}"))?;
    match arm.is_beside() {
        true => Ok(arm),
        false => Err("it is measured in any case; name ways to restrict the job only".into()),
    }
}

fn headroom(text: &str) -> Result<Share, String> {
    share(text)
        .ok()
        .filter(|s| s.get() < 0.95)
        .ok_or_else(|| "give a share of the machine from 0% to below 95%, such as 20%".into())
}

/// In a list, the sign would be said again and again.
fn headroom_pct(text: &str) -> Result<Share, String> {
    let number = text.trim();
    let number = number.strip_suffix('%').unwrap_or(number);
    headroom(&format!("{number}%"))
}

fn budget(text: &str) -> Result<Budget, String> {
    text.parse::<Budget>().map_err(|e| e.to_string())
}
