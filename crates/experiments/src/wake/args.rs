//! The flags of `plimsoll wake`.

use super::plan::BurnBudget;
use super::program::Program;
use crate::args::RunArgs;
use crate::args::value::{positive_duration, window};
use crate::experiment::HelpPage;
use clap::Args;
use plimsoll_load::wakeups::LONGEST_GAP;
use plimsoll_model::{Arrivals, IdlePolicy, Placement, Wait, parse_duration};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  plimsoll wake --quick
        wake-up latency with CPUs asleep and kept awake (under 2 minutes)
  plimsoll wake --latency 20us
        the policy that burns least of those with a p99 of 20 us
  plimsoll wake --policies as-is,gate --gaps 1ms,5ms --waits futex
        the gate alone, at two gaps
  plimsoll wake --workload pgbench
        pgbench -S at ten transactions a second under each policy
  plimsoll wake --limit 5us --budget 5%
        CPUs that are kept awake may enter states that they leave within 5 us

Here --max-slip is half of the gap where that is longer.";

const PLAN: &[&str] = &[
    "policies",
    "waits",
    "placements",
    "gaps",
    "arrivals",
    "workload",
    "database",
    "limit",
    "quick",
    "passes",
    "duration",
    "seed",
    "cpus",
    "latency",
    "budget",
];

pub(super) const HELP: HelpPage = HelpPage {
    headings: &[
        ("Question", &["policies", "limit", "latency", "budget"]),
        (
            "Wake-ups",
            &[
                "waits",
                "placements",
                "gaps",
                "arrivals",
                "workload",
                "database",
            ],
        ),
        (
            "Measurement",
            &["quick", "passes", "duration", "seed", "cpus"],
        ),
    ],
    short: &[
        ("policies", "Which CPUs are kept awake"),
        ("gaps", "From one wake-up to the next, on average"),
        ("latency", "The p99 that the recommended policy keeps"),
        ("budget", "What it may burn more, such as 5% or 10W"),
        ("workload", "Measure schbench or pgbench instead"),
        ("quick", "Fewer kinds of wake-ups (under 2 minutes)"),
        ("max_slip", "How late the waker may be at p99"),
    ],
    fixed: &[PLAN],
};

/// `plimsoll wake`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WakeArgs {
    /// Which CPUs are kept awake: none (as-is), all (all-awake), those of the threads that are woken (gate), the same by a thread that spins (spinner). As-is is always measured, twice.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "as-is,all-awake,gate,spinner", value_parser = policy)]
    pub(super) policies: Vec<IdlePolicy>,

    /// How long CPUs that are kept awake may take to leave an idle state; n/a for none, so that they poll.
    #[arg(long, value_name = "TIME", default_value = "n/a", value_parser = limit, allow_hyphen_values = true)]
    pub(super) limit: Limit,

    /// The highest p99 of wake-ups that the recommended policy may have (default: any).
    #[arg(long, value_name = "TIME", value_parser = positive_duration, allow_hyphen_values = true)]
    pub(super) latency: Option<Duration>,

    /// What the recommended policy may burn more than as it is: percent of the time of all CPUs, or watts (default: any).
    #[arg(long, value_name = "SHARE|POWER", allow_hyphen_values = true)]
    pub(super) budget: Option<BurnBudget>,

    /// How the thread waits: in a futex, in the read of an eventfd, for a timer (default: all; with --quick futex).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = wait)]
    pub(super) waits: Option<Vec<Wait>>,

    /// Where the waker runs: same-core, same-llc, same-socket, other-socket (default: all that this machine has). A timer has no waker.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = placement)]
    pub(super) placements: Option<Vec<Placement>>,

    /// From one wake-up to the next on average, up to 1s (default: 10us,100us,1ms,10ms; with --quick 100us,1ms,5ms). A trial lasts for 360 gaps at least.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = gap, allow_hyphen_values = true)]
    pub(super) gaps: Option<Vec<Duration>>,

    /// Equal gaps, or exponential ones: constant, poisson (default: both; with --quick constant).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = arrivals)]
    pub(super) arrivals: Option<Vec<Arrivals>>,

    /// Measure a program instead, on the CPUs of the gate: schbench, or pgbench with read-only transactions.
    #[arg(long, value_name = "PROGRAM", value_enum, conflicts_with_all = ["waits", "placements", "gaps", "arrivals", "latency", "budget"])]
    pub(super) workload: Option<Program>,

    /// The database of pgbench, filled by pgbench -i: a name or a connection string (default: a temporary server).
    #[arg(long, value_name = "DATABASE", requires = "workload")]
    pub(super) database: Option<String>,

    /// Fewer kinds of wake-ups.
    #[arg(long)]
    pub(super) quick: bool,

    /// How often each setting is visited, every second time in the reverse order (default: 5; with --quick 4).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), allow_negative_numbers = true)]
    pub(super) passes: Option<u32>,

    /// How long each trial measures; p99.9 takes 2995 wake-ups in it (default: 1s; with --workload 10s).
    #[arg(short = 'z', long, value_name = "TIME", value_parser = window, allow_hyphen_values = true)]
    pub(super) duration: Option<Duration>,

    #[command(flatten)]
    pub(super) run: RunArgs,
}

