//! Processes: /proc/PID/stat, names and CPU affinity.

use crate::error::{HostError, Malformed, number};
use crate::memory::kib_of;
use crate::root::{Root, Tick};
use crate::task::schedstat;
use plimsoll_model::{Bytes, CpuSet, CpuTime};
use std::io;

/// Process ID in the PID namespace of the /proc that is read.
pub type Pid = u32;

/// Thread ID; that of a process' first thread equals its PID.
pub type Tid = u32;

/// The fields of /proc/PID/stat used here (proc(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStat {
    pub pid: Pid,
    /// The process that started it, or that adopted it.
    pub parent: Pid,
    /// State of its first thread: `R` running, `T` stopped, `Z` ended and not
    /// yet waited for.
    pub state: char,
    /// Process group ID.
    pub group: Pid,
    /// Session ID. A process group is in one session.
    pub session: Pid,
    /// CPU time of all its threads, including ended ones. Truncated to ticks
    /// twice, once for user and once for system time.
    pub own: CpuTime,
    /// CPU time of children that ended and were waited for, including theirs.
    pub reaped: CpuTime,
    pub threads: u64,
    /// Start time in ticks since boot; with the PID it identifies the process.
    pub started: u64,
}

impl ProcessStat {
    /// The process that has this PID now.
    pub fn read(root: &Root, pid: Pid) -> Result<Option<ProcessStat>, HostError> {
        let file = format!("/proc/{pid}/stat");
        let stat = root.parse_optional(file, |text| ProcessStat::parse(text, root.tick()))?;
        // No threads: the process was waited for after the file was opened, and
        // its times and group are gone (do_task_stat in fs/proc/array.c).
        Ok(stat.filter(|stat| stat.threads > 0))
    }

    /// [`ProcessStat::cpu`] with its own part in nanoseconds, if it has one thread and this kernel
    /// counts them: ticks take up to 20 ms from each process.
    pub fn exact_cpu(&self, root: &Root) -> CpuTime {
        let file = format!("/proc/{}/schedstat", self.pid);
        let line = root.line(file).filter(|_| self.threads == 1);
        let exact = line.and_then(|line| Some(schedstat(&line).ok()?.cpu));
        // Threads that have ended are in ticks alone.
        exact.map_or(self.own, |exact| exact.max(self.own)) + self.reaped
    }

    /// Like [`ProcessStat::read`], but `None` also for a process that is hidden
    /// from this user (procfs option hidepid).
    pub(crate) fn read_if_shown(root: &Root, pid: Pid) -> Result<Option<ProcessStat>, HostError> {
        match ProcessStat::read(root, pid) {
            Err(HostError::Unreadable { source, .. })
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                Ok(None)
            }
            other => other,
        }
    }

    /// All visible processes.
    pub fn all(root: &Root) -> Result<Vec<ProcessStat>, HostError> {
        let stats = processes(root)?.into_iter();
        stats
            .filter_map(|pid| ProcessStat::read_if_shown(root, pid).transpose())
            .collect()
    }

    /// Whether it has ended and only its PID is still in use.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// CPU time of all its threads and of the children that it has waited for.
    pub fn cpu(&self) -> CpuTime {
        self.own + self.reaped
    }

    /// The format is the same for a process and for one of its threads, whose
    /// times are then the thread's own.
    pub(crate) fn parse(line: &str, tick: Tick) -> Result<ProcessStat, Malformed> {
        const EXPECTED: &str = "a line of /proc/PID/stat";
        let malformed = || Malformed::new(EXPECTED, line);
        // The name is in parentheses and may itself contain parentheses and
        // blanks, so the last parenthesis ends it.
        let (pid, rest) = line.split_once(" (").ok_or_else(malformed)?;
        let (_, rest) = rest.rsplit_once(')').ok_or_else(malformed)?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().take(20).collect();
        let field = |nth: usize| {
            // proc(5) counts from 1; the first field here is its third.
            let text = fields.get(nth - 3).ok_or_else(malformed)?;
            number(text, EXPECTED)
        };
        // Signed in the kernel's format: the children's times, and the group of
        // a process that has just ended.
        let signed = |nth: usize| match fields.get(nth - 3) {
            Some(text) if text.starts_with('-') => Ok(0),
            _ => field(nth),
        };
        let time = |ticks: u64| CpuTime(tick.times(ticks));
        Ok(ProcessStat {
            pid: pid.trim().parse().map_err(|_| malformed())?,
            parent: Pid::try_from(field(4)?).map_err(|_| malformed())?,
            state: fields
                .first()
                .and_then(|f| f.chars().next())
                .ok_or_else(malformed)?,
            // 0 if the process' group is in another namespace.
            group: Pid::try_from(signed(5)?).map_err(|_| malformed())?,
            session: Pid::try_from(signed(6)?).map_err(|_| malformed())?,
            own: time(field(14)?) + time(field(15)?),
            reaped: time(signed(16)?) + time(signed(17)?),
            threads: field(20)?,
            started: field(22)?,
        })
    }
}

