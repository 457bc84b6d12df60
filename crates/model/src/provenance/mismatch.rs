//! In what two machines differ, as far as measurements can be compared.

use super::{Provenance, Topology};
use crate::{Bytes, counted};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Memory that differs by less than this share is the same memory: the kernel
/// takes its part of it at boot, and not always the same.
const SAME_MEMORY: f64 = 0.05;

/// How many mitigations are spelt out.
const MITIGATIONS_SHOWN: usize = 2;

/// Stands for what is not known of a machine.
const UNKNOWN: &str = "unknown";

/// A respect in which machines can differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Respect {
    /// Its name.
    Host,
    /// The model of the CPU.
    Cpu,
    /// Of the instruction set.
    Architecture,
    /// CPUs that are on, cores, sockets, SMT, NUMA nodes.
    Cpus,
    /// Their sizes.
    Caches,
    /// Its size.
    Memory,
    /// Its version.
    Kernel,
    /// Hypervisor or container.
    Virtualisation,
    /// Of the CPUs' frequency.
    Governor,
    /// Whether the clock may rise above its nominal frequency.
    Boost,
    /// What the kernel does about weaknesses of the CPU.
    Mitigations,
    /// Of the cgroup.
    CpuLimit,
    /// Of the cgroup.
    MemoryLimit,
    /// CPUs that Plimsoll may use.
    AllowedCpus,
    /// Where the kernel's clock comes from.
    ClockSource,
}

impl Respect {
    /// What it is called, after "the same".
    pub fn name(self) -> &'static str {
        match self {
            Respect::Host => "host",
            Respect::Cpu => "CPU model",
            Respect::Architecture => "architecture",
            Respect::Cpus => "CPUs",
            Respect::Caches => "caches",
            Respect::Memory => "memory",
            Respect::Kernel => "kernel",
            Respect::Virtualisation => "virtualisation",
            Respect::Governor => "frequency governor",
            Respect::Boost => "clock boost",
            Respect::Mitigations => "mitigations of CPU weaknesses",
            Respect::CpuLimit => "cgroup CPU limit",
            Respect::MemoryLimit => "cgroup memory limit",
            Respect::AllowedCpus => "CPUs for Plimsoll",
            Respect::ClockSource => "clock source",
        }
    }

    /// Whether trials on both sides of the difference cannot be parts of one
    /// run: it is another machine, or one on which the same work takes other
    /// CPU time. What is left (memory that was not the bound, a clock that is
    /// read otherwise, the CPUs that the shell was started on, for the plan
    /// names its own) can change between two halves of a run and is worth a
    /// remark.
    pub fn bars_resuming(self) -> bool {
        !matches!(
            self,
            Respect::Memory | Respect::MemoryLimit | Respect::AllowedCpus | Respect::ClockSource
        )
    }
}

/// A respect in which two machines do differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mismatch {
    /// The respect.
    pub respect: Respect,
    /// What one is in it.
    pub one: String,
    /// What the other is.
    pub other: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.respect.name();
        write!(f, "{name} {} against {}", self.one, self.other)
    }
}

impl Provenance {
    /// In what this machine differs from another as far as measurements can be
    /// compared; empty when they are alike. What one tells and the other does
    /// not is a difference too.
    pub fn differences(&self, other: &Provenance) -> Vec<Mismatch> {
        let mut out = Vec::new();
        let mut hold = |respect, of: &dyn Fn(&Provenance) -> String| {
            let (one, other) = (of(self), of(other));
            if one != other {
                out.push(Mismatch {
                    respect,
                    one,
                    other,
                });
            }
        };
        hold(Respect::Host, &|p| shown(p.hostname.as_ref()));
        hold(Respect::Cpu, &|p| shown(p.cpu_model.as_ref()));
        hold(Respect::Architecture, &|p| shown(p.architecture.as_ref()));
        hold(Respect::Cpus, &|p| cpus(&p.topology));
        // Another CPU has other caches, and that was said.
        if self.cpu_model == other.cpu_model {
            hold(Respect::Caches, &|p| caches(&p.topology));
        }
        if !is_same_memory(self.memory, other.memory) {
            hold(Respect::Memory, &|p| shown(p.memory.as_ref()));
        }
        hold(Respect::Kernel, &|p| shown(p.kernel.as_ref()));
        hold(Respect::Virtualisation, &|p| {
            seen(p.virtualisation.as_ref())
        });
        hold(Respect::Governor, &|p| shown(p.governor.as_ref()));
        hold(Respect::Boost, &|p| {
            let on = p.boost.map(|on| if on { "on" } else { "off" });
            shown(on.as_ref())
        });
        hold(Respect::Mitigations, &|p| mitigations(p, self, other));
        hold(Respect::CpuLimit, &|p| {
            seen(p.cgroup_cpu_limit.map(|n| counted(n, "CPU", "CPUs")))
        });
        hold(Respect::MemoryLimit, &|p| seen(p.cgroup_memory_limit));
        let may_use_all = |p: &Provenance| p.topology.allowed == p.topology.online;
        if !(may_use_all(self) && may_use_all(other)) {
            hold(Respect::AllowedCpus, &|p| set(&p.topology.allowed));
        }
        hold(Respect::ClockSource, &|p| shown(p.clock_source.as_ref()));
        out
    }
}

fn shown<T: fmt::Display>(value: Option<&T>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), ToString::to_string)
}

/// For what a machine may be without.
fn seen(value: Option<impl fmt::Display>) -> String {
    value.map_or_else(|| "none seen".to_owned(), |value| value.to_string())
}

fn set(cpus: &crate::CpuSet) -> String {
    shown(Some(cpus).filter(|cpus| !cpus.is_empty()))
}

/// `0-7 (4 cores, 1 socket, 2 threads per core)`, as far as it is known.
fn cpus(topology: &Topology) -> String {
    let part = |n: Option<u32>, one, many| n.map(|n| counted(n, one, many));
    let threads = topology.threads_per_core;
    let parts = [
        part(topology.cores, "core", "cores"),
        part(topology.sockets, "socket", "sockets"),
        part(threads, "thread per core", "threads per core"),
        part(topology.numa_nodes, "NUMA node", "NUMA nodes"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let online = set(&topology.online);
    match parts.is_empty() {
        true => online,
        false => format!("{online} ({})", parts.join(", ")),
    }
}

fn caches(topology: &Topology) -> String {
    let caches = topology.caches.iter();
    let caches: Vec<String> = caches.map(|c| format!("{} {}", c.name, c.size)).collect();
    let known = Some(caches.join(", ")).filter(|text| !text.is_empty());
    shown(known.as_ref())
}

fn is_same_memory(one: Option<Bytes>, other: Option<Bytes>) -> bool {
    match (one, other) {
        (Some(Bytes(a)), Some(Bytes(b))) => a.abs_diff(b) as f64 <= SAME_MEMORY * a.max(b) as f64,
        (a, b) => a == b,
    }
}

/// What a machine does about those weaknesses in which the two differ.
fn mitigations(of: &Provenance, one: &Provenance, other: &Provenance) -> String {
    let (a, b) = (&one.mitigations, &other.mitigations);
    if a.is_empty() || b.is_empty() {
        return match of.mitigations.len() {
            0 => UNKNOWN.to_owned(),
            n => format!("{n} known"),
        };
    }
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| a.get(*name) != b.get(*name));
    let spelt = names.iter().take(MITIGATIONS_SHOWN);
    let mut parts: Vec<String> = spelt
        .map(|name| format!("{name}: {}", shown(of.mitigations.get(*name))))
        .collect();
    let more = names.len().saturating_sub(MITIGATIONS_SHOWN);
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests;
