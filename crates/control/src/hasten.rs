//! A wait in the kernel that is begun early, so that it passes while there is
//! something else to do.

use plimsoll_host::{Cgroups, Root};
use std::fs;

/// Begins, on a thread of its own, the wait that the first process to be moved
/// into a group of version 2 makes otherwise: `cgroup_attach_lock`
/// (kernel/cgroup/cgroup.c) takes the write side of a lock that each CPU has a
/// part of, which takes a grace period of RCU (another move that follows closely
/// takes none). Where CPU time is version 1's, nothing is moved at a start.
///
/// What is written is that this process shall be where it is already, so nothing
/// changes, and nothing depends on it: where it is refused, a move waits as it
/// would have. Making a group waits for it, so it is worth it at the very start
/// alone.
pub fn hasten_moves(root: &Root) {
    let root = root.clone();
    std::thread::spawn(move || {
        let own = Cgroups::find(&root).and_then(|found| found.own(&root));
        let own = own.ok().filter(|own| !own.v1.contains_key("cpu"));
        if let Some(group) = own.and_then(|own| own.v2) {
            let procs = root.path(&group.folder).join("cgroup.procs");
            let _ = fs::write(procs, std::process::id().to_string());
        }
    });
}