/// How long a CPU that is kept awake may take to leave an idle state; `None` to poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit(pub(super) Option<Duration>);

fn limit(text: &str) -> Result<Limit, String> {
    if text == "n/a" {
        return Ok(Limit(None));
    }
    let limit = parse_duration(text).filter(|d| !d.is_zero() && *d <= Duration::from_secs(1));
    limit.map(|limit| Limit(Some(limit))).ok_or_else(|| {
        "give a time above 0 and up to 1s with its unit, such as 5us, or n/a for CPUs that poll (to the kernel 0 is no limit)".into()
    })
}

fn gap(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|d| (Duration::from_micros(1)..=LONGEST_GAP).contains(d))
        .ok_or_else(|| "give times between 1us and 1s with their unit, such as 100us,1ms".into())
}

fn policy(text: &str) -> Result<IdlePolicy, String> {
    let all = IdlePolicy::ALL.into_iter();
    let mut named = all.filter(|policy| *policy != IdlePolicy::AsIsAgain);
    let found = named.find(|policy| policy.name() == text);
    found.ok_or_else(|| "choose from as-is, all-awake, gate, spinner".into())
}

fn wait(text: &str) -> Result<Wait, String> {
    let found = Wait::ALL.into_iter().find(|wait| wait.name() == text);
    found.ok_or_else(|| "choose from futex, eventfd, timer".into())
}

fn placement(text: &str) -> Result<Placement, String> {
    let all = Placement::ALL.into_iter();
    let mut named = all.filter(|placement| *placement != Placement::SameCpu);
    let found = named.find(|placement| placement.name() == text);
    found.ok_or_else(|| "choose from same-core, same-llc, same-socket, other-socket".into())
}

fn arrivals(text: &str) -> Result<Arrivals, String> {
    match text {
        "constant" => Ok(Arrivals::Constant),
        "poisson" => Ok(Arrivals::Poisson),
        _ => Err("choose from constant, poisson".into()),
    }
}

/// Each once.
fn ascending<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list.dedup();
    list
}

impl WakeArgs {
    /// The gaps, ascending.
    pub(super) fn all_gaps(&self) -> Vec<Duration> {
        let us = |list: &[u64]| list.iter().copied().map(Duration::from_micros).collect();
        let usual = || match self.quick {
            true => us(&[100, 1_000, 5_000]),
            false => us(&[10, 100, 1_000, 10_000]),
        };
        ascending(self.gaps.clone().unwrap_or_else(usual))
    }

    pub(super) fn all_waits(&self) -> Vec<Wait> {
        let usual = || match self.quick {
            true => vec![Wait::Futex],
            false => Wait::ALL.to_vec(),
        };
        ascending(self.waits.clone().unwrap_or_else(usual))
    }

    pub(super) fn all_arrivals(&self) -> Vec<Arrivals> {
        let asked = |wanted| match &self.arrivals {
            Some(list) => list.contains(&wanted),
            None => wanted == Arrivals::Constant || !self.quick,
        };
        let both = [Arrivals::Constant, Arrivals::Poisson];
        both.into_iter().filter(|a| asked(*a)).collect()
    }
}

/// For tests: flags as they are written.
#[cfg(test)]
pub(super) fn of(flags: &[&str]) -> Result<WakeArgs, clap::Error> {
    use clap::{Command, FromArgMatches};
    let command = WakeArgs::augment_args(Command::new("wake").no_binary_name(true));
    WakeArgs::from_arg_matches(&command.try_get_matches_from(flags)?)
}
