//! What machine and what program a record comes from.

mod mismatch;

pub use mismatch::{Mismatch, Respect};

use crate::{Bytes, CpuSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine and the program. What the machine does not state is `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The version of Plimsoll that measured.
    pub plimsoll_version: String,
    /// The machine's name.
    pub hostname: Option<String>,
    /// The CPU's name, as it gives it.
    pub cpu_model: Option<String>,
    /// x86_64, aarch64, …
    pub architecture: Option<String>,
    /// How its CPUs hang together.
    pub topology: Topology,
    /// The frequency governor, if all CPUs have the same.
    pub governor: Option<String>,
    /// Whether the clock may rise above its nominal frequency.
    pub boost: Option<bool>,
    /// The running kernel.
    pub kernel: Option<String>,
    /// CPU weaknesses and what the kernel does about each.
    pub mitigations: BTreeMap<String, String>,
    /// kvm, vmware, container, …; `None` for metal or unknown.
    pub virtualisation: Option<String>,
    /// The CPU limit of the cgroup that Plimsoll runs in, in CPUs.
    pub cgroup_cpu_limit: Option<f64>,
    /// The memory limit of that cgroup, in bytes.
    #[serde(rename = "cgroup_memory_limit_bytes")]
    pub cgroup_memory_limit: Option<Bytes>,
    /// The version of cgroups in use, 1 or 2.
    pub cgroup_version: Option<u8>,
    /// All memory, in bytes.
    #[serde(rename = "memory_bytes")]
    pub memory: Option<Bytes>,
    /// Where the kernel's clock comes from: tsc, kvm-clock, …
    pub clock_source: Option<String>,
    /// Steal since boot, as a share of all CPU time.
    pub steal_since_boot_share: Option<f64>,
}

/// How the CPUs hang together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// CPUs that are on.
    pub online: CpuSet,
    /// CPUs that Plimsoll may use.
    pub allowed: CpuSet,
    /// Sockets.
    pub sockets: Option<u32>,
    /// Cores that have at least one CPU on.
    pub cores: Option<u32>,
    /// CPUs per core: 1 without SMT.
    pub threads_per_core: Option<u32>,
    /// NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// Caches of the first CPU.
    pub caches: Vec<CacheSize>,
}

/// One cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CacheSize {
    /// L1d, L1i, L2, L3.
    pub name: String,
    /// Its size in bytes.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
}
