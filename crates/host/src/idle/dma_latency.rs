//! The limit on the wake-up latency of all CPUs, `/dev/cpu_dma_latency`: the lowest of
//! what programs ask for, each for as long as it holds the file open.

use crate::error::{HostError, Malformed};
use crate::process::{Pid, process_name, processes};
use crate::root::{Root, means_absent};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// The device file.
pub const DMA_LATENCY: &str = "/dev/cpu_dma_latency";

/// The limit on all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DmaLatency {
    NoLimit,
    /// 0 permits state 0 alone. Unlike in the file of one CPU, 0 means zero here.
    AtMost(Duration),
}

/// What the file holds if nobody asks for less: 2000 s (`PM_QOS_CPU_LATENCY_DEFAULT_VALUE`
/// in include/linux/pm_qos.h).
const NO_LIMIT_US: i32 = 2_000_000_000;

/// Reads the limit; `None` if this kernel or container has no such file.
///
/// # Errors
/// If the file cannot be read (only root may), or holds something else.
pub fn dma_latency(root: &Root) -> Result<Option<DmaLatency>, HostError> {
    let path = root.path(DMA_LATENCY);
    let read = || -> io::Result<[u8; 4]> {
        let mut value = [0; 4];
        // A write moves the offset and a seek does nothing, so the offset is given.
        File::open(&path)?.read_exact_at(&mut value, 0)?;
        Ok(value)
    };
    let us = match read() {
        Ok(value) => i32::from_ne_bytes(value),
        Err(source) if means_absent(&source) => return Ok(None),
        Err(source) => return Err(HostError::Unreadable { path, source }),
    };
    match u64::try_from(us) {
        Ok(_) if us >= NO_LIMIT_US => Ok(Some(DmaLatency::NoLimit)),
        Ok(us) => Ok(Some(DmaLatency::AtMost(Duration::from_micros(us)))),
        Err(_) => Err(Malformed::new("a number of microseconds", &us.to_string()).at(&path)),
    }
}

/// Who holds the file open. One that does may have asked for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DmaLatencyHolders {
    /// The process and its name, which anybody may choose: make it safe to print.
    pub processes: Vec<(Pid, String)>,
    /// Processes whose open files this user may not see, or that were too many.
    pub unseen: usize,
}

impl DmaLatencyHolders {
    /// How many processes are looked into, and how many open files of each: a bound on
    /// the time on machines with hundreds of thousands.
    const MOST_PROCESSES: usize = 20_000;
    const MOST_FILES: usize = 10_000;

    /// Looks into /proc/PID/fd of all processes but this one.
    ///
    /// # Errors
    /// If /proc cannot be read.
    pub fn find(root: &Root) -> Result<DmaLatencyHolders, HostError> {
        let mut found = DmaLatencyHolders::default();
        let mut pids = processes(root)?;
        pids.retain(|pid| *pid != std::process::id());
        pids.sort_unstable();
        found.unseen = pids.len().saturating_sub(Self::MOST_PROCESSES);
        for pid in pids.into_iter().take(Self::MOST_PROCESSES) {
            match holds(root, pid) {
                Ok(true) => {
                    let name = process_name(root, pid).unwrap_or_default();
                    found.processes.push((pid, name));
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => found.unseen += 1,
                // The second: the process has ended.
                Ok(false) | Err(_) => {}
            }
        }
        Ok(found)
    }
}

fn holds(root: &Root, pid: Pid) -> io::Result<bool> {
    let files = fs::read_dir(root.path(format!("/proc/{pid}/fd")))?;
    for file in files.take(DmaLatencyHolders::MOST_FILES) {
        match fs::read_link(file?.path()) {
            Ok(target) if target.as_os_str() == DMA_LATENCY => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
            // The second: the file was closed.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    #[test]
    fn the_value_is_four_bytes_and_zero_means_zero() {
        let at_most = |us| DmaLatency::AtMost(Duration::from_micros(us));
        for (us, expected) in [
            (2_000_000_000, DmaLatency::NoLimit),
            (i32::MAX, DmaLatency::NoLimit),
            (0, at_most(0)),
            (70, at_most(70)),
        ] {
            let tree = FakeTree::new();
            tree.write_bytes(DMA_LATENCY, &us.to_ne_bytes());
            assert_eq!(dma_latency(tree.root()).unwrap(), Some(expected));
        }
        assert_eq!(dma_latency(FakeTree::new().root()).unwrap(), None);
        let tree = FakeTree::new().file(DMA_LATENCY, "7\n");
        assert!(dma_latency(tree.root()).is_err(), "too short");
        tree.write_bytes(DMA_LATENCY, &(-1i32).to_ne_bytes());
        let error = dma_latency(tree.root()).unwrap_err().to_string();
        assert!(error.contains("'-1'"), "{error}");
    }

    #[test]
    fn holders_are_found_by_their_open_files() {
        let tree = FakeTree::new()
            .link("proc/42/fd/3", "/dev/null")
            .link("proc/42/fd/7", DMA_LATENCY)
            .link("proc/43/fd/3", "/dev/cpu_dma_latency2")
            .file("proc/42/comm", "tuned\n")
            .file("proc/44/comm", "ended\n")
            .link(&format!("proc/{}/fd/9", std::process::id()), DMA_LATENCY);
        let found = DmaLatencyHolders::find(tree.root()).unwrap();
        assert_eq!(found.processes, [(42, "tuned".to_owned())]);
        assert_eq!(found.unseen, 0);
    }
}
