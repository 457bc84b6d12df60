//! Per-thread CPU time, run delay and context switches.
//!
//! /proc/PID/task/TID/schedstat holds nanoseconds on a CPU, nanoseconds
//! runnable but waiting, and the number of time slices
//! (Documentation/scheduler/sched-stats.rst). The third equals the thread's
//! number of context switches and costs a third of reading them from `status`.
//! Without this file, `stat` provides CPU time in ticks.

use crate::both;
use crate::error::{HostError, Malformed, number};
use crate::process::{Pid, ProcessStat, Tid};
use crate::root::{Root, Tick, means_absent};
use plimsoll_model::{CpuTime, ServiceUse};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Times of one or more threads, since their start or over a window.
pub(crate) type TaskTimes = ServiceUse;

/// No time, with all counters known.
pub(crate) const ZERO: TaskTimes = TaskTimes {
    cpu: CpuTime::ZERO,
    run_delay: Some(Duration::ZERO),
    context_switches: Some(0),
};

pub(crate) fn cpu_only(cpu: CpuTime) -> TaskTimes {
    TaskTimes {
        cpu,
        run_delay: None,
        context_switches: None,
    }
}

/// The sum; a counter unknown in either is unknown in the sum.
pub(crate) fn plus(a: TaskTimes, b: TaskTimes) -> TaskTimes {
    TaskTimes {
        cpu: a.cpu + b.cpu,
        run_delay: both(a.run_delay, b.run_delay, Duration::saturating_add),
        context_switches: both(a.context_switches, b.context_switches, u64::saturating_add),
    }
}

pub(crate) fn since(now: TaskTimes, earlier: TaskTimes) -> TaskTimes {
    TaskTimes {
        cpu: now.cpu.since(earlier.cpu),
        run_delay: both(now.run_delay, earlier.run_delay, Duration::saturating_sub),
        context_switches: both(
            now.context_switches,
            earlier.context_switches,
            u64::saturating_sub,
        ),
    }
}

/// The file from which thread times are read on this kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nanoseconds, run delay and context switches.
    Schedstat,
    /// Ticks; context switches from `status` if there are few threads.
    Stat,
}

impl Source {
    /// Checks this process' first thread, which has certainly run: a kernel
    /// that has the file but does not count writes zeros.
    pub(crate) fn of(root: &Root) -> Source {
        match root.line("/proc/self/schedstat") {
            Some(line) if line != "0 0 0" => Source::Schedstat,
            _ => Source::Stat,
        }
    }

    fn file(self) -> &'static str {
        match self {
            Source::Schedstat => "schedstat",
            Source::Stat => "stat",
        }
    }

    fn parse(self, text: &str, tick: Tick) -> Result<TaskTimes, Malformed> {
        match self {
            Source::Schedstat => schedstat(text),
            Source::Stat => ProcessStat::parse(text, tick).map(|stat| cpu_only(stat.own)),
        }
    }
}

pub(crate) fn schedstat(text: &str) -> Result<TaskTimes, Malformed> {
    const EXPECTED: &str = "three numbers of schedstat";
    let mut words = text.split_ascii_whitespace();
    let mut next = || number(words.next().unwrap_or_default(), EXPECTED);
    Ok(TaskTimes {
        cpu: CpuTime(Duration::from_nanos(next()?)),
        run_delay: Some(Duration::from_nanos(next()?)),
        context_switches: Some(next()?),
    })
}

/// Access to the files of tasks.
///
/// Files stay open as long as the allowance permits: re-reading costs a third
/// of reopening, and an open file refers to its own thread even after the TID
/// is reused.
#[derive(Debug)]
pub(crate) struct TaskFiles {
    pub(crate) root: Root,
    pub(crate) source: Source,
    /// How many more files may be kept open.
    pub(crate) allowance: usize,
}

/// One reading of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadSample {
    /// Unique per thread: unlike a TID, never reused.
    pub(crate) key: u64,
    pub(crate) tid: Tid,
    pub(crate) times: TaskTimes,
}

/// Reads the threads of one process.
#[derive(Debug)]
pub(crate) struct ThreadReader {
    pid: Pid,
    threads: BTreeMap<Tid, Thread>,
    next_key: u64,
}

#[derive(Debug)]
struct Thread {
    key: u64,
    file: Option<File>,
}

impl ThreadReader {
    /// Above this number of threads, reading `status` is too expensive.
    const MAX_STATUS_FILES: usize = 256;

    pub(crate) fn new(pid: Pid) -> ThreadReader {
        ThreadReader {
            pid,
            threads: BTreeMap::new(),
            next_key: 0,
        }
    }