pub(crate) fn processes(root: &Root) -> Result<Vec<Pid>, HostError> {
    root.numbers("/proc")
}

/// The command name, such as `nginx`; `None` if the process has ended.
pub fn process_name(root: &Root, pid: Pid) -> Option<String> {
    root.line(format!("/proc/{pid}/comm"))
}

/// CPU affinity of a process' first thread.
///
/// # Errors
/// If there is no such process, or its affinity cannot be read.
pub fn allowed_cpus(root: &Root, pid: Pid) -> Result<CpuSet, HostError> {
    root.parse_optional(format!("/proc/{pid}/status"), allowed_list)?
        .ok_or(HostError::NoProcess { pid })
}

/// CPU affinity of this process.
pub fn own_allowed_cpus(root: &Root) -> Result<CpuSet, HostError> {
    root.parse("/proc/self/status", allowed_list)
}

/// The process group in the foreground of this process' terminal (tpgid, proc(5)); `None`
/// without a terminal.
pub fn own_foreground_group(root: &Root) -> Option<Pid> {
    let text = root.text("/proc/self/stat").ok()?;
    // The first field after the name is the third.
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(8 - 3)?.parse().ok()
}

/// The signals that this process was started to ignore (for instance by
/// `nohup`), as a bit mask: signal `n` is bit `n - 1` (SigIgn, proc(5)).
pub fn own_ignored_signals(root: &Root) -> Result<u64, HostError> {
    root.parse("/proc/self/status", ignored)
}

fn ignored(status: &str) -> Result<u64, Malformed> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .ok_or_else(|| Malformed::new("a mask of ignored signals", status))
}

/// The first of these processes and their descendants that ignores SIGCHLD: the
/// kernel then drops the CPU time of its children when they end (signal(7),
/// times(2)).
///
/// # Errors
/// If processes cannot be read.
pub fn ignores_children(root: &Root, pids: &[Pid]) -> Result<Option<Pid>, HostError> {
    const SIGCHLD: u64 = 1 << 16;
    for pid in with_descendants(root, pids)? {
        // One that has just ended has no mask.
        let mask = root.parse_optional(format!("/proc/{pid}/status"), ignored)?;
        if mask.is_some_and(|mask| mask & SIGCHLD != 0) {
            return Ok(Some(pid));
        }
    }
    Ok(None)
}

/// The resident memory of this process (VmRSS, proc(5)); `None` if the kernel does not
/// say. It may lag by some pages a thread.
pub fn own_resident_memory(root: &Root) -> Option<Bytes> {
    let text = root.text("/proc/self/status").ok()?;
    kib_of(&text, "VmRSS:")
}

/// How often the threads of this process but one have given up their CPU to sleep or wait, since each
/// was started (voluntary_ctxt_switches, proc(5)); `None` if the kernel does not say.
pub fn own_voluntary_switches(root: &Root, except: u32) -> Option<u64> {
    let tasks = std::fs::read_dir(root.path("/proc/self/task")).ok()?;
    let names = tasks.filter_map(|task| task.ok()?.file_name().into_string().ok());
    let others = names.filter(|name| *name != except.to_string());
    let of = |name: String| {
        let text = root.text(format!("/proc/self/task/{name}/status")).ok()?;
        let line = text
            .lines()
            .find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    };
    let each: Option<Vec<u64>> = others.map(of).collect();
    Some(each?.into_iter().sum())
}

pub fn online_cpus(root: &Root) -> Result<CpuSet, HostError> {
    root.parse("/sys/devices/system/cpu/online", cpu_list)
}

