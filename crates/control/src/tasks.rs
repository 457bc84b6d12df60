//! Signals to processes that may end at any moment, so that their PIDs may be
//! reused: each signal goes through a pidfd that is opened first and then checked.

use crate::error::ControlError;
use crate::random::random;
use plimsoll_host::{HostError, Pid, ProcessStat, Root};
use rustix::io::Errno;
use rustix::process::{
    Pid as RawPid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

const SENT: &str = "sent a signal";

/// Identifies a process even if its PID is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ProcessKey {
    pub(crate) pid: Pid,
    /// In clock ticks since boot, from /proc/PID/stat.
    pub(crate) started: u64,
}

impl ProcessKey {
    pub(crate) fn of(stat: &ProcessStat) -> ProcessKey {
        ProcessKey {
            pid: stat.pid,
            started: stat.started,
        }
    }

    /// The process that has this PID now.
    pub(crate) fn now(root: &Root, pid: Pid) -> Result<Option<ProcessKey>, HostError> {
        Ok(ProcessStat::read(root, pid)?.as_ref().map(ProcessKey::of))
    }

    /// # Errors
    /// As of [`check_shown`], if /proc does not show it.
    pub(crate) fn lives(self, root: &Root) -> Result<bool, ControlError> {
        let now = ProcessStat::read(root, self.pid)?;
        let lives = now.is_some_and(|stat| ProcessKey::of(&stat) == self && !stat.has_ended());
        if !lives {
            check_shown(root)?;
        }
        Ok(lives)
    }
}

/// Call it before a process that /proc does not show is taken for gone.
///
/// # Errors
/// [`ControlError::NoProcesses`] if /proc does not show this process either: it is not
/// mounted, hides it, or is that of another PID namespace, in which `self` leads to
/// another number or to none. [`ControlError::OtherClock`] in a time namespace.
pub(crate) fn check_shown(root: &Root) -> Result<(), ControlError> {
    let own = std::process::id();
    let proc = root.path("/proc");
    let number = fs::read_link(proc.join("self"));
    let is_own = number.is_ok_and(|number| number == Path::new(&own.to_string()));
    match is_own && matches!(ProcessKey::now(root, own), Ok(Some(_))) {
        true if has_other_clock(root) => Err(ControlError::OtherClock),
        true => Ok(()),
        false => Err(ControlError::NoProcesses { proc }),
    }
}

/// Whether this is a time namespace in which processes have other start times
/// (time_namespaces(7)).
fn has_other_clock(root: &Root) -> bool {
    let text = fs::read_to_string(root.path("/proc/self/timens_offsets")).unwrap_or_default();
    let mut line = text
        .lines()
        .filter_map(|line| line.strip_prefix("boottime"));
    let mut offsets = line.next().unwrap_or_default().split_ascii_whitespace();
    offsets.any(|offset| offset != "0")
}

/// Makes the /proc of a fake root show this process.
#[cfg(test)]
pub(crate) fn show_own(root: &Root) {
    let own = std::process::id().to_string();
    let folder = root.path("/proc").join(&own);
    fs::create_dir_all(&folder).unwrap();
    fs::copy("/proc/self/stat", folder.join("stat")).unwrap();
    fs::write(folder.join("mountinfo"), "").unwrap();
    std::os::unix::fs::symlink(own, root.path("/proc/self")).unwrap();
}

