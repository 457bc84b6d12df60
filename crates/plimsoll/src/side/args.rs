//! The flags of `plimsoll side`.

use clap::{Args, ValueEnum};
use plimsoll_experiments::args::value::size_from;
use plimsoll_law::Headroom;
use plimsoll_model::{Bytes, parse_duration};
use plimsoll_side::{CpuMechanism, GuardSpec};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const SIDE_HELP: &str = "\
What --mechanism does:
  weight  Least CPU weight: the kernel lets go at once; frozen only if the
          service needs the headroom. A cgroup, else nice 19.
  idle    Idle scheduling: runs only while nobody else wants the CPU; frozen
          like that. cpu.idle of a cgroup, else SCHED_IDLE.
  quota   What is idle beyond the headroom, as CPU time in every 10 ms. Needs
          a cgroup.
  cpuset  The same as whole CPUs, one at least, else frozen. A cgroup, else
          affinity.
  auto    What plimsoll yield found best here, if it did, on the same kernel
          and CPU; else the best guess: weight if a cgroup can have one, else
          idle.

What --guard asks; over its limit, the sideload gets half of what it uses, or
under weight and idle nothing:
  run-delay[<50%] [pid N | cgroup NAME]
          Of the time that a process, a cgroup or everything else wanted a CPU,
          the part in which it waited for one.
  psi[<20%] [cgroup NAME]
          The part of the time in which some task waited for a CPU; without a
          cgroup, those of the sideload count too.
  http URL p99<10ms
          Asks ten times a second; p50 or p99 of the last two seconds.
  prometheus URL EXPR<LIMIT
          One number, asked for once a second.
A guard that cannot be read lets the sideload shrink and not grow, and stops it
after five periods.

Memory beyond --memory is taken back: what was read from files first, then to
swap, on which no limit is set. Without swap a command that needs more comes
nearly to a standstill, and is not killed; only --memory-max kills. Both need a
cgroup; cgroup version 1 has --memory-max alone.

A command that has stood still for 10 s is reported, once, also with --quiet. It
waits for as long as others need the CPU: Ctrl-C ends it, and timeout(1) before
`plimsoll side` limits the wait.

Decisions come each second under weight and idle, where the kernel lets go by
itself, else twice a second: a share must follow the service.

Examples:
  plimsoll side -- make -j8
        a build in what the machine has left beside 20 % headroom
  plimsoll side --guard 'http http://localhost:8080/ p99<20ms' -- ./batch
        the same, and less of it while the server is slow
  plimsoll side --headroom 30% --memory 2GiB --log side.jsonl -- ./batch
        more caution, less memory, and each decision with its reason
  plimsoll side --as sysload -- make -j8
        the same with no care, to see what the care is worth

Exit status: that of CMD, 128 + N if signal N ended it, 126 if it cannot be run,
127 if it is not there; 1 if it could not be held to its end, 2 for a mistake in
what was asked.";

#[derive(Debug, Args)]
#[command(after_help = SIDE_HELP)]
pub(crate) struct SideArgs {
    /// The command, after `--`.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,

    /// The share of the CPUs that is to stay free, 1% to 90% (default: 20%).
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub(crate) headroom: Option<Headroom>,

    /// What holds the command.
    #[arg(
        long,
        value_name = "HOW",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) mechanism: MechanismChoice,

    /// SLO guard, such as 'http URL p99<10ms' (default: run-delay<50%). Repeatable.
    #[arg(long = "guard", value_name = "GUARD")]
    pub(crate) guards: Vec<GuardSpec>,

    /// Beyond so much memory, such as 2GiB, it is slowed down and memory is taken back.
    #[arg(long, value_name = "SIZE", value_parser = bytes, allow_hyphen_values = true)]
    pub(crate) memory: Option<Bytes>,

    /// Beyond so much memory, it is killed.
    #[arg(long, value_name = "SIZE", value_parser = bytes, allow_hyphen_values = true)]
    pub(crate) memory_max: Option<Bytes>,

    /// Set the lowest I/O weight.
    #[arg(long)]
    pub(crate) io: bool,

    /// How often to decide (default: 1s under weight and idle, else 500ms).
    #[arg(long, value_name = "TIME", value_parser = period)]
    pub(crate) period: Option<Duration>,

    /// Log each decision, what was seen and why, as JSON lines; `plimsoll replay` reads it.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// With care as a sideload, or with none as a sysload: nothing holds it.
    #[arg(long = "as", value_name = "WHAT", default_value = "sideload")]
    pub(crate) run_as: RunAs,

    /// Say nothing but what is wrong.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What holds the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MechanismChoice {
    /// The best guess for this machine.
    Auto,
    /// The least CPU weight.
    Weight,
    /// Idle scheduling.
    Idle,
    /// CPU time in every 10 ms.
    Quota,
    /// Whole CPUs.
    Cpuset,
}

impl From<MechanismChoice> for Option<CpuMechanism> {
    fn from(choice: MechanismChoice) -> Option<CpuMechanism> {
        match choice {
            MechanismChoice::Auto => None,
            MechanismChoice::Weight => Some(CpuMechanism::Weight),
            MechanismChoice::Idle => Some(CpuMechanism::Idle),
            MechanismChoice::Quota => Some(CpuMechanism::Quota),
            MechanismChoice::Cpuset => Some(CpuMechanism::CpuSet),
        }
    }
}

/// With how much care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunAs {
    /// Within the headroom.
    Sideload,
    /// With none.
    Sysload,
}

/// The law's periods: below, the kernel's clock ticks are all that is seen.
fn period(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|d| (Duration::from_millis(100)..=Duration::from_secs(10)).contains(d))
        .ok_or_else(|| "give a time between 100ms and 10s with its unit, such as 1s".into())
}

/// Less than a mebibyte holds no program.
fn bytes(text: &str) -> Result<Bytes, String> {
    size_from(Bytes(1 << 20), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_need_a_unit_and_make_sense() {
        assert_eq!(bytes("2GiB"), Ok(Bytes(2 << 30)));
        assert_eq!(bytes("1.5 MiB"), Ok(Bytes(3 << 19)));
        for same in ["2G", "2g", "2gib", "2048M", "2 GiB", "2097152K"] {
            assert_eq!(bytes(same), Ok(Bytes(2 << 30)), "{same}");
        }
        for bad in [
            "0GiB", "-1GiB", "2", "1KiB", "NaNGiB", "infTiB", "", "2Gi", "2GiBs", "2X", "G", "2é",
        ] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
        assert!(bytes("10MB").unwrap_err().contains("write 10MiB"));
    }

    #[test]
    fn periods_are_no_shorter_than_the_clock_shows() {
        assert!(period("1s").is_ok());
        for bad in ["10ms", "0s", "1", "1m", "-1s"] {
            assert!(period(bad).is_err(), "{bad}");
        }
    }
}
