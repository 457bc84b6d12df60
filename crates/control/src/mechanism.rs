//! The mechanisms that restrict a batch command, how each works on this machine,
//! and what is lost where the best means is missing. Plain data and sentences.

use std::collections::BTreeMap;
use std::fmt;

/// A setting of a group of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mechanism {
    /// CPU share relative to other tasks that want a CPU.
    Weight,
    /// Runs only when no other task wants the CPU.
    Idle,
    /// Maximum CPU time per period.
    Quota,
    /// The CPUs that it may run on.
    CpuSet,
    /// Stop and continue.
    Freeze,
    /// End all its processes at once.
    Kill,
    /// Memory use above which it is throttled and its memory reclaimed.
    MemoryHigh,
    /// Memory use above which it is killed.
    MemoryMax,
    /// I/O weight.
    Io,
}

impl Mechanism {
    pub const ALL: [Mechanism; 9] = [
        Mechanism::Weight,
        Mechanism::Idle,
        Mechanism::Quota,
        Mechanism::CpuSet,
        Mechanism::Freeze,
        Mechanism::Kill,
        Mechanism::MemoryHigh,
        Mechanism::MemoryMax,
        Mechanism::Io,
    ];

    /// Its name, and the controllers that it needs in version 2 and in version 1 of
    /// cgroups.
    fn row(self) -> (&'static str, Option<&'static str>, Option<&'static str>) {
        match self {
            Mechanism::Weight => ("a CPU weight", Some("cpu"), Some("cpu")),
            Mechanism::Idle => ("idle scheduling", Some("cpu"), Some("cpu")),
            Mechanism::Quota => ("a CPU quota", Some("cpu"), Some("cpu")),
            Mechanism::CpuSet => ("a set of CPUs", Some("cpuset"), Some("cpuset")),
            Mechanism::Freeze => ("freezing", None, Some("freezer")),
            Mechanism::Kill => ("killing as a whole", None, None),
            // The soft limit of version 1 applies only once the machine itself is
            // short of memory.
            Mechanism::MemoryHigh => ("a memory limit that slows down", Some("memory"), None),
            Mechanism::MemoryMax => ("a memory limit that kills", Some("memory"), Some("memory")),
            Mechanism::Io => ("an I/O weight", Some("io"), None),
        }
    }

    /// The controller of cgroup version 2 that it needs; `None` if every group supports
    /// it.
    pub(crate) fn controller_v2(self) -> Option<&'static str> {
        self.row().1
    }

    /// The controller of version 1 that it needs; `None` if version 1 has none that
    /// current kernels honour.
    pub(crate) fn controller_v1(self) -> Option<&'static str> {
        self.row().2
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().0)
    }
}

/// By which means a mechanism works here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    /// By a cgroup, which includes all processes that the command starts.
    Group,
    /// By a weaker fallback.
    Instead {
        /// The fallback.
        by: &'static str,
        /// Why a cgroup is unavailable; a sentence without its full stop.
        because: String,
        /// What the fallback lacks; a sentence without its full stop.
        lost: &'static str,
    },
    Missing {
        /// A sentence without its full stop.
        because: String,
    },
}

/// How much cgroup support there is, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CgroupSupport {
    /// A cgroup of our own supports all requested mechanisms.
    Group,
    /// A cgroup of our own supports some of them.
    PartOfGroup,
    /// No cgroup: scheduling class `SCHED_IDLE`, nice, affinity, and signals to the
    /// process group and its descendants.
    IdleTree,
    /// As `IdleTree`, but this system refuses `SCHED_IDLE`: `SCHED_BATCH` where
    /// allowed, and nice.
    NiceTree,
}

impl CgroupSupport {
    /// Whether the command runs in a cgroup of our own.
    pub fn has_group(self) -> bool {
        matches!(self, CgroupSupport::Group | CgroupSupport::PartOfGroup)
    }

    /// What is lacking compared with a full cgroup, one sentence each.
    fn losses(self) -> &'static [&'static str] {
        const TREE: [&str; 5] = [
            "There is no limit on CPU time, memory or disks.",
            "CPU time of children that end unseen is not counted.",
            "A process that is stopped by a signal shows that to its parent, and a shell may report it.",
            "If Plimsoll is killed while the command stands still, the kernel ends the command too.",
            "It competes for the CPU with nice 19 and does not wait until nobody else wants it.",
        ];
        match self {
            CgroupSupport::Group | CgroupSupport::PartOfGroup => &[],
            CgroupSupport::IdleTree => &TREE[..4],
            CgroupSupport::NiceTree => &TREE,
        }
    }
}

/// The mechanisms available here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    pub support: CgroupSupport,
    /// The means of each requested mechanism.
    pub means: BTreeMap<Mechanism, Means>,
    /// Whether orphans are adopted: see
    /// [`CgroupLayout::keeping_orphans`](crate::CgroupLayout::keeping_orphans).
    pub keeps_orphans: bool,
    /// Further losses, one sentence each.
    pub notes: Vec<String>,
}

impl Capabilities {
    /// Whether the mechanism is available by any means.
    pub fn can(&self, mechanism: Mechanism) -> bool {
        !matches!(
            self.means.get(&mechanism),
            None | Some(Means::Missing { .. })
        )
    }

    /// Whether a cgroup provides the mechanism.
    pub fn by_group(&self, mechanism: Mechanism) -> bool {
        self.means.get(&mechanism) == Some(&Means::Group)
    }

    /// Why the mechanism is missing or not provided by a cgroup; `None` if a cgroup
    /// provides it.
    pub fn reason(&self, mechanism: Mechanism) -> Option<&str> {
        match self.means.get(&mechanism) {
            Some(Means::Group) => None,
            Some(Means::Instead { because, .. } | Means::Missing { because }) => Some(because),
            None => Some("it was not asked for when the group was made"),
        }
    }

    /// All losses, one sentence each.
    pub fn losses(&self) -> Vec<String> {
        let orphans = match (self.support.has_group(), self.keeps_orphans) {
            (true, _) => None,
            (false, true) => Some(
                "Children that leave the process group and outlive their parent are held and \
                 ended; if Plimsoll is killed, they stay as they are until `plimsoll repair`.",
            ),
            (false, false) => {
                Some("Children that leave the process group and outlive their parent are not held.")
            }
        };
        let general = orphans.iter().chain(self.support.losses());
        let mut lost: Vec<String> = general.copied().map(String::from).collect();
        for (mechanism, means) in &self.means {
            let subject = capital(&mechanism.to_string());
            match means {
                Means::Group => {}
                Means::Instead {
                    by,
                    because,
                    lost: what,
                } => lost.push(format!(
                    "{subject} is done by {by}, because {because}: {what}."
                )),
                Means::Missing { because } => {
                    lost.push(format!("{subject} is unavailable: {because}."));
                }
            }
        }
        lost.extend(self.notes.iter().cloned());
        lost
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next();
    first
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(chars)
        .collect()
}