/// The online CPUs on which any thread of these processes or of their
/// descendants may run. Covers services with pinned workers.
///
/// # Errors
/// If there is no such process, or its affinity cannot be read.
pub fn service_cpus(root: &Root, pids: &[Pid]) -> Result<CpuSet, HostError> {
    let mut cpus = CpuSet::default();
    for pid in with_descendants(root, pids)? {
        for tid in root.numbers(format!("/proc/{pid}/task"))? {
            // A thread that has just ended has no affinity.
            let file = format!("/proc/{pid}/task/{tid}/status");
            let allowed = root.parse_optional(file, allowed_list)?;
            cpus = cpus
                .iter()
                .chain(allowed.unwrap_or_default().iter())
                .collect();
        }
    }
    match (cpus.is_empty(), pids.first()) {
        (true, Some(pid)) => Err(HostError::NoProcess { pid: *pid }),
        _ => Ok(cpus.and(&online_cpus(root)?)),
    }
}

/// These processes and their descendants, parents before children.
pub(crate) fn with_descendants(root: &Root, pids: &[Pid]) -> Result<Vec<Pid>, HostError> {
    let all = ProcessStat::all(root)?;
    let mut parents = all.iter().map(|stat| (stat.pid, stat.parent)).collect();
    Ok(descend(pids.to_vec(), &mut parents))
}

/// Appends to `members` every process whose parent is a member, parents first,
/// and removes it from `others`, which are pairs of a process and its parent.
pub(crate) fn descend(mut members: Vec<Pid>, others: &mut Vec<(Pid, Pid)>) -> Vec<Pid> {
    others.retain(|(pid, _)| !members.contains(pid));
    let mut next = 0;
    while next < members.len() {
        let parent = members[next];
        others.retain(|(pid, ppid)| {
            let child = *ppid == parent;
            if child {
                members.push(*pid);
            }
            !child
        });
        next += 1;
    }
    members
}

pub(crate) fn allowed_list(status: &str) -> Result<CpuSet, Malformed> {
    status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .ok_or_else(|| Malformed::new("a list of allowed CPUs", status))
        .and_then(cpu_list)
}

