//! Signals to processes that may end at any moment, so that their PIDs may be
//! reused: each signal goes through a pidfd that is opened first and then checked.

use crate::error::ControlError;
use plimsoll_host::{HostError, Pid, ProcessStat, Root};
use rustix::io::Errno;
use rustix::process::{
    Pid as RawPid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

const SENT: &str = "sent a signal";

/// Identifies a process even if its PID is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessKey {
    pub(crate) pid: Pid,
    /// In clock ticks since boot, from /proc/PID/stat.
    pub(crate) started: u64,
}

impl ProcessKey {
    pub(crate) fn of(stat: &ProcessStat) -> ProcessKey {
        ProcessKey {
            pid: stat.pid,
            started: stat.started,
        }
    }

    /// The process that has this PID now.
    pub(crate) fn now(root: &Root, pid: Pid) -> Result<Option<ProcessKey>, HostError> {
        Ok(ProcessStat::read(root, pid)?.as_ref().map(ProcessKey::of))
    }

    pub(crate) fn lives(self, root: &Root) -> Result<bool, HostError> {
        let now = ProcessStat::read(root, self.pid)?;
        Ok(now.is_some_and(|stat| ProcessKey::of(&stat) == self && !stat.has_ended()))
    }
}

/// Sends a signal to `pid` if `still` holds once the pidfd is open. Does nothing if
/// the process is gone.
pub(crate) fn signal(
    pid: Pid,
    signal: Signal,
    still: impl FnOnce() -> Result<bool, ControlError>,
) -> Result<(), ControlError> {
    let Some(raw) = raw(pid) else {
        return Ok(());
    };
    let sent = match pidfd_open(raw, PidfdFlags::empty()) {
        Ok(fd) => match still()? {
            true => pidfd_send_signal(fd, signal),
            false => Ok(()),
        },
        // Linux before 5.3, or a sandbox: signal by PID, with a short race.
        Err(Errno::NOSYS | Errno::PERM) => match still()? {
            true => kill_process(raw, signal),
            false => Ok(()),
        },
        Err(errno) => Err(errno),
    };
    outcome(sent, pid, SENT)
}

/// The result of a system call on a process or thread. One that has ended is no
/// error; `verb` is the failed action, as a participle.
pub(crate) fn outcome(
    result: Result<(), Errno>,
    pid: Pid,
    verb: &'static str,
) -> Result<(), ControlError> {
    let path = PathBuf::from(format!("/proc/{pid}"));
    match result {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(Errno::PERM | Errno::ACCESS) => Err(ControlError::Denied { path }),
        Err(errno) => Err(ControlError::file(&path, verb, errno.into())),
    }
}

/// The PID as system calls take it; `None` for 0, the caller.
pub(crate) fn raw(pid: Pid) -> Option<RawPid> {
    i32::try_from(pid).ok().and_then(RawPid::from_raw)
}

/// Sends a signal to a process identified by PID and start time.
pub(crate) fn signal_process(
    root: &Root,
    process: ProcessKey,
    number: Signal,
) -> Result<(), ControlError> {
    signal(process.pid, number, || Ok(process.lives(root)?))
}

/// Sends a signal to the process group of `leader`, unless the leader's PID was
/// reused. An empty process group is no error.
pub(crate) fn signal_group(
    root: &Root,
    leader: ProcessKey,
    signal: Signal,
) -> Result<(), ControlError> {
    let Some(raw) = raw(leader.pid) else {
        return Ok(());
    };
    // A zombie keeps its PID.
    if ProcessKey::now(root, leader.pid)? != Some(leader) {
        return Ok(());
    }
    outcome(kill_process_group(raw, signal), leader.pid, SENT)
}

/// A command and its processes, without a cgroup: the process group of its leader,
/// and all descendants of its members.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree {
    pub(crate) leader: ProcessKey,
    /// A process whose children also belong to the tree, because it adopts the tree's
    /// orphans and has no other children.
    pub(crate) adopter: Option<Pid>,
}

impl Tree {
    /// Without orphans that have left the process group.
    pub(crate) fn of(leader: ProcessKey) -> Tree {
        let adopter = None;
        Tree { leader, adopter }
    }

