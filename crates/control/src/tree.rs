//! Restricts a command and its descendants without a cgroup, by signals and by
//! per-thread settings.

use crate::error::ControlError;
use crate::poll::until;
use crate::tasks::{self, ProcessKey, Tree};
use plimsoll_host::{Pid, ProcessStat, Root};
use plimsoll_model::CpuTime;
use rustix::process::{Signal, WaitOptions, waitpid};

/// Stops or continues the tree. A process may fork before the signal reaches it, so
/// this repeats until all are stopped.
pub(crate) fn freeze(root: &Root, tree: Tree<'_>, on: bool) -> Result<(), ControlError> {
    let signal = if on { Signal::STOP } else { Signal::CONT };
    let reached = until(|| {
        let mut wrong = tree.members(root)?;
        // `t` is stopped by a debugger; leave it alone.
        wrong.retain(|process| matches!(process.state, 'T' | 't') != on);
        for process in &wrong {
            tasks::signal_process(root, ProcessKey::of(process), signal)?;
        }
        Ok(wrong.is_empty())
    })?;
    match reached || !on {
        true => Ok(()),
        false => Err(ControlError::NotFrozen {
            what: format!("the process group {}", tree.leader.pid),
        }),
    }
}

/// Kills the tree, repeatedly until no process is left.
pub(crate) fn kill(root: &Root, tree: Tree<'_>) -> Result<(), ControlError> {
    // A stopped process cannot fork. A process that cannot be stopped is killed anyway.
    let _ = freeze(root, tree, true);
    let mut left = Vec::new();
    let kill_all = || {
        let members = tree.members(root)?;
        for process in &members {
            tasks::signal_process(root, ProcessKey::of(process), Signal::KILL)?;
        }
        left = members.iter().map(|process| process.pid).collect();
        Ok(left.is_empty())
    };
    if until(kill_all)? {
        return Ok(());
    }
    let what = format!("the process group {}", tree.leader.pid);
    Err(ControlError::still_there(what, &left))
}

/// Applies a change to each thread. A process started meanwhile inherits from its
/// parent; the second round catches nearly all that did not.
pub(crate) fn each_thread(
    root: &Root,
    tree: Tree<'_>,
    change: impl Fn(Pid) -> Result<(), ControlError>,
) -> Result<(), ControlError> {
    for _ in 0..2 {
        for process in tree.members(root)? {
            tasks::threads(root, process.pid)
                .into_iter()
                .try_for_each(&change)?;
        }
    }
    Ok(())
}

/// Reaps ended orphans, which are this process's children but no `leaders`, to free their PIDs.
/// Returns the CPU time of these and of the children that they waited for.
pub(crate) fn reap(root: &Root, leaders: &[ProcessKey]) -> Result<CpuTime, ControlError> {
    let (own, mut used) = (std::process::id(), CpuTime::ZERO);
    let mut ended = ProcessStat::all(root)?;
    ended.retain(|process| process.parent == own && process.has_ended());
    for orphan in ended {
        if leaders.contains(&ProcessKey::of(&orphan)) {
            continue;
        }
        let cpu = orphan.exact_cpu(root);
        // It has ended, so this returns at once.
        if let Some(pid) = tasks::raw(orphan.pid)
            && let Ok(Some(_)) = waitpid(Some(pid), WaitOptions::NOHANG)
        {
            used = used + cpu;
        }
    }
    Ok(used)
}
