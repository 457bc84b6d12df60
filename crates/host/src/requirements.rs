//! Counters and conditions that this machine provides or lacks, for `plimsoll
//! doctor`. A missed requirement never prevents a run.

use crate::cgroup::own_limits;
use crate::clock::ClockMeter;
use crate::energy::EnergyMeter;
use crate::error::HostError;
use crate::frequency::{boost, boost_off, frequency_hz, governor};
use crate::pressure::pressure;
use crate::provenance::{clock_source, steal_since_boot};
use crate::root::Root;
use crate::sensors::open_files_limit;
use crate::task::Source;
use crate::topology::topology;
use crate::virtualisation::container;
use plimsoll_model::{Outcome, Requirement, Topology, counted};

/// Steal since boot, as a fraction of CPU time, above which a warning is given.
const STEAL_THRESHOLD: f64 = 0.01;

/// Enough for a thousand connections on each of several CPUs.
const MIN_OPEN_FILES: u64 = 4096;

/// Clock sources that are read without a system call and do not jump.
const FAST_CLOCKS: [&str; 2] = ["tsc", "arch_sys_counter"];

/// All counters and conditions, met or missed. Each name is a noun phrase, so
/// that it can follow "Unavailable on this host:".
pub fn requirements(root: &Root) -> Vec<Requirement> {
    let topology = topology(root);
    let always = [
        ("pressure stall information", psi(root)),
        ("scheduler statistics per thread", schedstat(root)),
        ("clock frequency", frequency(root, &topology)),
        ("energy counter", energy(root)),
        ("all CPUs for Plimsoll", cpus(&topology)),
        ("CPU time without a limit", cpu_limit(root, &topology)),
        ("enough open files", open_files(root)),
    ];
    // Conditions that do not apply to this machine are left out.
    let sometimes = [
        ("threads per core", smt(&topology)),
        ("CPUs of its own", steal(root)),
        ("clock while busy", busy_clock(root, &topology)),
        ("full clock at light load", governor_mode(root, &topology)),
        ("the same clock at any load", boost_state(root)),
        ("a fast clock source", clock(root)),
        ("a view of the whole machine", container_view(root)),
    ];
    let sometimes = sometimes
        .into_iter()
        .filter_map(|(name, outcome)| Some((name, outcome?)));
    always
        .into_iter()
        .chain(sometimes)
        .map(|(name, outcome)| Requirement {
            name: name.to_owned(),
            outcome,
        })
        .collect()
}

fn met(found: impl Into<String>) -> Outcome {
    Outcome::Met {
        found: found.into(),
    }
}

fn missed(lost: impl Into<String>, remedy: impl Into<String>) -> Outcome {
    Outcome::Missed {
        lost: lost.into(),
        remedy: remedy.into(),
    }
}

/// A counter that the kernel has, lacks, or refuses to show.
fn counter<T>(
    read: Result<Option<T>, HostError>,
    found: impl FnOnce(T) -> String,
    lost: &str,
    remedy: &str,
    unknown: &str,
) -> Outcome {
    match read {
        Ok(Some(value)) => met(found(value)),
        Ok(None) => missed(lost, remedy),
        Err(error) => missed(format!("{unknown}: {error}"), "run as root"),
    }
}

fn psi(root: &Root) -> Outcome {
    counter(
        pressure(root),
        |_| "/proc/pressure".to_owned(),
        "waiting times for CPU, memory and disk are unknown",
        "boot a kernel 4.20 or later with psi=1",
        "waiting times are unknown",
    )
}

fn schedstat(root: &Root) -> Outcome {
    match Source::of(root) {
        Source::Schedstat => met("/proc/PID/schedstat, nanosecond resolution"),
        Source::Stat => missed(
            "the service's CPU time has a resolution of 10 ms, and its run delay is unknown",
            "boot a kernel with CONFIG_SCHED_INFO; or use longer windows",
        ),
    }
}

fn frequency(root: &Root, topology: &Topology) -> Outcome {
    counter(
        frequency_hz(root, &topology.online),
        |hz| format!("{:.2} GHz now", hz / 1e9),
        "clock changes under load cannot be distinguished from changes in CPU cost",
        "none in most virtual machines; on metal, load a cpufreq driver",
        "the clock frequency is unknown",
    )
}

/// Relevant only where threads share cores or the clock frequency changes.
fn busy_clock(root: &Root, topology: &Topology) -> Option<Outcome> {
    const LOST: &str = "clock changes under load cannot be distinguished from SMT contention";
    let first = topology.online.iter().take(1).collect();
    let found = ClockMeter::open(root, &first, &mut 1);
    let shares_cores = topology.threads_per_core.is_some_and(|n| n > 1);
    let changes = matches!(frequency_hz(root, &topology.online), Ok(Some(_)));
    match found {
        Ok(Some(_)) => Some(met("APERF and MPERF (/dev/cpu/N/msr)")),
        _ if !shares_cores && !changes => None,
        Ok(None) => Some(missed(
            LOST,
            "modprobe msr, and run as root; most virtual machines and all but x86 CPUs have none",
        )),
        Err(error) => Some(missed(
            format!("{LOST}: {error}"),
            "run as root; if root is refused too, the hypervisor does not provide it",
        )),
    }
}

