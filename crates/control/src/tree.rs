//! A command and its descendants held without a cgroup, by signals and by what
//! can be set on each thread.

use crate::error::ControlError;
use crate::patience::{PATIENCE, until};
use crate::tasks::{self, Tree, Who};
use plimsoll_host::{Pid, ProcessId, Root};
use plimsoll_model::CpuTime;
use rustix::process::{Pid as RawPid, Signal, WaitOptions, waitpid};
use std::fs;

/// Stops or goes on. A process may start another before the signal reaches it,
/// so all are asked again until all stand still.
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
            // `t` is stopped by a debugger, which has its own ways.
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

/// Kills all of it, again and again until nobody is left.
pub(crate) fn kill(root: &Root, tree: Tree) -> Result<(), ControlError> {
    // What stands still starts nothing; what cannot be stopped is killed all the same.
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

/// CPU time of those that are there and of the children that they waited for.
pub(crate) fn cpu_time(root: &Root, tree: Tree) -> Result<CpuTime, ControlError> {
    let members = tree.members(root)?;
    Ok(members.iter().fold(CpuTime::ZERO, |sum, l| sum + l.cpu))
}

/// Changes each thread of it. What is started meanwhile inherits from whoever
/// starts it, so a second round catches all but the unluckiest.
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

/// Waits for the orphans that have ended, so that their numbers are free again.
/// What they have used, with the children that they have waited for.
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