/// Sends a signal to `pid` if `still` holds once the pidfd is open. Does nothing if
/// the process is gone.
pub(crate) fn signal(
    pid: Pid,
    signal: Signal,
    still: impl FnOnce() -> Result<bool, ControlError>,
) -> Result<(), ControlError> {
    let Some(raw) = raw(pid) else {
        return Ok(());
    };
    let sent = match pidfd_open(raw, PidfdFlags::empty()) {
        Ok(fd) => match still()? {
            true => pidfd_send_signal(fd, signal),
            false => Ok(()),
        },
        // Linux before 5.3, or a sandbox: signal by PID, with a short race.
        Err(Errno::NOSYS | Errno::PERM) => match still()? {
            true => kill_process(raw, signal),
            false => Ok(()),
        },
        // Its number is in use for as long as others hold it, as that of a session is, but the process has been
        // reaped: `EINVAL`, and `ENOENT` since Linux 6.16.
        Err(Errno::INVAL | Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    };
    outcome(sent, pid, SENT)
}

/// The result of a system call on a process or thread. One that has ended is no
/// error; `verb` is the failed action, as a participle.
pub(crate) fn outcome(
    result: Result<(), Errno>,
    pid: Pid,
    verb: &'static str,
) -> Result<(), ControlError> {
    let path = PathBuf::from(format!("/proc/{pid}"));
    match result {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(Errno::PERM | Errno::ACCESS) => Err(ControlError::Denied { path }),
        Err(errno) => Err(ControlError::file(&path, verb, errno.into())),
    }
}

/// The threads of a process; none if it has ended.
pub(crate) fn threads(root: &Root, pid: Pid) -> Vec<Pid> {
    let entries = fs::read_dir(root.path(format!("/proc/{pid}/task")));
    let names = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect()
}

/// Whether a thread with this line of /proc/PID/task/TID/stat has not ended.
pub(crate) fn is_running(stat: &str) -> bool {
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// The PID as system calls take it; `None` for 0, the caller.
pub(crate) fn raw(pid: Pid) -> Option<RawPid> {
    i32::try_from(pid).ok().and_then(RawPid::from_raw)
}

/// Sends a signal to a process identified by PID and start time.
pub(crate) fn signal_process(
    root: &Root,
    process: ProcessKey,
    number: Signal,
) -> Result<(), ControlError> {
    signal(process.pid, number, || process.lives(root))
}

/// Sends a signal to the process group of `leader`, unless the leader's PID was
/// reused. An empty process group is no error.
pub(crate) fn signal_group(
    root: &Root,
    leader: ProcessKey,
    signal: Signal,
) -> Result<(), ControlError> {
    let Some(raw) = raw(leader.pid) else {
        return Ok(());
    };
    // A zombie keeps its PID.
    if ProcessKey::now(root, leader.pid)? != Some(leader) {
        return Ok(());
    }
    outcome(kill_process_group(raw, signal), leader.pid, SENT)
}

/// Tells the processes of a command from those of a process group that has the same
/// number later: its session, and a random token in its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Mark {
    token: u64,
    session: Pid,
}

impl Mark {
    /// The variable with the token.
    pub(crate) const VARIABLE: &str = "PLIMSOLL_TOKEN";

    /// A mark of commands that this process starts.
    pub(crate) fn random() -> Mark {
        // 0 in a PID namespace whose session was begun outside of it, which rustix does not expect.
        let own = ProcessStat::read(&Root::machine(), std::process::id());
        Mark {
            token: random(),
            session: own.ok().flatten().map_or(0, |stat| stat.session),
        }
    }

    /// Whether a process has the token. `false` also if its environment cannot be read.
    pub(crate) fn is_on(self, root: &Root, pid: Pid) -> bool {
        let wanted = format!("{}={self}", Mark::VARIABLE);
        has_variable(root, pid, |variable| variable == wanted.as_bytes())
    }

    /// Whether a process has any token.
    pub(crate) fn is_any_on(root: &Root, pid: Pid) -> bool {
        let begins = format!("{}=", Mark::VARIABLE);
        has_variable(root, pid, |variable| {
            variable.starts_with(begins.as_bytes())
        })
    }
}

fn has_variable(root: &Root, pid: Pid, is_it: impl Fn(&[u8]) -> bool) -> bool {
    let environment = fs::read(root.path(format!("/proc/{pid}/environ"))).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(is_it)
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.token)
    }
}

/// A command and its processes, without a cgroup: the process group of its leader,
/// and all descendants of its members.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree<'a> {
    pub(crate) leader: ProcessKey,
    /// A process whose children also belong to the tree, because it adopts the tree's
    /// orphans and has no other children.
    pub(crate) adopter: Option<Pid>,
    /// Without it the process group is the tree's only as long as the leader is there: once that was
    /// waited for, another group may have its number.
    pub(crate) mark: Option<Mark>,
    /// Members that were seen without the mark.
    pub(crate) unmarked: &'a [ProcessKey],
}

