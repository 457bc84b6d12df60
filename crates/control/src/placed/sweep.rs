//! Gives all tasks their CPUs back that a placement has reached.
//!
//! While it works, tasks that still have the pool's CPUs start others. So it looks again until
//! there are no more, or until it reaches a bound on passes or time; then it reports what is left.

use super::heirs::{Tie, ties};
use super::is_invalid;
use super::record::{Kin, Listed, Placement, all_cpus};
use crate::error::ControlError;
use crate::idle::Hands;
use crate::journal::{Undone, lock, named, placed_by_other};
use crate::tasks::{ProcessKey, check_shown};
use plimsoll_host::{
    Pid, ProcessStat, Root, TaskStatus, online_cpus, processes_started, thread_started, threads_of,
};
use plimsoll_model::CpuSet;
use std::collections::btree_map::Entry::Vacant;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often it looks at most.
const MOST_PASSES: usize = 200;

/// After this long the first pass that still finds tasks is the last: each pass may take long where a
/// task has thousands of threads.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// So many passes in a row that find nothing are the end. One can miss a task whose parent ends
/// before it is reached, where numbers of processes begin anew.
const QUIET: usize = 2;

/// So many if any program on the machine has started processes meanwhile: most passes miss a chain of
/// tasks, each of which ends when it has started the next.
const QUIET_BESIDE_STARTS: usize = 10;

/// Gives back what still has exactly the pool's CPUs.
pub(crate) fn give_back(
    hands: &dyn Hands,
    root: &Root,
    journals: &Path,
    placement: &Placement,
) -> Result<Undone, ControlError> {
    check_shown(root)?;
    let mut given = Given::default();
    let mut finder = Finder::new(root, placement)?;
    let (mut quiet, mut is_over) = (0, false);
    let began = Instant::now();
    for _ in 0..MOST_PASSES {
        let _lock = lock(journals)?;
        if let Some(owner) = placed_by_other(journals, root, &placement.pool)? {
            return Ok(Undone::Later(format!(
                "What ran on CPU {} alone stays there, because process {owner} of Plimsoll has placed tasks there, too.",
                placement.pool
            )));
        }
        let (mut found, before) = (0, processes_started(root));
        finder.look(&mut |one, former| {
            found += usize::from(given.give(hands, root, one, former));
        })?;
        quiet = if found == 0 { quiet + 1 } else { 0 };
        let wanted = match processes_started(root) == before {
            true => QUIET,
            false => QUIET_BESIDE_STARTS,
        };
        is_over = quiet >= wanted;
        if is_over || (found > 0 && began.elapsed() > TIME_LIMIT) {
            break;
        }
    }
    if !is_over {
        finder.look(&mut |one, _| {
            let why = "new ones are started too fast".to_owned();
            given.stuck.entry(one).or_insert(why);
        })?;
    }
    if !is_over && given.stuck.is_empty() {
        return Ok(Undone::Later(format!(
            "Tasks that a gate has placed on CPU {} start new ones too fast to find all; some may stay there.",
            placement.pool
        )));
    }
    Ok(given.outcome(root, &placement.pool))
}

/// What a look without a change finds, in a sentence.
pub(crate) fn left(root: &Root, placement: &Placement) -> Result<Option<String>, ControlError> {
    let mut pinned = BTreeSet::new();
    Finder::new(root, placement)?.look(&mut |one, _| {
        pinned.insert(one);
    })?;
    Ok((!pinned.is_empty()).then(|| {
        format!(
            "{} on CPU {} alone, where a gate has placed them: {}.",
            count(pinned.len(), "runs", "run"),
            placement.pool,
            processes(root, pinned.iter())
        )
    }))
}

/// Gives one thread its CPUs back, if it is still the one that was placed, and still there.
pub(super) fn give_one(
    hands: &dyn Hands,
    root: &Root,
    pool: &CpuSet,
    one: &Listed,
    former: &CpuSet,
) -> Result<(), ControlError> {
    let (pid, tid) = one.thread();
    let status = TaskStatus::read(root, pid, tid)?;
    let is_there = status.is_some_and(|status| status.cpus == *pool);
    match is_there && one.is_alive(root)? {
        true => hands.place(tid, former),
        false => Ok(()),
    }
}

/// Finds the threads that a placement has reached.
struct Finder<'a> {
    root: &'a Root,
    placement: &'a Placement,
    /// What tasks get of which nothing else is known.
    usual: &'a CpuSet,
    online: CpuSet,
    listed: BTreeMap<Listed, &'a CpuSet>,
    /// Processes that were found by their kin, with what is given back: so are their children.
    caught: BTreeMap<ProcessKey, &'a CpuSet>,
    /// Users and cgroups of these, and of what was placed.
    kin: BTreeSet<Kin>,
}

