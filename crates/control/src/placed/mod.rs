//! Restricts running threads to chosen CPUs, and gives them theirs back.
//!
//! What a placed thread starts inherits its CPUs and may leave its parent, its session and its
//! process group. So the placement as such is in the journal, and at the end ([`sweep`]) all
//! tasks that inherited it are looked for. Orphans of a command become children of this process
//! meanwhile, so that they can be found whatever user they run as.

mod heirs;
mod record;
mod sweep;
#[cfg(test)]
mod tests;

pub(crate) use record::Placement;
pub(crate) use sweep::{give_back, left};

use crate::error::ControlError;
use crate::idle::{Hands, Machine};
use crate::journal::{Change, Entry, Journal, Undone, lock};
use crate::tasks::ProcessKey;
use plimsoll_host::{
    Cgroups, Pid, ProcessStat, TaskStatus, Tid, allowed_cpus, online_cpus, thread_started,
};
use plimsoll_model::CpuSet;
use record::{Kin, Listed};
use rustix::process::set_child_subreaper;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// The process of the kernel's threads and their parent, as the initial PID namespace has it.
const KTHREADD: Pid = 2;

/// New threads of one call of [`PlacedTasks::follow`], so that signals are looked at in between.
const AT_ONCE: usize = 1024;

/// Threads that the journal lists: placed ones, and what they have started, as far as it was seen.
const MOST: usize = 32_768;

/// Limits on what other users choose: the pairs of user and cgroups in the journal, and the length of
/// the names of cgroups in bytes.
const MOST_KIN: usize = 256;
const LONGEST_CGROUPS: usize = 8192;

/// Threads that run on chosen CPUs until this is dropped. One that gets others meanwhile keeps
/// them.
#[derive(Debug)]
pub struct PlacedTasks {
    journal: Journal,
    hands: Arc<dyn Hands>,
    placement: Placement,
    /// `None` before anything is placed, and after all is given back.
    entry: Option<Entry>,
    /// All CPUs of the machine.
    online: CpuSet,
    cgroups: Cgroups,
    /// Threads that were looked at.
    seen: BTreeSet<(Pid, Tid)>,
    /// The tasks are a command's: started on these CPUs. One that runs elsewhere has moved itself.
    of_command: bool,
    /// That [`MOST_KIN`] or [`LONGEST_CGROUPS`] was exceeded is reported once.
    limit_reported: bool,
    /// Tasks that left the followed set and live on: ancestors of what they start.
    left: BTreeSet<Listed>,
}

/// What came of [`PlacedTasks::follow`].
#[derive(Debug, Default)]
pub struct Placed {
    /// Of these threads, how many are on the CPUs now.
    pub placed: usize,
    /// Threads that stay where they are: why, a clause each.
    pub refused: Vec<String>,
    /// There are more new ones, for the next call.
    pub more: bool,
}

impl PlacedTasks {
    /// # Errors
    /// The CPUs of the machine, or when this process was started, cannot be read.
    pub fn on(cpus: &CpuSet, journal: &Journal) -> Result<PlacedTasks, ControlError> {
        PlacedTasks::by(cpus, journal, Arc::new(Machine))
    }

    /// For a command that this process starts on `cpus`. Call it before, and
    /// [`PlacedTasks::started`] then. Until it is dropped, orphans of the command become children
    /// of this process, which has to wait for them.
    ///
    /// # Errors
    /// As of [`PlacedTasks::on`], and if the journal cannot be written.
    pub fn for_command(cpus: &CpuSet, journal: &Journal) -> Result<PlacedTasks, ControlError> {
        let mut placed = PlacedTasks::on(cpus, journal)?;
        let (root, own) = (journal.root(), std::process::id());
        let former = placed.former(own, &allowed_cpus(root, own)?);
        // All of the command descends from it.
        let own_thread = Listed::new(own, own, placed.placement.since);
        placed.placement.list(former, own_thread);
        if let Some(status) = TaskStatus::read(root, own, own)? {
            placed.add_kin(own, &status)?;
        }
        placed.enter()?;
        placed.of_command = true;
        // If this fails, only orphans that kept their user and cgroups are found.
        let _ = set_child_subreaper(crate::tasks::raw(own));
        Ok(placed)
    }

    /// The CPUs.
    pub fn pool(&self) -> &CpuSet {
        &self.placement.pool
    }

    fn by(
        cpus: &CpuSet,
        journal: &Journal,
        hands: Arc<dyn Hands>,
    ) -> Result<PlacedTasks, ControlError> {
        let (root, own) = (journal.root(), std::process::id());
        let since = ProcessKey::now(root, own)?.map_or(0, |own| own.started);
        Ok(PlacedTasks {
            online: online_cpus(root)?,
            cgroups: Cgroups::find(root).unwrap_or_default(),
            placement: Placement::on(cpus.clone(), since),
            journal: journal.clone(),
            hands,
            entry: None,
            seen: BTreeSet::new(),
            of_command: false,
            limit_reported: false,
            left: BTreeSet::new(),
        })
    }

