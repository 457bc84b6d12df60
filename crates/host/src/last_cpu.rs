//! Which CPUs a set of tasks runs on, read often: two small files a task, kept open.
//!
//! `/proc/PID/task/TID/schedstat` says whether a task has run since the last reading. Only
//! then is `stat` read for its last CPU (field 39, proc(5)), which takes several times as
//! long.

use crate::error::{HostError, Malformed, number};
use crate::process::{Pid, ProcessStat, Tid, descend, processes};
use crate::root::{Root, means_absent};
use plimsoll_model::{CpuId, CpuTime};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Files that may stay open; further tasks open theirs at each reading.
const MOST_OPEN: usize = 512;

/// A task at one reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskOnCpu {
    pub tid: Tid,
    /// The CPU on which it ran last, or runs.
    pub cpu: CpuId,
    /// Whether it has run since the reading before; `true` at its first.
    pub ran: bool,
    /// CPU time since the reading before; zero at its first.
    pub used: CpuTime,
}

/// Reads the tasks of some processes.
#[derive(Debug)]
pub struct TaskCpuReader {
    root: Root,
    tasks: BTreeMap<(Pid, Tid), Task>,
}

#[derive(Debug)]
struct Task {
    sched: Option<File>,
    stat: Option<File>,
    /// Time on CPUs in nanoseconds and number of time slices.
    last: Option<(u64, u64)>,
    cpu: CpuId,
}

impl TaskCpuReader {
    pub fn new(root: &Root) -> TaskCpuReader {
        TaskCpuReader {
            root: root.clone(),
            tasks: BTreeMap::new(),
        }
    }

    /// Follows all threads that these processes have now, and no others.
    ///
    /// # Errors
    /// If /proc cannot be read. A process that has ended has no threads.
    pub fn follow(&mut self, pids: &[Pid]) -> Result<(), HostError> {
        let mut live = BTreeSet::new();
        for pid in pids {
            let tids = self.root.numbers(format!("/proc/{pid}/task"))?;
            live.extend(tids.into_iter().map(|tid| (*pid, tid)));
        }
        self.tasks.retain(|key, _| live.contains(key));
        for key in live {
            self.tasks.entry(key).or_insert(Task {
                sched: None,
                stat: None,
                last: None,
                cpu: 0,
            });
        }
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The threads that are followed, each with its process.
    pub fn threads(&self) -> impl Iterator<Item = (Pid, Tid)> {
        self.tasks.keys().copied()
    }

    /// Reads all tasks. One that has ended is not followed any more.
    ///
    /// # Errors
    /// If a file cannot be read or has an unknown format.
    pub fn read(&mut self) -> Result<Vec<TaskOnCpu>, HostError> {
        let keep_open = self.tasks.len() * 2 <= MOST_OPEN;
        let mut found = Vec::with_capacity(self.tasks.len());
        let mut gone = Vec::new();
        for (&(pid, tid), task) in &mut self.tasks {
            match task.read(&self.root, pid, tid, keep_open)? {
                Some(one) => found.push(one),
                None => gone.push((pid, tid)),
            }
        }
        for key in gone {
            self.tasks.remove(&key);
        }
        Ok(found)
    }
}

impl Task {
    /// `None` if it has ended.
    fn read(
        &mut self,
        root: &Root,
        pid: Pid,
        tid: Tid,
        keep_open: bool,
    ) -> Result<Option<TaskOnCpu>, HostError> {
        let path = |file: &str| format!("/proc/{pid}/task/{tid}/{file}");
        let Some(now) = text(root, &path("schedstat"), &mut self.sched, keep_open, counts)? else {
            return Ok(None);
        };
        let before = self.last.replace(now);
        let ran = before != Some(now);
        if ran {
            match text(root, &path("stat"), &mut self.stat, keep_open, last_cpu)? {
                Some(cpu) => self.cpu = cpu,
                None => return Ok(None),
            }
        }
        let used = before.map_or(0, |before| now.0.saturating_sub(before.0));
        Ok(Some(TaskOnCpu {
            tid,
            cpu: self.cpu,
            ran,
            used: CpuTime(Duration::from_nanos(used)),
        }))
    }
}

/// Parses a file from its beginning; `None` if the task has ended.
fn text<T>(
    root: &Root,
    path: &str,
    open: &mut Option<File>,
    keep_open: bool,
    parse: fn(&str) -> Result<T, Malformed>,
) -> Result<Option<T>, HostError> {
    let path = root.path(path);
    let file = match open.take() {
        Some(file) => Ok(file),
        None => File::open(&path),
    };
    let mut buffer = [0u8; 1280];
    let read = file.and_then(|file| {
        let read = file.read_at(&mut buffer, 0);
        *open = keep_open.then_some(file);
        read
    });
    match read {
        Ok(0) => Ok(None),
        Ok(n) => parse(&String::from_utf8_lossy(&buffer[..n]))
            .map(Some)
            .map_err(|malformed| malformed.at(&path)),
        Err(error) if means_absent(&error) => Ok(None),
        Err(source) => Err(HostError::Unreadable { path, source }),
    }
}

/// Time on CPUs and number of time slices, of schedstat (Documentation/scheduler/sched-stats.rst).
fn counts(text: &str) -> Result<(u64, u64), Malformed> {
    const EXPECTED: &str = "three numbers of a task's schedstat";
    let mut numbers = text.split_ascii_whitespace();
    let mut next = || {
        let word = numbers.next();
        word.ok_or_else(|| Malformed::new(EXPECTED, text))
            .and_then(|word| number(word, EXPECTED))
    };
    let (ran, _waited, slices) = (next()?, next()?, next()?);
    Ok((ran, slices))
}

fn last_cpu(line: &str) -> Result<CpuId, Malformed> {
    let after_name = line.rsplit_once(')').map(|(_, rest)| rest);
    // Field 39; the first after the name is the third.
    let field = after_name.and_then(|rest| rest.split_ascii_whitespace().nth(39 - 3));
    field
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Malformed::new("the last CPU of a task (field 39 of stat)", line))
}