pub(crate) fn cpu_list(text: &str) -> Result<CpuSet, Malformed> {
    text.parse()
        .map_err(|_| Malformed::new("a list of CPUs", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::{FakeProcess, FakeTree, ms};

    const LINE: &str = "42 (a) (b c) S 7 42 42 0 -1 4194304 101 0 0 0 150 50 30 20 20 0 3 0 \
                        138487 3133440 390 18446744073709551615 1 1 0\n";

    #[test]
    fn names_may_hold_parentheses_and_blanks() {
        let stat = ProcessStat::parse(LINE, Tick::hundredth()).unwrap();
        assert_eq!((stat.pid, stat.parent, stat.threads), (42, 7, 3));
        assert_eq!((stat.own, stat.reaped), (ms(2000), ms(500)));
        assert_eq!(stat.cpu(), ms(2500));
        assert_eq!(stat.started, 138_487);
    }

    #[test]
    fn switches_of_all_threads_but_one_are_added_up() {
        let tree = FakeTree::new()
            .file("proc/self/task/7/status", "voluntary_ctxt_switches:\t5\n")
            .file("proc/self/task/8/status", "voluntary_ctxt_switches:\t6\n")
            .file("proc/self/task/9/status", "voluntary_ctxt_switches:\t7\n");
        assert_eq!(own_voluntary_switches(tree.root(), 8), Some(12));
        let unknown = tree.file("proc/self/task/9/status", "State:\tR\n");
        assert_eq!(own_voluntary_switches(unknown.root(), 8), None);
    }

    #[test]
    fn resident_memory_is_read_in_kib() {
        let of =
            |text: &str| own_resident_memory(FakeTree::new().file("proc/self/status", text).root());
        let text = "VmHWM:\t   20000 kB\nVmRSS:\t    1234 kB\n";
        assert_eq!(of(text), Some(Bytes(1234 * 1024)));
        assert_eq!(of("VmHWM:\t   20000 kB\n"), None);
    }

    #[test]
    fn missing_process_or_one_reaped_during_the_read_is_none() {
        let missing = ProcessStat::read(FakeTree::new().root(), 42).unwrap();
        assert_eq!(missing, None);
        let released = "42 (cc1) X 0 -1 -1 0 -1 4228108 0 0 0 0 0 0 0 0 20 0 0 0 138487 0 0 \
                        18446744073709551615 0 0 0\n";
        let tree = FakeTree::new().file("proc/42/stat", released);
        assert_eq!(ProcessStat::read(tree.root(), 42).unwrap(), None);
    }

    #[test]
    fn reused_pid_has_another_start_time() {
        let tree = FakeTree::new();
        let read = |pid| ProcessStat::read(tree.root(), pid).unwrap();
        tree.process(FakeProcess::ANY);
        let first = read(100).unwrap();
        assert_eq!((first.started, first.parent, first.group), (5, 1, 100));
        tree.process(FakeProcess::ANY.started(6));
        let second = read(100).unwrap();
        assert_ne!(first, second);
        assert_eq!(ProcessStat::all(tree.root()).unwrap(), [second]);
        assert_eq!(read(101), None);
    }

    #[test]
    fn parents_come_before_children_regardless_of_pids() {
        let mut others = vec![(5, 30), (30, 9), (9, 100), (8, 1), (100, 1)];
        assert_eq!(descend(vec![100], &mut others), [100, 9, 30, 5]);
        assert_eq!(others, [(8, 1)]);
    }

    #[test]
    fn service_cpus_are_the_union_over_threads() {
        let tree = FakeTree::new();
        tree.process(FakeProcess::ANY);
        tree.process(FakeProcess::new(101, 100));
        let tree = tree.files(&[
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("proc/100/status", "Name:\tx\nCpus_allowed_list:\t0\n"),
            ("proc/100/task/100/status", "Cpus_allowed_list:\t0\n"),
            ("proc/101/task/101/status", "Cpus_allowed_list:\t2\n"),
            ("proc/101/task/102/status", "Cpus_allowed_list:\t3-5\n"),
        ]);
        let cpus = service_cpus(tree.root(), &[100]).unwrap();
        assert_eq!(cpus.to_string(), "0,2-3");
        assert_eq!(allowed_cpus(tree.root(), 100).unwrap().to_string(), "0");
        let gone = allowed_cpus(tree.root(), 77).unwrap_err();
        assert!(matches!(gone, HostError::NoProcess { pid: 77 }));
        assert!(service_cpus(tree.root(), &[77]).is_err());
    }

    #[test]
    fn foreground_group_is_that_of_the_terminal_if_there_is_one() {
        let of = |tty: &str| {
            let line = format!("42 (a) (b c) S 7 42 42 {tty} 4194304 101 0\n");
            own_foreground_group(FakeTree::new().file("proc/self/stat", &line).root())
        };
        assert_eq!(of("34816 77"), Some(77));
        assert_eq!(of("0 -1"), None);
    }

    #[test]
    fn ignored_signals_are_a_hexadecimal_mask() {
        let of =
            |text: &str| own_ignored_signals(FakeTree::new().file("proc/self/status", text).root());
        assert_eq!(of("Name:\tx\nSigIgn:\t0000000000001001\n").unwrap(), 0x1001);
        assert!(own_ignored_signals(&Root::machine()).is_ok());
    }

    #[test]
    fn a_process_that_does_not_wait_for_children_is_found_among_descendants() {
        let tree = FakeTree::new();
        tree.process(FakeProcess::ANY);
        tree.process(FakeProcess::new(101, 100));
        let tree = tree.file("proc/100/status", "SigIgn:\t0000000000001000\n");
        let found = |tree: &FakeTree| ignores_children(tree.root(), &[100]).unwrap();
        assert_eq!(found(&tree), None);
        let tree = tree.file("proc/101/status", "SigIgn:\t0000000000011000\n");
        assert_eq!(found(&tree), Some(101));
    }

    #[test]
    fn this_process_runs_on_online_cpus() {
        let root = Root::machine();
        let own = own_allowed_cpus(&root).unwrap();
        assert!(!own.is_empty());
        assert_eq!(own, own.and(&online_cpus(&root).unwrap()));
        assert_eq!(allowed_cpus(&root, std::process::id()).unwrap(), own);
        let stat = ProcessStat::read(&root, std::process::id()).unwrap();
        assert!(!stat.unwrap().has_ended());
        assert!(own_allowed_cpus(FakeTree::new().root()).is_err());
    }
}