impl<'a> Tree<'a> {
    /// The tree of a leader that may be gone; its orphans are found by their mark, or were seen
    /// before.
    pub(crate) fn marked(
        leader: ProcessKey,
        mark: Option<Mark>,
        unmarked: &'a [ProcessKey],
    ) -> Tree<'a> {
        Tree {
            leader,
            adopter: None,
            mark,
            unmarked,
        }
    }

    /// The members that have not ended, unordered. Empty if the leader's PID was
    /// reused.
    pub(crate) fn members(self, root: &Root) -> Result<Vec<ProcessStat>, HostError> {
        let is_marked = |pid| self.mark.is_some_and(|mark| mark.is_on(root, pid));
        Ok(members(ProcessStat::all(root)?, self, is_marked))
    }
}

/// The members of any of these trees that have not ended, each once: trees of one group share what has
/// its mark.
pub(crate) fn members_of_all(
    root: &Root,
    trees: impl Iterator<Item = Tree<'static>>,
) -> Result<Vec<ProcessStat>, HostError> {
    let (all, mut marked) = (ProcessStat::all(root)?, BTreeMap::new());
    let mut found = BTreeMap::new();
    for tree in trees {
        let is_marked = |pid| {
            let is_on = || tree.mark.is_some_and(|mark| mark.is_on(root, pid));
            *marked.entry((tree.mark, pid)).or_insert_with(is_on)
        };
        let members = members(all.clone(), tree, is_marked).into_iter();
        found.extend(members.map(|member| (member.pid, member)));
    }
    Ok(found.into_values().collect())
}

