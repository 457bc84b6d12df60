//! Runs in PID namespaces within this one, whose processes have other numbers there.

use crate::tasks::ProcessKey;
use plimsoll_host::{Pid, ProcessStat, Root};
use std::fs;
use std::path::Path;

/// The initial PID namespace, from which all others are seen (`PROC_PID_INIT_INO` in
/// include/linux/proc_ns.h).
const INITIAL_NAMESPACE: &str = "pid:[4026531836]";

/// Whether the owner lives here, or in a PID namespace within this one, where it has
/// another number.
pub(super) fn lives(root: &Root, owner: ProcessKey, processes: &[ProcessStat]) -> bool {
    let mut candidates = processes
        .iter()
        .filter(|one| one.started == owner.started && !one.has_ended());
    candidates.any(|one| one.pid == owner.pid || inner_pids(root, one.pid).contains(&owner.pid))
}

/// The numbers of a process in PID namespaces within this one.
fn inner_pids(root: &Root, pid: Pid) -> Vec<Pid> {
    let status = fs::read_to_string(root.path(format!("/proc/{pid}/status"))).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let numbers = line.unwrap_or_default().split_ascii_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

pub(super) fn is_in_initial_namespace(root: &Root) -> bool {
    fs::read_link(root.path("/proc/self/ns/pid"))
        .is_ok_and(|ns| ns.as_os_str() == INITIAL_NAMESPACE)
}

/// Whether a process of the namespace may be there, which is a link as /proc/PID/ns/pid. One whose
/// link this user may not read may be of it.
pub(super) fn has_processes(root: &Root, namespace: &Path, processes: &[ProcessStat]) -> bool {
    let mut inner = processes
        .iter()
        .filter(|one| inner_pids(root, one.pid).len() > 1);
    inner.any(|one| {
        let link = fs::read_link(root.path(format!("/proc/{}/ns/pid", one.pid)));
        link.map_or(true, |link| link == namespace)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn an_owner_in_an_inner_pid_namespace_lives() {
        let dir = tempfile::tempdir().unwrap();
        let process = dir.path().join("proc/900");
        fs::create_dir_all(&process).unwrap();
        let fields = "S 1 900 900 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 345 0 0";
        fs::write(process.join("stat"), format!("900 (side) {fields}")).unwrap();
        fs::write(process.join("status"), "Name:\tside\nNSpid:\t900\t12\n").unwrap();
        let root = Root::at(dir.path());
        let processes = ProcessStat::all(&root).unwrap();
        let owner = |pid, started| lives(&root, ProcessKey { pid, started }, &processes);
        assert!(owner(900, 345));
        assert!(owner(12, 345));
        assert!(!owner(13, 345), "another process");
        assert!(!owner(900, 344), "a reused PID");
    }

    #[test]
    fn a_namespace_lives_as_long_as_a_process_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        let process = |pid: Pid, numbers: &str, namespace: &str| {
            let folder = dir.path().join(format!("proc/{pid}"));
            fs::create_dir_all(folder.join("ns")).unwrap();
            let fields = "S 1 900 900 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 345 0 0";
            fs::write(folder.join("stat"), format!("{pid} (x) {fields}")).unwrap();
            fs::write(folder.join("status"), format!("NSpid:\t{numbers}\n")).unwrap();
            symlink(namespace, folder.join("ns/pid")).unwrap();
        };
        process(900, "900", "pid:[1]");
        process(901, "901\t5", "pid:[2]");
        let has = |namespace: &str| {
            let all = ProcessStat::all(&root).unwrap();
            has_processes(&root, Path::new(namespace), &all)
        };
        assert!(has("pid:[2]"));
        assert!(!has("pid:[3]"));
        fs::remove_file(dir.path().join("proc/901/ns/pid")).unwrap();
        assert!(has("pid:[3]"), "it may be one of it");
    }
}
