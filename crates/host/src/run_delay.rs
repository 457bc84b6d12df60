//! Run delay: how long tasks waited for a CPU, sampled for many processes at
//! once.
//!
//! Summed over threads (`/proc/PID/task/TID/schedstat`, see [`crate::task`])
//! rather than taken from /proc/schedstat, which is one sum for the whole
//! machine: subtracting the excluded threads from it would lack those that
//! ended between two readings. Here, threads that end are lost only from the
//! sampled set, which matters little for a service with long-lived threads.

use crate::cgroup::Cgroups;
use crate::error::HostError;
use crate::process::{Pid, ProcessStat, Tid, processes, with_descendants};
use crate::root::Root;
use crate::task::{Source, schedstat};
use plimsoll_model::CpuTime;
use std::collections::BTreeMap;
use std::time::Duration;

/// Which threads are sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DelayScope {
    /// All visible processes except those named at each reading.
    Others,
    /// A process and its descendants.
    Tree(ProcessStat),
    /// This process, without its descendants.
    Own,
    /// The processes in a cgroup and its descendants.
    Cgroup(String),
}

/// CPU time and run delay between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waited {
    pub ran: CpuTime,
    /// Time runnable but waiting for a CPU, summed over threads.
    pub waited: Duration,
    pub threads: usize,
}

/// Samples the threads of a set of processes.
#[derive(Debug)]
pub struct RunDelays {
    root: Root,
    of: DelayScope,
    last: Option<BTreeMap<Tid, Times>>,
}

/// CPU time and run delay of a thread.
type Times = (CpuTime, Duration);

impl RunDelays {
    /// Reading more threads than this in every period is too expensive.
    pub const MOST_THREADS: usize = 5000;

    /// `None` if this kernel does not count run delay.
    pub fn new(root: &Root, of: DelayScope) -> Option<RunDelays> {
        (Source::of(root) == Source::Schedstat).then(|| RunDelays {
            root: root.clone(),
            of,
            last: None,
        })
    }

    /// The increments since the previous reading; `None` at the first. `except`
    /// are left out of [`DelayScope::Others`].
    ///
    /// # Errors
    /// If the process or cgroup does not exist, or a file cannot be parsed.
    pub fn read(&mut self, except: &[Pid]) -> Result<Option<Waited>, HostError> {
        let now = self.times(except, Self::MOST_THREADS)?;
        let waited = self.last.as_ref().map(|last| added(last, &now));
        self.last = Some(now);
        Ok(waited)
    }

    /// Reads all threads, but no more once there are more than `most`.
    fn times(&self, except: &[Pid], most: usize) -> Result<BTreeMap<Tid, Times>, HostError> {
        let mut now = BTreeMap::new();
        for pid in self.processes(except)? {
            for tid in self.root.numbers(format!("/proc/{pid}/task"))? {
                if now.len() > most {
                    return Ok(now);
                }
                let path = format!("/proc/{pid}/task/{tid}/schedstat");
                // Skips threads that have ended or are hidden from this user.
                if let Some(line) = self.root.line(&path) {
                    let times = schedstat(&line).map_err(|m| m.at(&self.root.path(&path)))?;
                    now.insert(tid, (times.cpu, times.run_delay.unwrap_or_default()));
                }
            }
        }
        Ok(now)
    }

    fn processes(&self, except: &[Pid]) -> Result<Vec<Pid>, HostError> {
        let root = &self.root;
        match &self.of {
            DelayScope::Others => {
                let mut pids = processes(root)?;
                pids.retain(|pid| !except.contains(pid));
                Ok(pids)
            }
            DelayScope::Tree(head) => {
                let gone = || HostError::NoProcess { pid: head.pid };
                let now = ProcessStat::read(root, head.pid)?.ok_or_else(gone)?;
                match now.started == head.started && !now.has_ended() {
                    true => with_descendants(root, &[head.pid]),
                    false => Err(gone()),
                }
            }
            DelayScope::Own => Ok(vec![std::process::id()]),
            DelayScope::Cgroup(name) => Cgroups::find(root)?.processes(root, name),
        }
    }
}

fn added(last: &BTreeMap<Tid, Times>, now: &BTreeMap<Tid, Times>) -> Waited {
    let mut sum = Waited {
        threads: now.len(),
        ..Waited::default()
    };
    for (tid, (ran, waited)) in now {
        // A new thread, or a thread ID that was reused, counts from zero.
        let before = last.get(tid).filter(|(r, w)| r <= ran && w <= waited);
        let (ran_before, waited_before) = before.copied().unwrap_or_default();
        sum.ran = sum.ran + ran.since(ran_before);
        sum.waited += *waited - waited_before;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::{FakeProcess, FakeTree};

    fn tree() -> FakeTree {
        FakeTree::new().file("proc/self/schedstat", "1 1 1\n")
    }

    fn thread(tree: &FakeTree, pid: Pid, tid: Tid, line: &str) {
        tree.write(&format!("proc/{pid}/task/{tid}/schedstat"), line);
    }

    fn waited(delays: &mut RunDelays, except: &[Pid]) -> (u128, u128, usize) {
        let waited = delays.read(except).unwrap().unwrap();
        let ran = waited.ran.0.as_nanos();
        (ran, waited.waited.as_nanos(), waited.threads)
    }

    #[test]
    fn others_exclude_named_processes_and_new_threads_count_from_zero() {
        let tree = tree();
        thread(&tree, 10, 10, "100 50 1\n");
        thread(&tree, 20, 20, "900 900 9\n");
        let mut delays = RunDelays::new(tree.root(), DelayScope::Others).unwrap();
        assert_eq!(delays.read(&[20]).unwrap(), None);
        thread(&tree, 10, 10, "130 55 2\n");
        thread(&tree, 10, 11, "7 3 1\n");
        thread(&tree, 20, 20, "1900 1900 9\n");
        assert_eq!(waited(&mut delays, &[20]), (37, 8, 2));
        // Thread ID 11 was reused.
        thread(&tree, 10, 11, "2 1 1\n");
        assert_eq!(waited(&mut delays, &[20]), (2, 1, 2));
    }

    #[test]
    fn ended_process_is_an_error_even_if_its_pid_is_reused() {
        let tree = tree();
        tree.process(FakeProcess::ANY);
        let head = ProcessStat::read(tree.root(), 100).unwrap().unwrap();
        let mut delays = RunDelays::new(tree.root(), DelayScope::Tree(head)).unwrap();
        assert!(delays.read(&[]).is_ok());
        tree.process(FakeProcess::ANY.started(99));
        let gone = delays.read(&[]).unwrap_err();
        assert!(matches!(gone, HostError::NoProcess { pid: 100 }), "{gone}");
    }

    #[test]
    fn reading_ends_with_one_thread_too_many() {
        let tree = tree();
        for tid in 1..9 {
            thread(&tree, 1 + tid / 3, tid, "1 1 1\n");
        }
        let delays = RunDelays::new(tree.root(), DelayScope::Others).unwrap();
        for (most, read) in [(8, 8), (7, 8), (3, 4), (1, 2)] {
            assert_eq!(delays.times(&[], most).unwrap().len(), read, "{most}");
        }
    }

    #[test]
    fn unsupported_kernel_is_none() {
        assert!(RunDelays::new(FakeTree::new().root(), DelayScope::Others).is_none());
    }
}
