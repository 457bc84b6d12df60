//! Who a process is: what tells it from a later one with the same number.

use crate::error::HostError;
use crate::process::{Pid, ProcessStat, processes};
use crate::root::Root;
use plimsoll_model::CpuTime;

/// One life of a process number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// Its number.
    pub pid: Pid,
    /// When it started, in clock ticks since boot: together with the number,
    /// who it is.
    pub started: u64,
    /// The process that started it, or that has taken it over.
    pub parent: Pid,
    /// The number of its process group.
    pub group: Pid,
    /// The letter of its first thread's state in /proc/PID/stat: `R` runs, `T`
    /// is stopped, `Z` has ended and nobody has asked how.
    pub state: char,
    /// CPU time of all its threads and of the children that it has waited for.
    pub cpu: CpuTime,
}

impl Life {
    /// Whether it has ended, and only its number is still taken.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    fn of(stat: &ProcessStat) -> Life {
        Life {
            pid: stat.pid,
            started: stat.started,
            parent: stat.ppid,
            group: stat.group,
            state: stat.state,
            cpu: stat.own + stat.reaped,
        }
    }
}

/// The process that has this number now; `None` when there is none.
///
/// # Errors
/// When /proc/PID/stat is there but does not tell.
pub fn life(root: &Root, pid: Pid) -> Result<Option<Life>, HostError> {
    Ok(ProcessStat::read(root, pid)?.as_ref().map(Life::of))
}

/// All processes that can be seen.
///
/// # Errors
/// When /proc does not tell.
pub fn lives(root: &Root) -> Result<Vec<Life>, HostError> {
    let mut found = Vec::new();
    for pid in processes(root)? {
        if let Some(stat) = ProcessStat::read_if_shown(root, pid)? {
            found.push(Life::of(&stat));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::{FakeProcess, FakeTree};

    #[test]
    fn a_number_that_was_given_again_is_another_life() {
        let tree = FakeTree::new();
        tree.process(&FakeProcess::ANY);
        let first = life(tree.root(), 100).unwrap().unwrap();
        assert_eq!((first.started, first.parent, first.group), (5, 1, 100));
        tree.process(&FakeProcess {
            started: 6,
            ..FakeProcess::ANY
        });
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
