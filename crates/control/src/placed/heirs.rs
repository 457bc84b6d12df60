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

#[cfg(test)]
mod tests {
    use super::super::record::Listed;
    use super::*;

    fn process(pid: Pid, parent: Pid, started: u64) -> ProcessStat {
        ProcessStat {
            pid,
            started,
            parent,
            group: pid,
            session: pid,
            state: 'S',
            own: plimsoll_model::CpuTime::ZERO,
            reaped: plimsoll_model::CpuTime::ZERO,
            threads: 1,
        }
    }

    #[test]
    fn heirs_descend_from_placed_processes_or_are_young() {
        const BASE: Pid = 900_000;
        let former: CpuSet = "0-3".parse().unwrap();
        let other: CpuSet = "1".parse().unwrap();
        let mut placement = Placement::on("1".parse().unwrap(), 100);
        placement.list(former.clone(), Listed::new(BASE, BASE, 50));
        placement.list(other.clone(), Listed::new(BASE, BASE + 1, 60));
        placement.list(other, Listed::new(BASE + 9, BASE + 9, 40));
        let all = vec![
            process(BASE + 5, BASE + 4, 102),
            process(BASE + 4, BASE, 101),
            process(BASE, 1, 50),
            process(BASE + 2, BASE, 51),
            process(BASE + 6, 1, 103),
            process(BASE + 7, 1, 99),
            // It has the number of one that was placed.
            process(BASE + 9, 1, 104),
            // Its first thread has ended, and others may run on.
            ProcessStat {
                state: 'Z',
                ..process(BASE + 10, BASE, 105)
            },
        ];
        let found = ties(all, &placement, &BTreeMap::new());
        let found: Vec<(Pid, bool)> = found
            .iter()
            .map(|(stat, tie)| (stat.pid - BASE, *tie == Tie::Descent(&former)))
            .collect();
        assert_eq!(
            found,
            [
                (0, true),
                (4, true),
                (5, true),
                (6, false),
                (9, false),
                (10, true)
            ]
        );
    }
}