    /// Samples all live threads. `count` is the process' own thread count;
    /// threads are listed again only if it differs from the known number or a
    /// known thread has ended.
    pub(crate) fn read(
        &mut self,
        files: &mut TaskFiles,
        count: u64,
    ) -> Result<Vec<ThreadSample>, HostError> {
        if self.threads.len() as u64 != count {
            self.list(files)?;
        }
        let known: BTreeSet<Tid> = self.threads.keys().copied().collect();
        let mut samples = self.sample(files, &known)?;
        if samples.len() < known.len() {
            let new = self.list(files)?;
            samples.extend(self.sample(files, &new)?);
        }
        if files.source == Source::Stat && samples.len() <= Self::MAX_STATUS_FILES {
            return self.with_switches(&files.root, samples);
        }
        Ok(samples)
    }

    /// Returns the open files to the allowance.
    pub(crate) fn close(self, files: &mut TaskFiles) {
        files.allowance += self.threads.values().filter(|t| t.file.is_some()).count();
    }

    fn sample(
        &mut self,
        files: &mut TaskFiles,
        tids: &BTreeSet<Tid>,
    ) -> Result<Vec<ThreadSample>, HostError> {
        let mut samples = Vec::with_capacity(tids.len());
        for &tid in tids {
            let Some(thread) = self.threads.get_mut(&tid) else {
                continue;
            };
            let key = thread.key;
            match thread.read(files, self.pid, tid)? {
                Some(times) => samples.push(ThreadSample { key, tid, times }),
                None => self.forget(tid, files),
            }
        }
        Ok(samples)
    }

    /// Adds context switches and drops threads that have just ended.
    fn with_switches(
        &self,
        root: &Root,
        samples: Vec<ThreadSample>,
    ) -> Result<Vec<ThreadSample>, HostError> {
        let mut live = Vec::with_capacity(samples.len());
        for mut sample in samples {
            let file = path_of(self.pid, sample.tid, "status");
            if let Some(switches) = root.parse_optional(file, switches)? {
                sample.times.context_switches = switches;
                live.push(sample);
            }
        }
        Ok(live)
    }

    /// Synchronizes the known threads with the directory and returns the new
    /// ones.
    fn list(&mut self, files: &mut TaskFiles) -> Result<BTreeSet<Tid>, HostError> {
        let listed = files.root.numbers(format!("/proc/{}/task", self.pid))?;
        let mut listed: BTreeSet<Tid> = listed.into_iter().collect();
        let known: Vec<Tid> = self.threads.keys().copied().collect();
        for tid in known {
            if !listed.remove(&tid) {
                self.forget(tid, files);
            }
        }
        for &tid in &listed {
            let key = self.next_key;
            self.next_key += 1;
            self.threads.insert(tid, Thread { key, file: None });
        }
        Ok(listed)
    }

    fn forget(&mut self, tid: Tid, files: &mut TaskFiles) {
        if let Some(Thread { file: Some(_), .. }) = self.threads.remove(&tid) {
            files.allowance += 1;
        }
    }
}

impl Thread {
    /// `None` if the thread has ended.
    fn read(
        &mut self,
        files: &mut TaskFiles,
        pid: Pid,
        tid: Tid,
    ) -> Result<Option<TaskTimes>, HostError> {
        let (root, source) = (&files.root, files.source);
        let path = || root.path(path_of(pid, tid, source.file()));
        // Longer than any line of these files: 52 numbers of at most 20 digits
        // in `stat`, and a name of at most 64 bytes.
        let mut buffer = [0u8; 1280];
        let read = match &self.file {
            Some(file) => file.read_at(&mut buffer, 0),
            None => File::open(path()).and_then(|file| {
                let read = file.read_at(&mut buffer, 0);
                if files.allowance > 0 {
                    files.allowance -= 1;
                    self.file = Some(file);
                }
                read
            }),
        };
        match read {
            Ok(0) => Ok(None),
            Ok(n) => source
                .parse(&String::from_utf8_lossy(&buffer[..n]), root.tick())
                .map(Some)
                .map_err(|malformed| malformed.at(&path())),
            Err(error) if means_absent(&error) => Ok(None),
            Err(source) => Err(HostError::Unreadable {
                path: path(),
                source,
            }),
        }
    }
}

fn path_of(pid: Pid, tid: Tid, file: &str) -> String {
    format!("/proc/{pid}/task/{tid}/{file}")
}

/// Voluntary plus involuntary switches; `None` if the kernel does not count
/// them.
fn switches(status: &str) -> Result<Option<u64>, Malformed> {
    let mut sum = None;
    for line in status.lines() {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        if name == "voluntary_ctxt_switches" || name == "nonvoluntary_ctxt_switches" {
            sum = Some(sum.unwrap_or(0) + number(value, "a number of context switches")?);
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests;
