//! Starts a wait in the kernel early, so that it overlaps with other work.

use plimsoll_host::{Cgroups, Root};
use std::fs;

/// Triggers, on its own thread, the wait that the first move of a process into a
/// group of version 2 causes: `cgroup_attach_lock` (kernel/cgroup/cgroup.c) takes
/// the write side of a per-CPU lock, which takes an RCU grace period (a move soon
/// after takes none). Where version 1 counts CPU time, no process is moved at a
/// start.
///
/// It moves this process to the group that it is already in, so nothing changes. If
/// the kernel refuses, a later move waits as usual. Making a group waits for the
/// same lock, so call this only at the very start.
pub fn start_attach_wait(root: &Root) {
    let root = root.clone();
    let wait = move || {
        let own = Cgroups::find(&root).and_then(|found| found.own(&root));
        let own = own.ok().filter(|own| !own.v1.contains_key("cpu"));
        if let Some(group) = own.and_then(|own| own.v2) {
            let procs = root.path(&group.folder).join("cgroup.procs");
            let _ = fs::write(procs, std::process::id().to_string());
        }
    };
    // Without a thread the wait comes later.
    let _ = std::thread::Builder::new().spawn(wait);
}