impl<'a> Finder<'a> {
    fn new(root: &'a Root, placement: &'a Placement) -> Result<Finder<'a>, ControlError> {
        Ok(Finder {
            root,
            placement,
            usual: placement.usual_former().unwrap_or(&placement.pool),
            online: online_cpus(root)?,
            listed: placement.threads().collect(),
            caught: BTreeMap::new(),
            kin: placement.kin.clone(),
        })
    }

    /// Calls `found` with each thread and what it had, parents before children.
    fn look(&mut self, found: &mut dyn FnMut(Listed, &CpuSet)) -> Result<(), ControlError> {
        let all = ProcessStat::all(self.root)?;
        for (process, tie) in ties(all, self.placement, &self.caught) {
            self.look_into(process, tie, found)?;
        }
        Ok(())
    }

    fn look_into(
        &mut self,
        process: ProcessStat,
        tie: Tie<'a>,
        found: &mut dyn FnMut(Listed, &CpuSet),
    ) -> Result<(), ControlError> {
        let pid = process.pid;
        for tid in threads_of(self.root, pid)? {
            let Some(status) = TaskStatus::read(self.root, pid, tid)? else {
                continue;
            };
            // The kernel pins threads of its own.
            if status.cpus != self.placement.pool || !status.has_memory {
                continue;
            }
            let Some(started) = thread_started(self.root, pid, tid)? else {
                continue;
            };
            let one = Listed::new(pid, tid, started);
            let inherited = match (self.listed.get(&one), tie) {
                (Some(former), _) => Some(*former),
                (None, _) if started < self.placement.since => None,
                (None, Tie::Descent(former)) => Some(former),
                (None, Tie::Unseen) => self.is_kin(pid, &status)?.then_some(self.usual),
            };
            if let Some(former) = inherited.filter(|former| self.is_other(former)) {
                if let Vacant(new) = self.caught.entry(ProcessKey::of(&process)) {
                    new.insert(former);
                    self.kin.extend(Kin::of(self.root, pid, &status)?);
                }
                found(one, former);
            }
        }
        Ok(())
    }

    fn is_other(&self, former: &CpuSet) -> bool {
        former.and(&self.online) != self.placement.pool
    }

    /// Only where a pool that is not the whole machine tells them from everything else.
    fn is_kin(&self, pid: Pid, status: &TaskStatus) -> Result<bool, ControlError> {
        if self.online.without(&self.placement.pool).is_empty() {
            return Ok(false);
        }
        let kin = Kin::of(self.root, pid, status)?;
        Ok(kin.is_some_and(|kin| self.kin.contains(&kin)))
    }
}

/// What was given back, and what was not.
#[derive(Default)]
struct Given {
    given: BTreeSet<Listed>,
    stuck: BTreeMap<Listed, String>,
}

impl Given {
    /// Whether something was done. A thread whose cpuset has only the pool stays there.
    fn give(&mut self, hands: &dyn Hands, root: &Root, one: Listed, former: &CpuSet) -> bool {
        let is_known = self.given.contains(&one) || self.stuck.contains_key(&one);
        // Since it was read it may have ended, and another one may have its number.
        if is_known || !matches!(one.is_alive(root), Ok(true)) {
            return false;
        }
        let (_, tid) = one.thread();
        let placed = match hands.place(tid, former) {
            // It is in another cpuset now.
            Err(error) if is_invalid(&error) => hands.place(tid, &all_cpus()),
            placed => placed,
        };
        match placed {
            Ok(()) => {
                self.given.insert(one);
            }
            Err(error) => {
                self.stuck.insert(one, error.to_string());
            }
        }
        true
    }

    fn outcome(self, root: &Root, pool: &CpuSet) -> Undone {
        let sentence = (!self.given.is_empty()).then(|| {
            format!(
                "Gave {} back their former CPUs, instead of CPU {pool} alone: {}.",
                count(self.given.len(), "", "").trim_end(),
                processes(root, self.given.iter())
            )
        });
        let Some(why) = self.stuck.values().next() else {
            return Undone::Done(sentence);
        };
        let stuck = format!(
            "{} on CPU {pool} alone, where a gate has placed them, of {}: {why}.",
            count(self.stuck.len(), "stays", "stay"),
            processes(root, self.stuck.keys())
        );
        let given = sentence.map_or(String::new(), |sentence| sentence + " ");
        Undone::Later(given + &stuck)
    }
}

fn count(n: usize, one: &str, more: &str) -> String {
    match n {
        1 => format!("1 thread {one}"),
        n => format!("{n} threads {more}"),
    }
}

fn processes<'a>(root: &Root, threads: impl Iterator<Item = &'a Listed>) -> String {
    let pids: BTreeSet<Pid> = threads.map(|one| one.thread().0).collect();
    named(root, &pids.into_iter().collect::<Vec<Pid>>())
}
