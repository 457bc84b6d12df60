//! Memory: /proc/meminfo (proc(5)) and the limits of the own cgroups.

use crate::cgroup::{own_limits, own_memory_left};
use crate::root::Root;
use plimsoll_model::Bytes;

/// The memory that programs of this process' cgroup can still take without swapping, at most:
/// MemAvailable of /proc/meminfo (proc(5)), or the limit of the cgroup if that is lower. What the
/// cgroup uses already is not subtracted: most of it may be page cache. `None` if the kernel
/// has neither.
pub fn available_memory(root: &Root) -> Option<Bytes> {
    let text = root.text("/proc/meminfo").unwrap_or_default();
    let free = kib_of(&text, "MemAvailable:");
    free.into_iter().chain(memory_limit(root)).min()
}

/// The lowest memory limit of this process' cgroups; `None` without one.
pub fn memory_limit(root: &Root) -> Option<Bytes> {
    own_limits(root).unwrap_or_default().memory
}

/// The memory that this process may still take, at most: MemAvailable of /proc/meminfo, or what the
/// limit of a cgroup of its own leaves, which page cache that can be dropped does not count against.
/// `None` if the kernel has neither.
pub fn memory_left(root: &Root) -> Option<Bytes> {
    let text = root.text("/proc/meminfo").unwrap_or_default();
    let free = kib_of(&text, "MemAvailable:");
    let left = own_memory_left(root).unwrap_or_default();
    free.into_iter().chain(left).min()
}

/// The memory of the machine, and swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AllMemory {
    pub total: Bytes,
    pub swap: Bytes,
    pub swap_free: Bytes,
}

/// MemTotal, SwapTotal and SwapFree of /proc/meminfo; 0 where the kernel does not have them.
pub fn all_memory(root: &Root) -> AllMemory {
    let text = root.text("/proc/meminfo").unwrap_or_default();
    let of = |name| kib_of(&text, name).unwrap_or_default();
    AllMemory {
        total: of("MemTotal:"),
        swap: of("SwapTotal:"),
        swap_free: of("SwapFree:"),
    }
}

/// What this process has in swap: pages that it may need back. 0 where the kernel does not say.
pub fn own_swap(root: &Root) -> Bytes {
    let text = root.text("/proc/self/status").unwrap_or_default();
    kib_of(&text, "VmSwap:").unwrap_or_default()
}

/// The value of a line such as `VmRSS:   1234 kB`.
pub(crate) fn kib_of(text: &str, name: &str) -> Option<Bytes> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::tests::{V2, mounted};
    use crate::fake_tree::FakeTree;

    const INFO: &str = "MemTotal:  9 kB\nMemAvailable:    3 kB\nSwapTotal: 4 kB\nSwapFree: 2 kB\n";

    #[test]
    fn the_least_of_machine_and_cgroup_is_available() {
        let tree = FakeTree::new().file("proc/meminfo", INFO);
        assert_eq!(available_memory(tree.root()), Some(Bytes(3 * 1024)));
        assert_eq!(memory_left(tree.root()), Some(Bytes(3 * 1024)));
        let [total, swap, swap_free] = [9, 4, 2].map(|kib| Bytes(kib * 1024));
        let all = AllMemory {
            total,
            swap,
            swap_free,
        };
        assert_eq!(all_memory(tree.root()), all);
        let tree = mounted(V2)
            .file("proc/meminfo", INFO)
            .file("proc/self/cgroup", "0::/a\n")
            .file("sys/fs/cgroup/a/memory.max", "2048\n")
            .file("sys/fs/cgroup/a/memory.current", "1500\n")
            .file(
                "sys/fs/cgroup/a/memory.stat",
                "anon 900\ninactive_file 400\n",
            );
        assert_eq!(available_memory(tree.root()), Some(Bytes(2048)));
        assert_eq!(memory_left(tree.root()), Some(Bytes(2048 - 1100)));
    }
}
