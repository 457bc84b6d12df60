//! A placement as the journal has it.

use plimsoll_host::{HostError, Pid, Root, TaskStatus, Tid, cgroups_of, thread_started};
use plimsoll_model::{CpuId, CpuSet};
use rustix::thread::CpuSet as Mask;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What tells tasks that placed ones have started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placement {
    pub(crate) pool: CpuSet,
    /// Heirs have started since then, in ticks since boot.
    pub(crate) since: u64,
    /// Of the placed ones.
    pub(crate) kin: BTreeSet<Kin>,
    /// One for each former affinity.
    parts: Vec<Part>,
}

/// Threads that had the same CPUs before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    former: CpuSet,
    threads: BTreeSet<Listed>,
}

/// A placed thread: its process, its number, and its start in ticks since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Listed(Pid, Tid, u64);

impl Listed {
    pub(crate) fn new(pid: Pid, tid: Tid, started: u64) -> Listed {
        Listed(pid, tid, started)
    }

    pub(crate) fn thread(self) -> (Pid, Tid) {
        (self.0, self.1)
    }

    pub(crate) fn started(self) -> u64 {
        self.2
    }

    /// Whether it has not ended, and no other thread has its number.
    pub(crate) fn is_alive(self, root: &Root) -> Result<bool, HostError> {
        Ok(thread_started(root, self.0, self.1)? == Some(self.2))
    }
}

/// What a task keeps that leaves its parent, its session and its process group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Kin {
    pub(crate) uid: u32,
    /// In all hierarchies.
    pub(crate) cgroups: String,
}

impl Kin {
    /// `None` if the process has ended.
    pub(crate) fn of(root: &Root, pid: Pid, status: &TaskStatus) -> Result<Option<Kin>, HostError> {
        let cgroups = cgroups_of(root, pid)?;
        Ok(cgroups.map(|cgroups| Kin {
            uid: status.uid,
            cgroups,
        }))
    }
}

/// More than any machine has here; the kernel takes those that there are.
pub(crate) fn all_cpus() -> CpuSet {
    (0..Mask::MAX_CPU as CpuId).collect()
}

impl Placement {
    pub(crate) fn on(pool: CpuSet, since: u64) -> Placement {
        Placement {
            pool,
            since,
            kin: BTreeSet::new(),
            parts: Vec::new(),
        }
    }

    pub(crate) fn list(&mut self, former: CpuSet, one: Listed) {
        let part = self.parts.iter_mut().find(|part| part.former == former);
        match part {
            Some(part) => {
                part.threads.insert(one);
            }
            None => self.parts.push(Part {
                former,
                threads: BTreeSet::from([one]),
            }),
        }
    }

    /// Forgets threads, and returns them with what they had. The last known affinity stays, for
    /// heirs.
    pub(crate) fn unlist(&mut self, gone: impl Fn(&Listed) -> bool) -> Vec<(CpuSet, Listed)> {
        let usual = self.usual_former().cloned();
        let mut all = Vec::new();
        for part in &mut self.parts {
            let out: Vec<Listed> = part
                .threads
                .iter()
                .filter(|one| gone(one))
                .copied()
                .collect();
            for one in out {
                part.threads.remove(&one);
                all.push((part.former.clone(), one));
            }
        }
        self.parts
            .retain(|part| !part.threads.is_empty() || Some(&part.former) == usual.as_ref());
        all
    }

    /// Threads with what they had before.
    pub(crate) fn threads(&self) -> impl Iterator<Item = (Listed, &CpuSet)> {
        self.parts
            .iter()
            .flat_map(|part| part.threads.iter().map(|one| (*one, &part.former)))
    }

    pub(crate) fn former_of(&self, one: Listed) -> Option<&CpuSet> {
        let part = self.parts.iter().find(|part| part.threads.contains(&one));
        part.map(|part| &part.former)
    }

    /// What most of them had.
    pub(crate) fn usual_former(&self) -> Option<&CpuSet> {
        let most = self.parts.iter().max_by_key(|part| part.threads.len());
        most.map(|part| &part.former)
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(|part| part.threads.len()).sum()
    }
}