/// A process and its descendants, looked for often: only processes that are new are read.
#[derive(Debug)]
pub struct Family {
    members: Vec<Pid>,
    /// When each member started: another process may have its number later.
    started: BTreeMap<Pid, u64>,
    unrelated: BTreeSet<Pid>,
}

impl Family {
    pub fn of(pid: Pid) -> Family {
        Family {
            members: vec![pid],
            started: BTreeMap::new(),
            unrelated: BTreeSet::new(),
        }
    }

    /// What a command is and starts, and this process, its parent, which may adopt its orphans.
    /// Children that this process had before (a shell that became it by exec) are no members.
    ///
    /// # Errors
    /// If /proc cannot be read.
    pub fn of_command(root: &Root, command: Pid) -> Result<Family, HostError> {
        let own = std::process::id();
        let since = ProcessStat::read(root, command)?.map_or(0, |stat| stat.started);
        let is_older = |stat: &ProcessStat| stat.parent == own && stat.started < since;
        let older = ProcessStat::all(root)?.into_iter().filter(is_older);
        Ok(Family {
            members: vec![own],
            started: BTreeMap::new(),
            unrelated: older.map(|stat| stat.pid).collect(),
        })
    }

    /// The members that have not ended.
    ///
    /// # Errors
    /// If /proc cannot be read.
    pub fn update(&mut self, root: &Root) -> Result<&[Pid], HostError> {
        let listed: BTreeSet<Pid> = processes(root)?.into_iter().collect();
        self.unrelated.retain(|pid| listed.contains(pid));
        let mut new = Vec::new();
        for pid in &listed {
            if self.unrelated.contains(pid) {
                continue;
            }
            match ProcessStat::read_if_shown(root, *pid)? {
                Some(stat) if self.is_member(&stat) => {}
                Some(stat) => new.push((*pid, stat.parent)),
                None if self.members.contains(pid) => {}
                None => {
                    self.unrelated.insert(*pid);
                }
            }
        }
        self.members
            .retain(|pid| new.iter().all(|(other, _)| pid != other));
        // Before ended ones go: a member that has just ended may have left a child.
        self.members = descend(std::mem::take(&mut self.members), &mut new);
        self.members.retain(|pid| listed.contains(pid));
        self.unrelated.extend(new.iter().map(|(pid, _)| *pid));
        let members = &self.members;
        self.started.retain(|pid, _| members.contains(pid));
        Ok(&self.members)
    }

    /// Whether it is a member, and not another process that has the number of one.
    fn is_member(&mut self, stat: &ProcessStat) -> bool {
        let started = self.started.entry(stat.pid).or_insert(stat.started);
        let is_same = *started == stat.started;
        *started = stat.started;
        is_same && self.members.contains(&stat.pid)
    }
}

/// Processes that have this name (/proc/PID/comm, at most 15 bytes).
///
/// # Errors
/// If /proc cannot be read.
pub fn processes_named(root: &Root, name: &str) -> Result<Vec<Pid>, HostError> {
    let mut found = processes(root)?;
    found.retain(|pid| root.line(format!("/proc/{pid}/comm")).as_deref() == Some(name));
    Ok(found)
}

