//! Counters and conditions that this machine provides or lacks, for `plimsoll
//! doctor`. A missed requirement never prevents a run.

use crate::cgroup::own_limits;
use crate::clock::ClockMeter;
use crate::energy::EnergyMeter;
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
const MUCH_STEAL: f64 = 0.01;

/// Enough for a thousand connections on each of several CPUs.
const FEW_FILES: u64 = 4096;

/// Clock sources that are read without a system call and do not jump.
const GOOD_CLOCKS: [&str; 2] = ["tsc", "arch_sys_counter"];

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
        ("full clock at light load", governed(root, &topology)),
        ("the same clock at any load", boosted(root)),
        ("a fast clock source", clock(root)),
        ("a view of the whole machine", contained(root)),
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

fn psi(root: &Root) -> Outcome {
    match pressure(root) {
        Ok(Some(_)) => met("/proc/pressure"),
        Ok(None) => missed(
            "how long tasks waited for CPU, memory and disk is not known",
            "boot a kernel 4.20 or later with psi=1",
        ),
        Err(error) => missed(
            format!("how long tasks waited is not known: {error}"),
            "run as root",
        ),
    }
}

fn schedstat(root: &Root) -> Outcome {
    match Source::of(root) {
        Source::Schedstat => met("/proc/PID/schedstat, to the nanosecond"),
        Source::Stat => missed(
            "CPU time of the service is counted in ticks of 10 ms, and how long it waited for a \
             CPU is not known",
            "boot a kernel with CONFIG_SCHED_INFO; or use longer windows",
        ),
    }
}

fn frequency(root: &Root, topology: &Topology) -> Outcome {
    match frequency_hz(root, &topology.online) {
        Ok(Some(hz)) => met(format!("{:.2} GHz now", hz / 1e9)),
        Ok(None) => missed(
            "a clock that rises or falls with the load cannot be told from a change in the work",
            "none in most virtual machines; on metal, load a cpufreq driver",
        ),
        Err(error) => missed(format!("the clock is not known: {error}"), "run as root"),
    }
}

/// Relevant only where threads share cores or the clock frequency changes.
fn busy_clock(root: &Root, topology: &Topology) -> Option<Outcome> {
    const LOST: &str = "how far the clock falls when more is busy cannot be told from what threads \
                        of a core take from each other";
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
            "run as root; where root is refused too, the hypervisor does not give it",
        )),
    }
}

fn energy(root: &Root) -> Outcome {
    match EnergyMeter::open(root) {
        Ok(Some(_)) => met("of the CPU packages (powercap)"),
        Ok(None) => missed(
            "work per joule is not known",
            "none in most virtual machines; on metal, load intel_rapl_msr",
        ),
        Err(error) => missed(
            format!("work per joule is not known: {error}"),
            "run as root",
        ),
    }
}

fn cpus(topology: &Topology) -> Outcome {
    let (online, allowed) = (&topology.online, &topology.allowed);
    if online.is_empty() || allowed.is_empty() {
        return missed(
            "which CPUs there are, and which Plimsoll may use, is not known",
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
            format!("whether there is a limit is not known: {error}"),
            "make sure that /sys/fs/cgroup is mounted",
        ),
        Ok(limits) => match limits.cpu {
            Some(limit) if limit < cpus as f64 => missed(
                format!(
                    "with {limit:.2} of {}, what runs in this cgroup is stopped again and \
                     again within each second, which shows as latency",
                    counted(cpus, "CPU", "CPUs")
                ),
                "run Plimsoll, and the service, outside of the limit or with a higher one",
            ),
            Some(limit) => met(format!(
                "the limit of {limit:.2} CPUs is no less than what there is"
            )),
            None => met("no limit to be seen"),
        },
    }
}

fn open_files(root: &Root) -> Outcome {
    match open_files_limit(root) {
        Some(limit) if limit >= FEW_FILES => met(format!("up to {limit}")),
        Some(limit) => missed(
            format!("no more than about {} connections", limit / 4 * 3),
            "ulimit -n 65536",
        ),
        None => missed(
            "how many connections are possible is not known",
            "mount /proc",
        ),
    }
}

fn smt(topology: &Topology) -> Option<Outcome> {
    Some(match topology.threads_per_core? {
        1 => met("1: CPU use and use of the cores are the same"),
        n => met(format!(
            "{n}: at half the CPU use, much more than half of the capacity may be in use"
        )),
    })
}

fn steal(root: &Root) -> Option<Outcome> {
    let share = steal_since_boot(root)?;
    let pct = share * 100.0;
    Some(if share <= MUCH_STEAL {
        met(format!(
            "the hypervisor took {pct:.1} % of the CPU time since boot"
        ))
    } else {
        missed(
            format!(
                "the hypervisor took {pct:.1} % of the CPU time since boot; trials that it \
                 disturbs do not count"
            ),
            "use an instance with CPUs of its own, not one with shared or burst CPUs",
        )
    })
}

fn governed(root: &Root, topology: &Topology) -> Option<Outcome> {
    let governor = governor(root, &topology.online)?;
    Some(if governor == "performance" {
        met("the governor is 'performance'")
    } else {
        missed(
            format!(
                "the governor '{governor}' lowers it there, so light load looks dearer than it is"
            ),
            "cpupower frequency-set -g performance; or leave it, if that is how it will run",
        )
    })
}

fn boosted(root: &Root) -> Option<Outcome> {
    Some(if boost(root)? {
        missed(
            "boost is on: the clock falls as more cores work, so light load looks cheaper than it is",
            format!(
                "{}; or leave it, if that is how it will run",
                boost_off(root)
            ),
        )
    } else {
        met("boost is off")
    })
}

fn clock(root: &Root) -> Option<Outcome> {
    let source = clock_source(root)?;
    Some(if GOOD_CLOCKS.contains(&source.as_str()) {
        met(source)
    } else {
        missed(
            format!("reading the clock '{source}' may be slow, which costs CPU in every request"),
            "where the CPU's own counter is stable, choose it at boot: clocksource=tsc",
        )
    })
}

fn contained(root: &Root) -> Option<Outcome> {
    let name = container(root)?;
    Some(missed(
        format!(
            "in a container ({name}) the machine's counters include what runs outside, and \
             processes there cannot be seen"
        ),
        "run Plimsoll on the host, or with its PID and network namespaces",
    ))
}

#[cfg(test)]
mod tests;
