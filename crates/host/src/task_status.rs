//! What tells tasks that inherited their CPUs from others: affinity, user, cgroups, start.

use crate::error::{HostError, Malformed};
use crate::process::{Pid, ProcessStat, Tid, allowed_list};
use crate::root::Root;
use plimsoll_model::CpuSet;

/// Of a thread (/proc/PID/task/TID/status).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStatus {
    /// The real user ID.
    pub uid: u32,
    /// CPU affinity.
    pub cpus: CpuSet,
    /// Whether it has memory of its own. Threads of the kernel and ended ones have none.
    pub has_memory: bool,
}

impl TaskStatus {
    /// The thread that has this number now; `None` if it has ended.
    ///
    /// # Errors
    /// If the file cannot be read or has an unknown format.
    pub fn read(root: &Root, pid: Pid, tid: Tid) -> Result<Option<TaskStatus>, HostError> {
        root.parse_optional(format!("/proc/{pid}/task/{tid}/status"), TaskStatus::parse)
    }

    fn parse(text: &str) -> Result<TaskStatus, Malformed> {
        let line = |name| text.lines().find_map(|line| line.strip_prefix(name));
        let uid = line("Uid:").and_then(|line| line.split_ascii_whitespace().next());
        Ok(TaskStatus {
            uid: uid
                .and_then(|uid| uid.parse().ok())
                .ok_or_else(|| Malformed::new("the user of a task (Uid)", text))?,
            cpus: allowed_list(text)?,
            has_memory: line("VmSize:").is_some(),
        })
    }
}

/// The threads of a process, in order; none if it has ended.
///
/// # Errors
/// If /proc cannot be read.
pub fn threads_of(root: &Root, pid: Pid) -> Result<Vec<Tid>, HostError> {
    let mut tids = root.numbers(format!("/proc/{pid}/task"))?;
    tids.sort_unstable();
    Ok(tids)
}

/// When a thread was started, in ticks since boot; `None` if it has ended.
///
/// # Errors
/// If the file cannot be read or has an unknown format.
pub fn thread_started(root: &Root, pid: Pid, tid: Tid) -> Result<Option<u64>, HostError> {
    let file = format!("/proc/{pid}/task/{tid}/stat");
    let stat = root.parse_optional(file, |text| ProcessStat::parse(text, root.tick()))?;
    // See `ProcessStat::read`.
    Ok(stat
        .filter(|stat| stat.threads > 0)
        .map(|stat| stat.started))
}

/// How many processes and threads have been started since boot (/proc/stat); `None` if that is not
/// known.
pub fn processes_started(root: &Root) -> Option<u64> {
    let text = root.text("/proc/stat").ok()?;
    let count = text
        .lines()
        .find_map(|line| line.strip_prefix("processes "));
    count?.trim().parse().ok()
}

/// The cgroups of a process in all hierarchies, as /proc/PID/cgroup has them: equal for
/// processes in the same ones. `None` if it has ended.
///
/// # Errors
/// If the file cannot be read.
pub fn cgroups_of(root: &Root, pid: Pid) -> Result<Option<String>, HostError> {
    root.optional(format!("/proc/{pid}/cgroup"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    #[test]
    fn user_cpus_and_memory_are_read_and_an_ended_task_is_none() {
        let tree = FakeTree::new()
            .file(
                "proc/5/task/6/status",
                "Name:\tx\nUid:\t7\t8\t8\t8\nVmSize:\t  12 kB\nCpus_allowed_list:\t1-2\n",
            )
            .file(
                "proc/2/task/2/status",
                "Uid:\t0\t0\t0\t0\nCpus_allowed_list:\t1\n",
            )
            .file("proc/4/task/4/status", "Cpus_allowed_list:\t1\n");
        let read = |pid, tid| TaskStatus::read(tree.root(), pid, tid);
        let thread = read(5, 6).unwrap().unwrap();
        assert_eq!((thread.uid, thread.has_memory), (7, true));
        assert_eq!(thread.cpus.to_string(), "1-2");
        assert!(!read(2, 2).unwrap().unwrap().has_memory);
        assert_eq!(read(5, 7).unwrap(), None);
        assert!(read(4, 4).unwrap_err().to_string().contains("Uid"));
    }

    #[test]
    fn own_threads_have_a_start_and_cgroups() {
        let root = Root::machine();
        let own = std::process::id();
        assert!(threads_of(&root, own).unwrap().contains(&own));
        let started = thread_started(&root, own, own).unwrap();
        let stat = ProcessStat::read(&root, own).unwrap().unwrap();
        assert_eq!(started, Some(stat.started));
        assert!(cgroups_of(&root, own).unwrap().is_some());
        assert!(TaskStatus::read(&root, own, own).unwrap().is_some());
    }
}
