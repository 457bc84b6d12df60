//! What can be set on a batch command, by what means here, and what is lost
//! where the best means is missing. Plain data and sentences.

use std::collections::BTreeMap;
use std::fmt;

/// Something that can be set on a group of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mechanism {
    /// A share of the CPUs in proportion to others that want them.
    Weight,
    /// Running only when nobody else wants the CPU.
    Idle,
    /// So much CPU time in each period, and no more.
    Quota,
    /// On which CPUs it may run.
    CpuSet,
    /// Standing still, and going on.
    Freeze,
    /// Ending all of it at once.
    Kill,
    /// Beyond how much memory it is slowed down and memory is taken back.
    MemoryHigh,
    /// Beyond how much memory it is killed.
    MemoryMax,
    /// A share of the disks.
    Io,
}

impl Mechanism {
    /// All of them.
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

    /// The controller of cgroup version 2 that it needs; `None` where every
    /// group can do it.
    pub(crate) fn controller_v2(self) -> Option<&'static str> {
        match self {
            Mechanism::Weight | Mechanism::Idle | Mechanism::Quota => Some("cpu"),
            Mechanism::CpuSet => Some("cpuset"),
            Mechanism::MemoryHigh | Mechanism::MemoryMax => Some("memory"),
            Mechanism::Io => Some("io"),
            Mechanism::Freeze | Mechanism::Kill => None,
        }
    }

    /// The controller of version 1 that it needs; `None` where version 1 has
    /// none that current kernels honour.
    pub(crate) fn controller_v1(self) -> Option<&'static str> {
        match self {
            Mechanism::Weight | Mechanism::Idle | Mechanism::Quota => Some("cpu"),
            Mechanism::CpuSet => Some("cpuset"),
            Mechanism::MemoryMax => Some("memory"),
            Mechanism::Freeze => Some("freezer"),
            // Its soft limit counts only once the machine itself is short of memory.
            Mechanism::MemoryHigh | Mechanism::Kill | Mechanism::Io => None,
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mechanism::Weight => "a CPU weight",
            Mechanism::Idle => "idle scheduling",
            Mechanism::Quota => "a CPU quota",
            Mechanism::CpuSet => "a set of CPUs",
            Mechanism::Freeze => "freezing",
            Mechanism::Kill => "killing as a whole",
            Mechanism::MemoryHigh => "a memory limit that slows down",
            Mechanism::MemoryMax => "a memory limit that kills",
            Mechanism::Io => "an I/O weight",
        })
    }
}

/// By what means something is done here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    /// By a cgroup: it holds whatever the command starts.
    Group,
    /// By something weaker.
    Instead {
        /// What that is.
        by: &'static str,
        /// Why it is not a cgroup, a sentence without its end.
        because: String,
        /// What is lost by it, a sentence without its end.
        lost: &'static str,
    },
    /// Not at all.
    Missing {
        /// Why, a sentence without its end.
        because: String,
    },
}

/// How much of a cgroup there is: the rungs of a ladder, from the top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// A cgroup of our own does all that was asked for.
    Group,
    /// A cgroup of our own does some of it.
    PartOfGroup,
    /// No cgroup: scheduling class `SCHED_IDLE`, nice, affinity, and signals to
    /// the process group and its descendants.
    IdleTree,
    /// The same without `SCHED_IDLE`, which this system refuses: `SCHED_BATCH`
    /// where it is allowed, and nice.
    NiceTree,
}

impl Rung {
    /// Whether the command runs in a cgroup of our own.
    pub fn has_group(self) -> bool {
        matches!(self, Rung::Group | Rung::PartOfGroup)
    }

    /// What is lost on this rung against a whole cgroup, whatever is set; each a
    /// sentence.
    fn losses(self) -> &'static [&'static str] {
        const TREE: [&str; 4] = [
            "There is no limit on CPU time, memory or disks.",
            "CPU time of children that end unseen is not counted.",
            "A process that is stopped by a signal shows that to its parent, and a shell may report it.",
            "If Plimsoll is killed while the command stands still, the kernel ends the command too.",
        ];
        match self {
            Rung::Group | Rung::PartOfGroup => &[],
            Rung::IdleTree => &TREE,
            Rung::NiceTree => &[
                TREE[0],
                TREE[1],
                TREE[2],
                TREE[3],
                "It competes for the CPU with nice 19 and does not wait until nobody else wants it.",
            ],
        }
    }
}

/// What can be done here and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Where we stand on the ladder.
    pub rung: Rung,
    /// The means of each mechanism that was asked for.
    pub means: BTreeMap<Mechanism, Means>,
    /// Whether orphans are kept without a cgroup, by taking them over: see
    /// [`CgroupLayout::keeping_orphans`](crate::CgroupLayout::keeping_orphans).
    pub keeps_orphans: bool,
    /// What is lost besides, each a sentence.
    pub notes: Vec<String>,
}

impl Capabilities {
    /// Whether it can be set at all, in whatever way.
    pub fn can(&self, mechanism: Mechanism) -> bool {
        !matches!(
            self.means.get(&mechanism),
            None | Some(Means::Missing { .. })
        )
    }

    /// Whether a cgroup does it.
    pub fn by_group(&self, mechanism: Mechanism) -> bool {
        self.means.get(&mechanism) == Some(&Means::Group)
    }

    /// Why it cannot be done, or not by a cgroup; `None` where it is.
    pub fn reason(&self, mechanism: Mechanism) -> Option<&str> {
        match self.means.get(&mechanism) {
            Some(Means::Group) => None,
            Some(Means::Instead { because, .. } | Means::Missing { because }) => Some(because),
            None => Some("it was not asked for when the group was made"),
        }
    }

    /// All that is lost here, in sentences.
    pub fn losses(&self) -> Vec<String> {
        let orphans = match (self.rung.has_group(), self.keeps_orphans) {
            (true, _) => None,
            (false, true) => Some(
                "Children that leave the process group and outlive their parent are held and \
                 ended, but stay if Plimsoll is killed.",
            ),
            (false, false) => {
                Some("Children that leave the process group and outlive their parent are not held.")
            }
        };
        let lost = orphans.iter().chain(self.rung.losses());
        let mut lost: Vec<String> = lost.map(|s| (*s).into()).collect();
        for (mechanism, means) in &self.means {
            match means {
                Means::Group => {}
                Means::Instead {
                    by,
                    because,
                    lost: what,
                } => lost.push(format!(
                    "{} is done by {by}, because {because}: {what}.",
                    capital(&mechanism.to_string())
                )),
                Means::Missing { because } => {
                    lost.push(format!(
                        "{} cannot be had, because {because}.",
                        capital(&mechanism.to_string())
                    ));
                }
            }
        }
        lost.extend(self.notes.iter().cloned());
        lost
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
