//! Which processes have inherited a placement: a decision on what /proc shows at one moment.

use super::record::Placement;
use crate::tasks::ProcessKey;
use plimsoll_host::{Pid, ProcessStat};
use plimsoll_model::CpuSet;
use std::collections::{BTreeMap, BTreeSet};

/// Why a process may have threads that inherited the placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tie<'a> {
    /// Threads of its own, or of a process that it descends from, were placed; these had such
    /// CPUs before.
    Descent(&'a CpuSet),
    /// None that can be seen: it may have left its parent. It is an heir if it has kin.
    Unseen,
}

/// The processes that may be heirs, with their ties: parents before children.
pub(super) fn ties<'a>(
    mut all: Vec<ProcessStat>,
    placement: &'a Placement,
    caught: &BTreeMap<ProcessKey, &'a CpuSet>,
) -> Vec<(ProcessStat, Tie<'a>)> {
    let own = std::process::id();
    all.sort_by_key(|one| (one.started, one.pid));
    let roots = roots(placement);
    let by_pid: BTreeMap<Pid, ProcessStat> = all.iter().map(|one| (one.pid, *one)).collect();
    let placed = |one: &ProcessStat| {
        let key = ProcessKey::of(one);
        let root = roots.get(&one.pid);
        // A process is not younger than its threads, but one that reuses its number is.
        let root = root.filter(|(first, _)| one.started <= *first);
        root.map(|(_, former)| *former)
            .or_else(|| caught.get(&key).copied())
    };
    let tie = |one: &ProcessStat| {
        let mut climbed = BTreeSet::new();
        let mut at = Some(one);
        while let Some(here) = at.filter(|here| climbed.insert(here.pid)) {
            if let Some(former) = placed(here) {
                return Tie::Descent(former);
            }
            at = by_pid.get(&here.parent);
        }
        Tie::Unseen
    };
    let may = |one: &ProcessStat| one.started >= placement.since || placed(one).is_some();
    // Also one whose first thread has ended: others of it may run on. Of one that has ended, no
    // thread has memory.
    let candidates = all.iter().filter(|one| one.pid != own && may(one));
    candidates.map(|one| (*one, tie(one))).collect()
}

/// Processes of which threads were placed: when the first of these was started, and what it had.
fn roots(placement: &Placement) -> BTreeMap<Pid, (u64, &CpuSet)> {
    let mut roots: BTreeMap<Pid, (u64, &CpuSet)> = BTreeMap::new();
    for (one, former) in placement.threads() {
        let (pid, _) = one.thread();
        let known = roots.entry(pid).or_insert((one.started(), former));
        if one.started() < known.0 {
            *known = (one.started(), former);
        }
    }
    roots
}
