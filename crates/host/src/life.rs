//! Process identity: distinguishes a process from a later one with the same
//! PID.

use crate::error::HostError;
use crate::process::{Pid, ProcessStat, processes};
use crate::root::Root;
use plimsoll_model::CpuTime;

/// One process, identified by PID and start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessId {
    pub pid: Pid,
    /// Start time in clock ticks since boot; together with the PID it
    /// identifies the process.
    pub started: u64,
    /// The process that started it, or that adopted it.
    pub parent: Pid,
    /// Process group ID.
    pub group: Pid,
    /// State of its first thread in /proc/PID/stat: `R` running, `T` stopped,
    /// `Z` ended and not yet waited for.
    pub state: char,
    /// CPU time of all its threads and of the children that it has waited for.
    pub cpu: CpuTime,
}

impl ProcessId {
    /// Whether it has ended and only its PID is still in use.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    fn of(stat: &ProcessStat) -> ProcessId {
        ProcessId {
            pid: stat.pid,
            started: stat.started,
            parent: stat.ppid,
            group: stat.group,
            state: stat.state,
            cpu: stat.own + stat.reaped,
        }
    }
}

/// The process that has this PID now.
pub fn life(root: &Root, pid: Pid) -> Result<Option<ProcessId>, HostError> {
    Ok(ProcessStat::read(root, pid)?.as_ref().map(ProcessId::of))
}

/// All visible processes.
pub fn lives(root: &Root) -> Result<Vec<ProcessId>, HostError> {
    let mut found = Vec::new();
    for pid in processes(root)? {
        if let Some(stat) = ProcessStat::read_if_shown(root, pid)? {
            found.push(ProcessId::of(&stat));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::{FakeProcess, FakeTree};

    #[test]
    fn reused_pid_has_another_start_time() {
        let tree = FakeTree::new();
        tree.process(FakeProcess::ANY);
        let first = life(tree.root(), 100).unwrap().unwrap();
        assert_eq!((first.started, first.parent, first.group), (5, 1, 100));
        tree.process(FakeProcess::ANY.started(6));
        let second = life(tree.root(), 100).unwrap().unwrap();
        assert_ne!(first, second);
        assert_eq!(lives(tree.root()).unwrap(), [second]);
        assert_eq!(life(tree.root(), 101).unwrap(), None);
    }

    #[test]
    fn this_process_runs() {
        let own = life(&Root::machine(), std::process::id()).unwrap().unwrap();
        assert!(!own.has_ended());
    }
}
