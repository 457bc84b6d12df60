//! The flags of `plimsoll gate`.

use super::latency::{Latency, MeansChoice};
use clap::{Args, ValueEnum};
use plimsoll_experiments::args::value::{cgroup, pid};
use plimsoll_host::Pid;
use plimsoll_law::HoldRule;
use plimsoll_model::{Share, parse_duration};
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

const GATE_HELP: &str = "\
What --latency means: idle states that take longer to leave are not used on held
CPUs. The time is snapped to the boundary below it: with C1 (1us), C1E (4us) and
C6 (170us), 5us permits C1E. Below each state only polling is left (as with
poll), which is said. Above each state the limit has no effect: it is refused,
or, in a virtual machine whose states hide what the host does, a spinner is used.

What --means does (auto: the first that works; what does not is said):
  limit    A limit on the CPU's wake-up latency (pm_qos_resume_latency_us).
  disable  Idle states of the CPU are switched off.
  spinner  A thread of class SCHED_IDLE spins on the CPU: for virtual machines
           without idle states, or whose states hide what the host does. It
           stops where the host takes time away (steal).
  haltpoll, global   As limit, but for all CPUs; never chosen by auto.

What --rule does with a held CPU on which no task runs:
  rent        Released when holding it has cost as much as one wake-up (--hold),
              sooner where recent gaps were long.
  break-even  Released after --hold.
  last-ran    Held while a followed task has it as its last CPU, for ever.

A core is held with all its hardware threads. Tasks are looked for 50 times a
second, more often with a --hold below 100ms, and at once when they move to
another CPU where the kernel tells (root, or perf_event_paranoid below 2).

Examples:
  plimsoll gate --latency 5us -- ./server
        keep CPUs awake on which the server runs
  plimsoll gate --latency poll --pid 1234 --prove
        the same for a running process; measure what it gains and burns
  plimsoll gate --latency 20us --unit redis --budget 5% --log gate.jsonl
        burn at most 5 % of all CPU time; `plimsoll replay` reads the log

Exit status: that of CMD, 128 + N if signal N ended it, 126 if it cannot be run,
127 if it is not there; without CMD 0 when the tasks have ended or at Ctrl-C; 1
if CPUs could not be held, 2 for a mistake in what was asked.";

#[derive(Debug, Args)]
#[command(after_help = GATE_HELP)]
pub(crate) struct GateArgs {
    /// The command, after `--`.
    #[arg(
        last = true,
        value_name = "CMD",
        conflicts_with_all = ["pid", "cgroup", "unit", "comm"]
    )]
    pub(crate) command: Vec<OsString>,

    /// The longest time that a held CPU may take to wake up, such as 5us, or poll.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) latency: Latency,

    /// Follow a process and its descendants.
    #[arg(
        long,
        value_name = "PID",
        value_parser = pid,
        allow_hyphen_values = true,
        conflicts_with_all = ["cgroup", "unit", "comm"]
    )]
    pub(crate) pid: Option<Pid>,

    /// Follow the processes of a cgroup, such as system.slice/redis.service.
    #[arg(long, value_name = "NAME", value_parser = cgroup, conflicts_with_all = ["unit", "comm"])]
    pub(crate) cgroup: Option<String>,

    /// Follow the processes of a systemd unit.
    #[arg(long, value_name = "NAME", conflicts_with = "comm")]
    pub(crate) unit: Option<String>,

    /// Follow all processes of this name (as ps -e shows it).
    #[arg(long, value_name = "NAME")]
    pub(crate) comm: Option<String>,

    /// What keeps CPUs awake.
    #[arg(
        long,
        value_name = "HOW",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) means: MeansChoice,

    /// When an idle CPU is released.
    #[arg(
        long,
        value_name = "RULE",
        default_value = "rent",
        hide_possible_values = true
    )]
    pub(crate) rule: RuleChoice,

    /// The burn of one CPU that avoiding one slow wake-up is worth, 10ms to 10s.
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = hold, allow_hyphen_values = true)]
    pub(crate) hold: Duration,

    /// The most to burn: a share of all CPU time, such as 5%, or a power such as 10W. What an awake CPU costs is then measured for 20 s first, which takes an energy counter.
    #[arg(long, value_name = "SHARE|WATTS", value_parser = budget, allow_hyphen_values = true)]
    pub(crate) budget: Option<Budget>,

    /// Run the tasks on this many CPUs only (whole cores), so that they meet no cold CPU; running ones get theirs back at the end.
    #[arg(long, value_name = "N", value_parser = cpu_count, allow_hyphen_values = true)]
    pub(crate) pool: Option<NonZeroU32>,

    /// Have the CPUs of the pool handle the interrupts of these devices, such as eth0 or virtio3 (as /proc/interrupts names them).
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "pool")]
    pub(crate) irq: Vec<String>,

    /// Alternate between gate and none for 14 s, and report wake-up latency and burn of both.
    #[arg(long)]
    pub(crate) prove: bool,

    /// Log each decision, what was seen and why, as JSON lines; `plimsoll replay` reads it.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// Say nothing but what is wrong.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleChoice {
    Rent,
    BreakEven,
    LastRan,
}

impl From<RuleChoice> for HoldRule {
    fn from(choice: RuleChoice) -> HoldRule {
        match choice {
            RuleChoice::Rent => HoldRule::Rent,
            RuleChoice::BreakEven => HoldRule::BreakEven,
            RuleChoice::LastRan => HoldRule::LastRan,
        }
    }
}

/// The most to burn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Budget {
    Share(Share),
    Watts(f64),
}

fn cpu_count(text: &str) -> Result<NonZeroU32, &'static str> {
    text.parse().map_err(|_| "give a number of CPUs, from 1")
}

fn budget(text: &str) -> Result<Budget, String> {
    let text = text.trim();
    let number = |digits: &str| digits.trim().parse::<f64>().ok();
    let share = text.strip_suffix('%').and_then(number);
    let share = share.and_then(|pct| Share::new(pct / 100.0));
    let watts = text.strip_suffix('W').and_then(number);
    match (share, watts) {
        (Some(share), _) if share > Share::ZERO => Ok(Budget::Share(share)),
        (_, Some(watts)) if watts.is_finite() && watts > 0.0 => Ok(Budget::Watts(watts)),
        _ => Err("give a share of all CPU time such as 5%, above 0% and up to 100%, or a power such as 10W".into()),
    }
}

fn hold(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|d| (Duration::from_millis(10)..=Duration::from_secs(10)).contains(d))
        .ok_or_else(|| "give a time between 10ms and 10s with its unit, such as 100ms".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_positive_shares_or_watts() {
        assert_eq!(budget("5%"), Ok(Budget::Share(Share::new(0.05).unwrap())));
        assert_eq!(budget("10W"), Ok(Budget::Watts(10.0)));
        for bad in [
            "0%",
            "-5%",
            "101%",
            "5",
            "NaN%",
            "infW",
            "-1W",
            "%",
            "5 percent",
        ] {
            assert!(budget(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn holds_have_a_unit_and_a_range() {
        assert_eq!(hold("100ms"), Ok(Duration::from_millis(100)));
        for bad in ["1ms", "11s", "100", "-1s", "abc"] {
            assert!(hold(bad).is_err(), "{bad}");
        }
    }
}