fn energy(root: &Root) -> Outcome {
    counter(
        EnergyMeter::open(root),
        |meter| meter.source().to_owned(),
        "work per joule is unknown",
        "none in most virtual machines; on metal, load intel_rapl_msr",
        "work per joule is unknown",
    )
}

fn cpus(topology: &Topology) -> Outcome {
    let (online, allowed) = (&topology.online, &topology.allowed);
    if online.is_empty() || allowed.is_empty() {
        return missed(
            "the online and allowed CPUs are unknown",
            "make sure that /proc and /sys are mounted",
        );
    }
    let missing = online.without(allowed);
    if missing.is_empty() {
        return met(counted(online.len(), "CPU", "CPUs"));
    }
    missed(
        format!("the load generator cannot use the CPUs {missing}"),
        format!("start Plimsoll with all CPUs allowed, such as: taskset -c {online} plimsoll"),
    )
}

fn cpu_limit(root: &Root, topology: &Topology) -> Outcome {
    let cpus = topology.online.and(&topology.allowed).len();
    match own_limits(root) {
        Err(error) => missed(
            format!("the CPU limit is unknown: {error}"),
            "make sure that /sys/fs/cgroup is mounted",
        ),
        Ok(limits) => match limits.cpu {
            Some(limit) if limit < cpus as f64 => missed(
                format!(
                    "with a limit of {limit:.2} of {}, processes in this cgroup are throttled many \
                     times per second, which adds latency",
                    counted(cpus, "CPU", "CPUs")
                ),
                "run Plimsoll, and the service, outside of the limit or with a higher one",
            ),
            Some(limit) => met(format!("the limit of {limit:.2} CPUs covers all CPUs")),
            None => met("no visible limit"),
        },
    }
}

fn open_files(root: &Root) -> Outcome {
    match open_files_limit(root) {
        Some(limit) if limit >= MIN_OPEN_FILES => met(format!("up to {limit}")),
        Some(limit) => missed(
            format!("at most about {} connections", limit / 4 * 3),
            "ulimit -n 65536",
        ),
        None => missed(
            "the maximum number of connections is unknown",
            "mount /proc",
        ),
    }
}

fn smt(topology: &Topology) -> Option<Outcome> {
    Some(match topology.threads_per_core? {
        1 => met("1: CPU use and use of the cores are the same"),
        n => met(format!(
            "{n}: at 50 % CPU use, much more than half of the capacity may be in use"
        )),
    })
}

fn steal(root: &Root) -> Option<Outcome> {
    let share = steal_since_boot(root)?;
    let pct = share * 100.0;
    Some(if share <= STEAL_THRESHOLD {
        met(format!(
            "the hypervisor took {pct:.1} % of the CPU time since boot"
        ))
    } else {
        missed(
            format!(
                "the hypervisor took {pct:.1} % of the CPU time since boot; disturbed \
                 trials are invalid"
            ),
            "use an instance with dedicated CPUs, not shared or burstable ones",
        )
    })
}

fn governor_mode(root: &Root, topology: &Topology) -> Option<Outcome> {
    let governor = governor(root, &topology.online)?;
    Some(if governor == "performance" {
        met("the governor is 'performance'")
    } else {
        missed(
            format!(
                "the governor '{governor}' lowers the clock at light load, which overstates the CPU cost there"
            ),
            "cpupower frequency-set -g performance; or keep it if production uses it",
        )
    })
}

fn boost_state(root: &Root) -> Option<Outcome> {
    Some(if boost(root)? {
        missed(
            "boost is on: the clock falls as more cores are busy, which understates the CPU cost of light load",
            format!("{}; or keep it if production uses it", boost_off(root)),
        )
    } else {
        met("boost is off")
    })
}

fn clock(root: &Root) -> Option<Outcome> {
    let source = clock_source(root)?;
    Some(if FAST_CLOCKS.contains(&source.as_str()) {
        met(source)
    } else {
        missed(
            format!(
                "reading the clock '{source}' may be slow, which costs CPU time in every request"
            ),
            "if the CPU's time stamp counter is stable, boot with clocksource=tsc",
        )
    })
}

fn container_view(root: &Root) -> Option<Outcome> {
    let name = container(root)?;
    Some(missed(
        format!(
            "in a container ({name}) the machine's counters include what runs outside, and \
             those processes are not visible"
        ),
        "run Plimsoll on the host, or with its PID and network namespaces",
    ))
}

#[cfg(test)]
mod tests;
