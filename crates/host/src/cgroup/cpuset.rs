//! The CPUs that a cpuset allows.

use super::Cgroups;
use crate::error::HostError;
use crate::process::{Pid, cpu_list};
use crate::root::Root;
use plimsoll_model::CpuSet;

impl Cgroups {
    /// The CPUs that the cpuset of a process allows it; `None` without a cpuset, or if the process
    /// has ended.
    ///
    /// # Errors
    /// If the process or its cpuset cannot be read.
    pub fn cpuset_cpus(&self, root: &Root, pid: Pid) -> Result<Option<CpuSet>, HostError> {
        let Some(mut groups) = self.of(root, pid)? else {
            return Ok(None);
        };
        let (group, file) = match (groups.v1.remove("cpuset"), groups.v2) {
            (Some(v1), _) => (v1, "cpuset.effective_cpus"),
            (None, Some(v2)) => (v2, "cpuset.cpus.effective"),
            (None, None) => return Ok(None),
        };
        // In version 2 a group without the controller has the cpuset of the one above.
        let visible = group.folder.ancestors();
        for folder in visible.take_while(|folder| folder.starts_with(&group.top)) {
            let found = root.parse_optional(folder.join(file), cpu_list)?;
            if let Some(cpus) = found {
                return Ok(Some(cpus));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use crate::cgroup::Cgroups;
    use crate::cgroup::tests::{V2, mounted};
    use crate::fake_tree::FakeTree;

    fn cpus(tree: &FakeTree) -> Option<String> {
        let found = Cgroups::find(tree.root()).unwrap();
        let cpus = found.cpuset_cpus(tree.root(), 5).unwrap();
        cpus.map(|cpus| cpus.to_string())
    }

    #[test]
    fn cpuset_is_that_of_the_group_or_of_the_nearest_above() {
        let tree = mounted(V2);
        assert_eq!(cpus(&tree), None, "there is no process");
        tree.write("proc/5/cgroup", "0::/a/b\n");
        assert_eq!(cpus(&tree), None, "no group has the controller");
        tree.write("sys/fs/cgroup/a/cpuset.cpus.effective", "0-2\n");
        assert_eq!(cpus(&tree).unwrap(), "0-2");
        tree.write("sys/fs/cgroup/a/b/cpuset.cpus.effective", "1\n");
        assert_eq!(cpus(&tree).unwrap(), "1");
    }

    #[test]
    fn a_cpuset_of_version_1_goes_first() {
        let v1 = "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
        let tree = mounted(&format!("{v1}{V2}"))
            .file("proc/5/cgroup", "3:cpuset:/a\n0::/b\n")
            .file("sys/fs/cgroup/cpuset/a/cpuset.effective_cpus", "0-1\n")
            .file("sys/fs/cgroup/b/cpuset.cpus.effective", "7\n");
        assert_eq!(cpus(&tree).unwrap(), "0-1");
    }
}
