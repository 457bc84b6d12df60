//! A fake /proc and /sys for tests.

use crate::Root;
use std::fs;
use std::os::unix::fs::symlink;
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
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    /// Overwrites a file while the tree is in use.
    pub(crate) fn write(&self, path: &str, text: &str) {
        self.write_bytes(path, text.as_bytes());
    }

    pub(crate) fn write_bytes(&self, path: &str, bytes: &[u8]) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
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
    pub(crate) fn process(&self, process: &FakeProcess<'_>) {
        let FakeProcess {
            pid, ppid, comm, ..
        } = *process;
        let threads = process.threads.len().max(1);
        let line = format!(
            "{pid} ({comm}) S {ppid} {pid} {pid} 0 -1 4194304 1 0 0 0 {} 0 {} 0 20 0 {threads} 0 \
             {} 3133440 390 18446744073709551615\n",
            process.own_ticks, process.reaped_ticks, process.started,
        );
        self.write(&format!("proc/{pid}/stat"), &line);
        let tasks = format!("proc/{pid}/task");
        let path = self.dir.path().join(&tasks);
        if let Ok(listed) = fs::read_dir(&path) {
            for entry in listed {
                let tid = entry.unwrap().file_name().into_string().unwrap();
                if !process.threads.iter().any(|t| t.0.to_string() == tid) {
                    self.remove(&format!("{tasks}/{tid}"));
                }
            }
        }
        for (tid, cpu_ns, delay_ns, slices) in process.threads {
            self.write(
                &format!("{tasks}/{tid}/schedstat"),
                &format!("{cpu_ns} {delay_ns} {slices}\n"),
            );
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct FakeProcess<'a> {
    pub(crate) pid: u32,
    pub(crate) ppid: u32,
    pub(crate) comm: &'a str,
    pub(crate) own_ticks: u64,
    pub(crate) reaped_ticks: u64,
    pub(crate) started: u64,
    /// Thread id, ns on a CPU, ns of run delay, number of time slices.
    pub(crate) threads: &'a [(u32, u64, u64, u64)],
}

impl FakeProcess<'_> {
    pub(crate) const ANY: FakeProcess<'static> = FakeProcess {
        pid: 100,
        ppid: 1,
        comm: "fake",
        own_ticks: 0,
        reaped_ticks: 0,
        started: 5,
        threads: &[],
    };
}