    /// The members that have not ended, unordered. Empty if the leader's PID was
    /// reused.
    pub(crate) fn members(self, root: &Root) -> Result<Vec<ProcessStat>, HostError> {
        Ok(members(ProcessStat::all(root)?, self))
    }

    /// Ended orphans that the adopter must reap.
    pub(crate) fn ended_orphans(self, root: &Root) -> Result<Vec<ProcessStat>, HostError> {
        let Some(adopter) = self.adopter else {
            return Ok(Vec::new());
        };
        let mut ended = ProcessStat::all(root)?;
        ended.retain(|l| l.parent == adopter && l.has_ended() && ProcessKey::of(l) != self.leader);
        Ok(ended)
    }
}

fn members(mut others: Vec<ProcessStat>, tree: Tree) -> Vec<ProcessStat> {
    let leader = tree.leader;
    let reused = |l: &ProcessStat| l.pid == leader.pid && l.started != leader.started;
    if others.iter().any(reused) {
        return Vec::new();
    }
    others.retain(|l| l.started >= leader.started && l.pid != std::process::id());
    let mut found: Vec<ProcessStat> = Vec::new();
    loop {
        let (new, rest): (Vec<ProcessStat>, Vec<ProcessStat>) = others.into_iter().partition(|l| {
            l.pid == leader.pid
                || l.group == leader.pid
                || Some(l.parent) == tree.adopter
                || found.iter().any(|f| f.pid == l.parent)
        });
        if new.is_empty() {
            break;
        }
        found.extend(new);
        others = rest;
    }
    found.retain(|l| !l.has_ended());
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::CpuTime;

    fn process(pid: Pid, parent: Pid, group: Pid, started: u64) -> ProcessStat {
        ProcessStat {
            pid,
            started,
            parent,
            group,
            state: 'S',
            own: CpuTime::ZERO,
            reaped: CpuTime::ZERO,
            threads: 1,
        }
    }

    const LEADER: ProcessKey = ProcessKey {
        pid: 900_010,
        started: 50,
    };

    fn pids(others: Vec<ProcessStat>) -> Vec<Pid> {
        pids_of(Tree::of(LEADER), others)
    }

    fn pids_of(tree: Tree, others: Vec<ProcessStat>) -> Vec<Pid> {
        let mut pids: Vec<Pid> = members(others, tree).iter().map(|l| l.pid).collect();
        pids.sort_unstable();
        pids
    }

    #[test]
    fn a_tree_is_the_process_group_and_its_descendants() {
        let leader = process(900_010, 1, 900_010, 50);
        let in_group = process(900_011, 1, 900_010, 51);
        let left_group = process(900_012, 900_011, 900_012, 52);
        let its_child = process(900_013, 900_012, 900_012, 53);
        let other = process(900_014, 1, 900_014, 54);
        let all = vec![its_child, other, left_group, in_group, leader];
        assert_eq!(pids(all), [900_010, 900_011, 900_012, 900_013]);
    }

    #[test]
    fn adopted_orphans_belong_to_the_tree() {
        let adopter = 900_001;
        let leader = process(900_010, adopter, 900_010, 50);
        let orphan = process(900_012, adopter, 900_012, 52);
        let its_child = process(900_013, 900_012, 900_012, 53);
        let of_init = process(900_014, 1, 900_014, 54);
        let all = vec![its_child, of_init, orphan, leader];
        assert_eq!(pids(all.clone()), [900_010]);
        let tree = Tree {
            leader: LEADER,
            adopter: Some(adopter),
        };
        assert_eq!(pids_of(tree, all), [900_010, 900_012, 900_013]);
    }

    #[test]
    fn the_group_outlives_its_leader_until_the_pid_is_reused() {
        let member = process(900_011, 1, 900_010, 51);
        assert_eq!(pids(vec![member]), [900_011]);
        let reused = process(900_010, 1, 900_010, 70);
        assert_eq!(pids(vec![member, reused]), [] as [Pid; 0]);
    }

    #[test]
    fn older_and_ended_processes_are_no_members() {
        let older = process(900_011, 1, 900_010, 49);
        let mut ended = process(900_010, 1, 900_010, 50);
        ended.state = 'Z';
        assert_eq!(pids(vec![older, ended]), [] as [Pid; 0]);
    }
}
