//! Virtual machines, seen from outside: the processes of their monitors.

use crate::error::HostError;
use crate::process::{Pid, Tid, process_name, processes};
use crate::root::Root;
use std::collections::BTreeMap;

/// Names of monitors, as the kernel cuts them.
const NAMES: [&str; 5] = ["qemu", "kvm", "firecracker", "cloud-hyperviso", "crosvm"];

/// How often each thread of a monitor has run, without the first: that one serves the devices, also
/// while the CPUs of its machine are paused.
type Ran = BTreeMap<Tid, String>;

/// The virtual machines of this host, at one time.
#[derive(Debug)]
pub struct Monitors(BTreeMap<Pid, Ran>);

impl Monitors {
    /// All that are there. Where threads cannot be seen, there are none.
    ///
    /// # Errors
    /// /proc cannot be read.
    pub fn now(root: &Root) -> Result<Monitors, HostError> {
        let name = |pid: &Pid| process_name(root, *pid).unwrap_or_default();
        let is_one = |pid: &Pid| NAMES.iter().any(|known| name(pid).starts_with(known));
        let pids = processes(root)?.into_iter().filter(is_one);
        Ok(Monitors(pids.map(|pid| (pid, ran(root, pid))).collect()))
    }

    /// The first of these processes that is a monitor none of whose threads but the first has run
    /// since: its machine is paused, if it had something to do.
    pub fn still(&self, root: &Root, pids: &[Pid]) -> Option<Pid> {
        let mut pids = pids.iter().copied();
        pids.find(|pid| {
            let before = self.0.get(pid).filter(|ran| !ran.is_empty());
            before.is_some_and(|before| *before == ran(root, *pid))
        })
    }
}

fn ran(root: &Root, pid: Pid) -> Ran {
    // A process that has ended has no threads.
    let tids = root
        .numbers(format!("/proc/{pid}/task"))
        .unwrap_or_default();
    let others = tids.into_iter().filter(|tid| *tid != pid);
    let line = |tid: Tid| {
        let line = root.line(format!("/proc/{pid}/task/{tid}/schedstat"))?;
        // A kernel that does not count says nothing.
        (line != "0 0 0").then_some((tid, line))
    };
    others.filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    fn with(name: &str, cpu: &str) -> FakeTree {
        FakeTree::new().files(&[
            ("proc/7/comm", name),
            ("proc/7/task/7/schedstat", "5 0 5\n"),
            ("proc/7/task/8/schedstat", cpu),
        ])
    }

    #[test]
    fn a_machine_stands_still_while_its_monitor_runs() {
        let tree = with("qemu-system-x86\n", "9 1 4\n");
        let before = Monitors::now(tree.root()).unwrap();
        tree.write("proc/7/task/7/schedstat", "6 0 6\n");
        assert_eq!(before.still(tree.root(), &[3, 7]), Some(7));
        assert_eq!(before.still(tree.root(), &[3]), None);
        tree.write("proc/7/task/8/schedstat", "9 1 5\n");
        assert_eq!(before.still(tree.root(), &[7]), None);
    }

    #[test]
    fn nothing_is_said_of_what_is_no_machine_or_not_counted() {
        for (name, cpu) in [("nginx\n", "9 1 4\n"), ("qemu-system-x86\n", "0 0 0\n")] {
            let tree = with(name, cpu);
            let before = Monitors::now(tree.root()).unwrap();
            assert_eq!(before.still(tree.root(), &[7]), None, "{name}");
        }
    }
}