    /// Tells which process the command is.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn started(&mut self, pid: Pid) -> Result<(), ControlError> {
        let Some(key) = ProcessKey::now(self.journal.root(), pid)? else {
            return Ok(());
        };
        let former = self.placement.usual_former().cloned();
        if let Some(former) = former {
            self.placement
                .list(former, Listed::new(pid, pid, key.started));
        }
        self.enter()
    }

    /// Places the threads that are new among these, and gives back those that are no longer
    /// among them. Some may be refused, and left as they are. Those of a command are not placed, only
    /// listed.
    ///
    /// # Errors
    /// The journal cannot be written, or /proc cannot be read.
    pub fn follow(&mut self, threads: &[(Pid, Tid)]) -> Result<Placed, ControlError> {
        // Not those of this process, which are where they are on purpose.
        let others = threads.iter().filter(|(pid, _)| *pid != std::process::id());
        let now: BTreeSet<(Pid, Tid)> = others.copied().collect();
        self.seen.retain(|thread| now.contains(thread));
        let mut new = now.iter().filter(|thread| !self.seen.contains(thread));
        let first: Vec<(Pid, Tid)> = new.by_ref().take(AT_ONCE).copied().collect();
        let mut done = Placed {
            more: new.next().is_some(),
            ..Placed::default()
        };
        self.seen.extend(&first);
        let own = std::process::id();
        let root = self.journal.root();
        self.left
            .retain(|one| matches!(one.is_alive(root), Ok(true)));
        let left = &self.left;
        let gone = self.placement.unlist(|one| {
            one.thread() != (own, own) && !now.contains(&one.thread()) && !left.contains(one)
        });
        if first.is_empty() && gone.is_empty() {
            return Ok(done);
        }
        // Other runs of this user repair or place meanwhile.
        let dir = self.journal.dir().to_owned();
        let _lock = lock(&dir)?;
        for (former, one) in gone {
            // One that does not let go is found again at the end, if it started since.
            let _ = sweep::give_one(&*self.hands, root, &self.placement.pool, &one, &former);
            if one.is_alive(root)? {
                self.placement.list(former, one);
                self.left.insert(one);
            }
        }
        let mut chosen = Vec::new();
        let known = (self.placement.kin.len(), self.placement.len());
        for thread in first {
            self.choose(thread, &mut chosen, &mut done)?;
        }
        if (self.placement.kin.len(), self.placement.len()) != known {
            self.enter()?;
        }
        for one in chosen {
            match self.place(one)? {
                None => done.placed += 1,
                Some(why) => {
                    self.placement.unlist(|listed| *listed == one);
                    done.refused.push(refusal(one, &why));
                }
            }
        }
        Ok(done)
    }

    /// Lists a thread that is to be placed, or that has inherited the placement: it is found
    /// again even if it leaves its parent, its user and its cgroups.
    fn choose(
        &mut self,
        (pid, tid): (Pid, Tid),
        chosen: &mut Vec<Listed>,
        done: &mut Placed,
    ) -> Result<(), ControlError> {
        let root = self.journal.root();
        let status = TaskStatus::read(root, pid, tid)?;
        let started = thread_started(root, pid, tid)?;
        let (Some(status), Some(started)) = (status, started) else {
            return Ok(());
        };
        let one = Listed::new(pid, tid, started);
        if !status.has_memory {
            // At the end, too, threads of the kernel are left alone: it places most of them itself.
            let process = ProcessStat::read(root, pid)?;
            let is_kernels = |it: ProcessStat| it.pid == KTHREADD || it.parent == KTHREADD;
            if process.is_some_and(is_kernels) {
                done.refused
                    .push(refusal(one, "it is a thread of the kernel"));
            }
            return Ok(());
        }
        let is_there = status.cpus == self.placement.pool;
        let inherited = is_there && started >= self.placement.since;
        if !is_there || inherited {
            done.refused.extend(self.add_kin(pid, &status)?);
        }
        if is_there || self.of_command {
            done.placed += 1;
            let former = self.placement.usual_former().cloned();
            if let Some(former) = former.filter(|_| inherited && self.placement.len() < MOST) {
                self.placement.list(former, one);
            }
            return Ok(());
        }
        if self.placement.len() >= MOST {
            let why = format!("{MOST} threads are, and further ones stay where they are");
            done.refused.push(refusal(one, &why));
            return Ok(());
        }
        let former = self.former(pid, &status.cpus);
        self.placement.list(former, one);
        chosen.push(one);
        Ok(())
    }

    /// Places a thread that is in the journal; a clause says why not.
    fn place(&self, one: Listed) -> Result<Option<String>, ControlError> {
        let root = self.journal.root();
        let (pid, tid) = one.thread();
        if !one.is_alive(root)? {
            return Ok(None);
        }
        match self.hands.place(tid, &self.placement.pool) {
            Err(error) if is_invalid(&error) => {
                return Ok(Some("its cpuset has none of these CPUs".to_owned()));
            }
            Err(error) => return Ok(Some(error.to_string())),
            Ok(()) => {}
        }
        if !one.is_alive(root)? {
            return self.free_reused(tid);
        }
        let status = TaskStatus::read(root, pid, tid)?;
        let Some(status) = status.filter(|status| status.cpus != self.placement.pool) else {
            return Ok(None);
        };
        // At the end nothing distinguishes it from one that another program has placed.
        if let Some(former) = self.placement.former_of(one) {
            let _ = self.hands.place(tid, former);
        }
        let has = status.cpus;
        Ok(Some(format!("its cpuset has of these CPUs only {has}")))
    }

    /// If a thread ended while it was placed, another may have its number and the pool's CPUs now.
    /// Gives that one all CPUs of its cpuset: what it had before is not known.
    fn free_reused(&self, tid: Tid) -> Result<Option<String>, ControlError> {
        // /proc does not list threads, but can be asked for each.
        let other = TaskStatus::read(self.journal.root(), tid, tid)?;
        if other.is_some_and(|other| other.cpus == self.placement.pool) {
            let _ = self.hands.place(tid, &record::all_cpus());
        }
        Ok(None)
    }

    /// What is given back in place of `cpus`. An explicit list would not follow a cpuset that is
    /// widened later; of all CPUs the kernel takes those that the cpuset has.
    fn former(&self, pid: Pid, cpus: &CpuSet) -> CpuSet {
        let allowed = self.cgroups.cpuset_cpus(self.journal.root(), pid);
        let allowed = allowed
            .ok()
            .flatten()
            .unwrap_or_else(|| self.online.clone());
        match allowed.and(&self.online).without(cpus).is_empty() {
            true => record::all_cpus(),
            false => cpus.clone(),
        }
    }

    /// A sentence once a limit is exceeded.
    fn add_kin(&mut self, pid: Pid, status: &TaskStatus) -> Result<Option<String>, ControlError> {
        let Some(new) = Kin::of(self.journal.root(), pid, status)? else {
            return Ok(None);
        };
        let kin = &mut self.placement.kin;
        let fits = kin.len() < MOST_KIN && new.cgroups.len() <= LONGEST_CGROUPS;
        if kin.contains(&new) || fits {
            kin.insert(new);
            return Ok(None);
        }
        let reported = std::mem::replace(&mut self.limit_reported, true);
        Ok((!reported).then(|| {
            format!("the tasks have more than {MOST_KIN} pairs of user and cgroups, or names of cgroups above {LONGEST_CGROUPS} bytes; what leaves its parent there may stay on the pool")
        }))
    }

    fn enter(&mut self) -> Result<(), ControlError> {
        let change = Change::TasksPlaced(self.placement.clone());
        match self.entry {
            Some(entry) => self.journal.amend(entry, &change),
            None => {
                self.entry = Some(self.journal.enter(&change)?);
                Ok(())
            }
        }
    }

    /// Gives everything back; a sentence says what stays, and is tried again by the repair.
    ///
    /// # Errors
    /// /proc cannot be read. All stays in the journal.
    pub fn give_back(&mut self) -> Result<Option<String>, ControlError> {
        let Some(entry) = self.entry.take() else {
            return Ok(None);
        };
        let (root, dir) = (self.journal.root(), self.journal.dir());
        match give_back(&*self.hands, root, dir, &self.placement)? {
            Undone::Done(_) => {
                self.journal.mark_undone(entry)?;
                Ok(None)
            }
            Undone::Later(sentence) | Undone::StillRuns(sentence) => Ok(Some(sentence)),
        }
    }
}

impl Drop for PlacedTasks {
    fn drop(&mut self) {
        // What fails stays in the journal, and the next start reports it.
        let _ = self.give_back();
        if self.of_command {
            let _ = set_child_subreaper(None);
        }
    }
}

fn is_invalid(error: &ControlError) -> bool {
    matches!(error, ControlError::File { source, .. } if source.kind() == io::ErrorKind::InvalidInput)
}

fn refusal(one: Listed, why: &str) -> String {
    let (pid, tid) = one.thread();
    format!("thread {tid} of process {pid} is not restricted to the pool: {why}")
}