/// Processes of a unit of systemd, and of units below it: those whose cgroup's path has a
/// part of this name. A name without a dot is that of a service.
///
/// # Errors
/// If /proc cannot be read.
pub fn processes_of_unit(root: &Root, unit: &str) -> Result<Vec<Pid>, HostError> {
    let unit = match unit.contains('.') {
        true => unit.to_owned(),
        false => format!("{unit}.service"),
    };
    let mut found = processes(root)?;
    found.retain(|pid| {
        let text = root.text(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        text.lines()
            .any(|line| line.split('/').any(|part| part == unit))
    });
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::{FakeProcess, FakeTree};

    fn stat(cpu: CpuId) -> String {
        let zeros = "0 ".repeat(35);
        format!("100 (a) b) S {zeros}{cpu} 0 0\n")
    }

    #[test]
    fn task_ran_if_its_counts_rose_and_its_cpu_is_field_39() {
        let tree = FakeTree::new();
        let task = "proc/100/task/101";
        tree.write(&format!("{task}/schedstat"), "5000 0 3\n");
        tree.write(&format!("{task}/stat"), &stat(2));
        let mut reader = TaskCpuReader::new(tree.root());
        reader.follow(&[100]).unwrap();
        let one = |reader: &mut TaskCpuReader| {
            let all = reader.read().unwrap();
            all.first()
                .map(|one| (one.cpu, one.ran, one.used.0.as_nanos()))
        };
        assert_eq!(one(&mut reader), Some((2, true, 0)));
        assert_eq!(one(&mut reader), Some((2, false, 0)));
        tree.write(&format!("{task}/schedstat"), "9000 0 4\n");
        tree.write(&format!("{task}/stat"), &stat(3));
        assert_eq!(one(&mut reader), Some((3, true, 4000)));
        tree.write(&format!("{task}/schedstat"), "");
        assert_eq!(one(&mut reader), None);
        assert!(reader.is_empty());
        reader.follow(&[77]).unwrap();
        assert!(reader.is_empty(), "a process that is gone has no threads");
    }

    #[test]
    fn unknown_formats_are_errors_that_name_the_file() {
        let tree = FakeTree::new();
        tree.write("proc/100/task/100/schedstat", "5000 x 3\n");
        let mut reader = TaskCpuReader::new(tree.root());
        reader.follow(&[100]).unwrap();
        let error = reader.read().unwrap_err().to_string();
        assert!(error.contains("task/100/schedstat"), "{error}");
        assert!(last_cpu("1 (a) S 1 2").is_err());
    }

    #[test]
    fn this_thread_is_on_a_cpu() {
        let mut reader = TaskCpuReader::new(&Root::machine());
        reader.follow(&[std::process::id()]).unwrap();
        assert!(reader.read().unwrap().iter().any(|task| task.ran));
    }

    #[test]
    fn family_finds_new_descendants_and_drops_ended_ones() {
        let tree = FakeTree::new();
        tree.process(FakeProcess::new(100, 1));
        tree.process(FakeProcess::new(200, 1));
        let mut family = Family::of(100);
        assert_eq!(family.update(tree.root()).unwrap(), [100]);
        tree.process(FakeProcess::new(101, 100));
        tree.process(FakeProcess::new(102, 101));
        assert_eq!(family.update(tree.root()).unwrap(), [100, 101, 102]);
        tree.remove("proc/100");
        assert_eq!(family.update(tree.root()).unwrap(), [101, 102]);
    }

    #[test]
    fn another_process_with_the_number_of_a_member_is_no_member() {
        let tree = FakeTree::new();
        let started = |pid, parent, at| FakeProcess {
            started: at,
            ..FakeProcess::new(pid, parent)
        };
        for process in [started(100, 1, 5), started(101, 100, 6), started(50, 1, 2)] {
            tree.process(process);
        }
        let mut family = Family::of(100);
        assert_eq!(family.update(tree.root()).unwrap(), [100, 101]);
        tree.process(started(101, 50, 9));
        tree.process(started(102, 101, 9));
        assert_eq!(family.update(tree.root()).unwrap(), [100]);
        // A child of the family may get a number that was a member's before.
        tree.process(started(103, 100, 10));
        assert_eq!(family.update(tree.root()).unwrap(), [100, 103]);
        tree.process(started(103, 100, 12));
        assert_eq!(family.update(tree.root()).unwrap(), [100, 103]);
    }

    #[test]
    fn children_from_before_a_command_are_not_of_its_family() {
        let tree = FakeTree::new();
        let own = std::process::id();
        let started = |pid, parent, at| FakeProcess {
            started: at,
            ..FakeProcess::new(pid, parent)
        };
        for process in [started(own, 1, 5), started(7, own, 6), started(8, own, 9)] {
            tree.process(process);
        }
        let mut family = Family::of_command(tree.root(), 8).unwrap();
        // One is an orphan that was adopted.
        tree.process(started(9, own, 10));
        tree.process(started(10, 7, 11));
        let members = family.update(tree.root()).unwrap().to_vec();
        assert_eq!(members, [own, 8, 9]);
    }

    #[test]
    fn processes_are_found_by_name_and_unit() {
        let tree = FakeTree::new().files(&[
            ("proc/5/comm", "redis-server\n"),
            ("proc/5/cgroup", "0::/system.slice/redis.service\n"),
            ("proc/6/comm", "redis\n"),
            (
                "proc/6/cgroup",
                "1:name=systemd:/system.slice/redis.service/a\n0::/\n",
            ),
        ]);
        let root = tree.root();
        assert_eq!(processes_named(root, "redis").unwrap(), [6]);
        let mut of_unit = processes_of_unit(root, "redis").unwrap();
        of_unit.sort_unstable();
        assert_eq!(of_unit, [5, 6]);
        assert_eq!(processes_of_unit(root, "redis.slice").unwrap(), [0; 0]);
    }
}
