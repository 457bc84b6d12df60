//! A fake /proc and /sys for tests.

use crate::Root;
use crate::task::{Source, TaskFiles};
use plimsoll_model::CpuTime;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// A directory that is removed when the test ends.
pub(crate) struct FakeTree {
    dir: TempDir,
    root: Root,
}

impl FakeTree {
    pub(crate) fn new() -> FakeTree {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        FakeTree { dir, root }
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    pub(crate) fn file(self, path: &str, text: &str) -> FakeTree {
        self.write(path, text);
        self
    }

    pub(crate) fn files(self, files: &[(&str, &str)]) -> FakeTree {
        for (path, text) in files {
            self.write(path, text);
        }
        self
    }

    /// Adds a symbolic link; the target need not exist.
    pub(crate) fn link(self, path: &str, target: &str) -> FakeTree {
        symlink(target, self.new_path(path)).unwrap();
        self
    }

    /// Overwrites a file while the tree is in use.
    pub(crate) fn write(&self, path: &str, text: &str) {
        self.write_bytes(path, text.as_bytes());
    }

    pub(crate) fn write_bytes(&self, path: &str, bytes: &[u8]) {
        fs::write(self.new_path(path), bytes).unwrap();
    }

    fn new_path(&self, path: &str) -> PathBuf {
        let path = self.root.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    pub(crate) fn remove(&self, path: &str) {
        let path = self.dir.path().join(path);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }

    /// Adds or updates a process; threads that are not listed disappear.
    pub(crate) fn process(&self, process: FakeProcess<'_>) {
        let (pid, ppid) = (process.pid, process.ppid);
        let line = format!(
            "{pid} (fake) S {ppid} {pid} {pid} 0 -1 4194304 1 0 0 0 {} 0 0 0 20 0 {} 0 {} 3133440 \
             390 18446744073709551615\n",
            process.own_ticks,
            process.threads.len().max(1),
            process.started,
        );
        self.write(&format!("proc/{pid}/stat"), &line);
        let tasks = format!("proc/{pid}/task");
        for tid in self.root.numbers(format!("/{tasks}")).unwrap() {
            if !process.threads.iter().any(|thread| thread.0 == tid) {
                self.remove(&format!("{tasks}/{tid}"));
            }
        }
        for (tid, cpu_ns, delay_ns, slices) in process.threads {
            self.write(
                &format!("{tasks}/{tid}/schedstat"),
                &format!("{cpu_ns} {delay_ns} {slices}\n"),
            );
        }
    }

    pub(crate) fn task_files(&self) -> TaskFiles {
        TaskFiles {
            root: self.root.clone(),
            source: Source::Schedstat,
            allowance: 100,
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct FakeProcess<'a> {
    pub(crate) pid: u32,
    pub(crate) ppid: u32,
    pub(crate) own_ticks: u64,
    pub(crate) started: u64,
    /// Thread ID, ns on a CPU, ns of run delay, number of time slices.
    pub(crate) threads: &'a [(u32, u64, u64, u64)],
}

impl<'a> FakeProcess<'a> {
    pub(crate) const ANY: FakeProcess<'static> = FakeProcess::new(100, 1);

    pub(crate) const fn new(pid: u32, ppid: u32) -> FakeProcess<'a> {
        FakeProcess {
            pid,
            ppid,
            own_ticks: 0,
            started: 5,
            threads: &[],
        }
    }

    pub(crate) fn started(self, started: u64) -> FakeProcess<'a> {
        FakeProcess { started, ..self }
    }

    pub(crate) fn threads(self, threads: &'a [(u32, u64, u64, u64)]) -> FakeProcess<'a> {
        FakeProcess { threads, ..self }
    }
}

/// Nanoseconds in a millisecond.
pub(crate) const MS: u64 = 1_000_000;

pub(crate) fn ms(n: u64) -> CpuTime {
    CpuTime(Duration::from_millis(n))
}