fn members(
    mut others: Vec<ProcessStat>,
    tree: Tree<'_>,
    mut is_marked: impl FnMut(Pid) -> bool,
) -> Vec<ProcessStat> {
    let leader = tree.leader;
    let at_pid = others.iter().find(|l| l.pid == leader.pid);
    let leader_is_there = at_pid.is_some_and(|l| ProcessKey::of(l) == leader);
    let reused = at_pid.is_some() && !leader_is_there;
    others.retain(|l| l.started >= leader.started && l.pid != std::process::id());
    let marked: BTreeSet<Pid> = match tree.mark {
        Some(_) => others
            .iter()
            .map(|l| l.pid)
            .filter(|p| is_marked(*p))
            .collect(),
        None => BTreeSet::new(),
    };
    let has_group_id = |l: &ProcessStat| {
        l.group == leader.pid && tree.mark.is_none_or(|mark| l.session == mark.session)
    };
    // A process group keeps its number as long as it has a member: one that is marked
    // shows for all.
    let shown = |l: &ProcessStat| has_group_id(l) && marked.contains(&l.pid);
    let is_ours = leader_is_there || (!reused && others.iter().any(shown));
    let mut found: Vec<ProcessStat> = Vec::new();
    loop {
        let (new, rest): (Vec<ProcessStat>, Vec<ProcessStat>) = others.into_iter().partition(|l| {
            (is_ours && (l.pid == leader.pid || has_group_id(l)))
                || Some(l.parent) == tree.adopter
                || marked.contains(&l.pid)
                || tree.unmarked.contains(&ProcessKey::of(l))
                || found.iter().any(|f| f.pid == l.parent)
        });
        if new.is_empty() {
            break;
        }
        found.extend(new);
        others = rest;
    }
    found.retain(|l| !l.has_ended());
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::CpuTime;

    /// Added to the numbers of processes, so that none is this process.
    const BASE: Pid = 900_000;
    const ADOPTER: Pid = 2;
    const SESSION: Pid = 9;

    fn process(pid: Pid, parent: Pid, group: Pid, started: u64) -> ProcessStat {
        ProcessStat {
            pid: BASE + pid,
            started,
            parent: BASE + parent,
            group: BASE + group,
            session: BASE + SESSION,
            state: 'S',
            own: CpuTime::ZERO,
            reaped: CpuTime::ZERO,
            threads: 1,
        }
    }

    #[test]
    fn a_number_of_no_process_is_one_that_has_ended() {
        // The kernel answers for the number of a thread as for that of a process that is being reaped.
        let thread = std::thread::spawn(|| rustix::thread::gettid().as_raw_pid());
        let own = rustix::thread::gettid().as_raw_pid();
        assert_ne!(own, std::process::id().cast_signed(), "a test has a thread");
        let unasked = || unreachable!("there is no process to ask about");
        signal(own.cast_unsigned(), Signal::TERM, unasked).unwrap();
        let ended = thread.join().unwrap();
        signal(ended.cast_unsigned(), Signal::TERM, unasked).unwrap();
    }

    #[test]
    fn a_tree_is_the_process_group_and_its_descendants() {
        let leader = process(10, 1, 10, 50);
        let in_group = process(11, 1, 10, 51);
        let left_group = process(12, 11, 12, 52);
        let its_child = process(13, 12, 12, 53);
        let other = process(14, 1, 14, 54);
        let reused = process(10, 1, 10, 70);
        let older = process(11, 1, 10, 49);
        let mut ended = leader;
        ended.state = 'Z';
        let adopted = process(15, ADOPTER, 15, 55);
        let of_adopted = process(16, 15, 15, 56);
        let whole = [its_child, other, left_group, in_group, leader];
        let with_orphan = [of_adopted, adopted, other, leader];
        let adopter = Some(BASE + ADOPTER);
        /// A name, the adopter, all processes and the members.
        type Case<'a> = (&'a str, Option<Pid>, &'a [ProcessStat], &'a [Pid]);
        let cases: [Case<'_>; 8] = [
            (
                "descendants that left the group",
                None,
                &whole,
                &[10, 11, 12, 13],
            ),
            ("the orphans of others", None, &with_orphan, &[10]),
            ("adopted orphans", adopter, &with_orphan, &[10, 15, 16]),
            (
                "orphans of a leader whose PID was reused",
                adopter,
                &[of_adopted, adopted, in_group, reused],
                &[15, 16],
            ),
            ("a group without its leader", None, &[in_group], &[]),
            (
                "a group of others with the number of the leader",
                adopter,
                &[in_group, adopted],
                &[15],
            ),
            ("a reused PID", None, &[in_group, reused], &[]),
            ("older and ended processes", None, &[older, ended], &[]),
        ];
        for (case, adopter, processes, expected) in cases {
            let leader = ProcessKey::of(&leader);
            let mark = None;
            let tree = Tree {
                leader,
                adopter,
                mark,
                unmarked: &[],
            };
            let found = members(processes.to_vec(), tree, |_| false);
            assert_eq!(numbers(&found), expected, "{case}");
        }
    }

    fn numbers(found: &[ProcessStat]) -> Vec<Pid> {
        let mut pids: Vec<Pid> = found.iter().map(|found| found.pid - BASE).collect();
        pids.sort_unstable();
        pids
    }

    #[test]
    fn a_group_whose_leader_is_gone_is_told_from_one_of_the_same_number() {
        let leader = process(10, 1, 10, 50);
        let (first, second) = (process(11, 1, 10, 51), process(12, 1, 10, 52));
        let elsewhere = ProcessStat {
            session: BASE + 8,
            ..first
        };
        let (left, its_child) = (process(13, 1, 13, 53), process(14, 13, 13, 54));
        let reused = process(10, 1, 10, 70);
        let mark = Mark {
            token: 7,
            session: BASE + SESSION,
        };
        /// A name, all processes, those with the token, and the members.
        type Case<'a> = (&'a str, &'a [ProcessStat], &'a [Pid], &'a [Pid]);
        let seen = [ProcessKey::of(&process(15, 1, 15, 55))];
        let (unmarked, of_unmarked) = (process(15, 1, 15, 55), process(16, 15, 16, 56));
        let (other, later) = (process(17, 1, 17, 57), process(15, 1, 15, 58));
        let cases: [Case<'_>; 8] = [
            ("with its leader", &[leader, first], &[], &[10, 11]),
            (
                "seen before",
                &[unmarked, of_unmarked, other],
                &[],
                &[15, 16],
            ),
            ("with the number of one seen before", &[later], &[], &[]),
            ("without a token", &[first, second], &[], &[]),
            ("one with the token", &[first, second], &[12], &[11, 12]),
            ("of another session", &[elsewhere], &[], &[]),
            ("orphans", &[left, its_child, first], &[13], &[13, 14]),
            ("a reused PID", &[reused, second, left], &[13], &[13]),
        ];
        for (case, processes, marked, expected) in cases {
            let tree = Tree::marked(ProcessKey::of(&leader), Some(mark), &seen);
            let is_marked = |pid| marked.contains(&(pid - BASE));
            let found = members(processes.to_vec(), tree, is_marked);
            assert_eq!(numbers(&found), expected, "{case}");
        }
    }
}
