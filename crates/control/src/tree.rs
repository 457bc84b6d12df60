//! Restricts a command and its descendants without a cgroup, by signals and by
//! per-thread settings.

use crate::error::ControlError;
use crate::patience::{PATIENCE, until};
use crate::tasks::{self, Tree, Who};
use plimsoll_host::{Pid, ProcessId, Root};
use plimsoll_model::CpuTime;
use rustix::process::{Pid as RawPid, Signal, WaitOptions, waitpid};
use std::fs;

/// Stops or continues the tree. A process may fork before the signal reaches it, so
/// this repeats until all are stopped.
pub(crate) fn freeze(root: &Root, tree: Tree, on: bool) -> Result<(), ControlError> {
    let (signal, wanted) = if on {
        (Signal::STOP, true)
    } else {
        (Signal::CONT, false)
    };
    let reached = until(|| {
        let wrong: Vec<ProcessId> = tree
            .members(root)?
            .into_iter()
            // `t` is stopped by a debugger; leave it alone.
            .filter(|l| matches!(l.state, 'T' | 't') != wanted)
            .collect();
        for life in &wrong {
            tasks::signal_who(root, Who::of(life), signal)?;
        }
        Ok::<bool, ControlError>(wrong.is_empty())
    })?;
    match reached || !on {
        true => Ok(()),
        false => Err(ControlError::NotFrozen {
            what: format!("the process group {}", tree.leader.pid),
            patience: PATIENCE,
        }),
    }
}

/// Kills the tree, repeatedly until no process is left.
pub(crate) fn kill(root: &Root, tree: Tree) -> Result<(), ControlError> {
    // A stopped process cannot fork. A process that cannot be stopped is killed anyway.
    let _ = freeze(root, tree, true);
    let mut left = Vec::new();
    let empty = until(|| {
        left = tree.members(root)?;
        for life in &left {
            tasks::signal_who(root, Who::of(life), Signal::KILL)?;
        }
        Ok::<bool, ControlError>(left.is_empty())
    })?;
    if empty {
        return Ok(());
    }
    let pids: Vec<String> = left.iter().map(|l| l.pid.to_string()).collect();
    Err(ControlError::StillThere {
        what: format!("the process group {}", tree.leader.pid),
        processes: pids.join(", "),
        patience: PATIENCE,
    })
}

/// CPU time of the current members and of the children that they waited for.
pub(crate) fn cpu_time(root: &Root, tree: Tree) -> Result<CpuTime, ControlError> {
    let members = tree.members(root)?;
    Ok(members.iter().fold(CpuTime::ZERO, |sum, l| sum + l.cpu))
}

/// Applies a change to each thread. A process started meanwhile inherits from its
/// parent; the second round catches nearly all that did not.
pub(crate) fn each_thread(
    root: &Root,
    tree: Tree,
    change: impl Fn(Pid) -> Result<(), ControlError>,
) -> Result<(), ControlError> {
    for _ in 0..2 {
        for life in tree.members(root)? {
            let tasks = root.path(format!("/proc/{}/task", life.pid));
            let Ok(entries) = fs::read_dir(tasks) else {
                continue;
            };
            let names = entries.flatten().map(|entry| entry.file_name());
            for tid in names.filter_map(|name| name.to_str()?.parse().ok()) {
                change(tid)?;
            }
        }
    }
    Ok(())
}

/// Reaps ended orphans to free their PIDs. Returns the CPU time of these and of the
/// children that they waited for.
pub(crate) fn reap(root: &Root, tree: Tree) -> Result<CpuTime, ControlError> {
    let mut used = CpuTime::ZERO;
    for orphan in tree.ended_orphans(root)? {
        // It has ended, so this returns at once.
        if let Some(pid) = i32::try_from(orphan.pid).ok().and_then(RawPid::from_raw)
            && let Ok(Some(_)) = waitpid(Some(pid), WaitOptions::NOHANG)
        {
            used = used + orphan.cpu;
        }
    }
    Ok(used)
}
