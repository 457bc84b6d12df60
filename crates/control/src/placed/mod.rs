//! Restricts running threads to chosen CPUs, and gives them theirs back.
//!
//! What a placed thread starts inherits its CPUs and may leave its parent, its session and its
//! process group. So the placement as such is in the journal, and at the end ([`sweep`]) all
//! tasks that inherited it are looked for.

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
use plimsoll_host::{Cgroups, Pid, TaskStatus, Tid, allowed_cpus, online_cpus, thread_started};
use plimsoll_model::CpuSet;
use record::{Kin, Listed};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// New threads of one call of [`PlacedTasks::follow`], so that signals are looked at in between.
const AT_ONCE: usize = 1024;

/// Threads that are placed; the journal names each of them. What they start is not counted.
const MOST: usize = 32_768;

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
    /// [`PlacedTasks::started`] then.
    ///
    /// # Errors
    /// As of [`PlacedTasks::on`], and if the journal cannot be written.
    pub fn for_command(cpus: &CpuSet, journal: &Journal) -> Result<PlacedTasks, ControlError> {
        let mut placed = PlacedTasks::on(cpus, journal)?;
        let (root, own) = (journal.root(), std::process::id());
        let former = placed.former(own, &allowed_cpus(root, own)?);
        placed.placement.former_of_all(former);
        if let Some(status) = TaskStatus::read(root, own, own)? {
            placed.add_kin(own, &status)?;
        }
        placed.enter()?;
        Ok(placed)
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
    /// among them. Some may be refused, and left as they are.
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
        let gone = self.placement.unlist(|one| !now.contains(&one.thread()));
        if first.is_empty() && gone.is_empty() {
            return Ok(done);
        }
        // Other runs of this user repair or place meanwhile.
        let dir = self.journal.dir().to_owned();
        let _lock = lock(&dir)?;
        for (former, one) in gone {
            let root = self.journal.root();
            // One that does not let go is found again at the end, if it started since.
            let _ = sweep::give_one(&*self.hands, root, &self.placement.pool, &one, &former);
        }
        let mut chosen = Vec::new();
        let known_kin = self.placement.kin.len();
        for thread in first {
            self.choose(thread, &mut chosen, &mut done)?;
        }
        if !chosen.is_empty() || self.placement.kin.len() > known_kin {
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

    /// Lists a thread that is to be placed; one that is on these CPUs already stays as it is.
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
        let is_there = status.cpus == self.placement.pool;
        // What such a one starts is told by its kin.
        if !is_there || started >= self.placement.since {
            self.add_kin(pid, &status)?;
        }
        if is_there {
            done.placed += 1;
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
        match self.hands.place(tid, &self.placement.pool) {
            Err(error) if is_invalid(&error) => {
                return Ok(Some("its cpuset has none of these CPUs".to_owned()));
            }
            Err(error) => return Ok(Some(error.to_string())),
            Ok(()) => {}
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

    fn add_kin(&mut self, pid: Pid, status: &TaskStatus) -> Result<(), ControlError> {
        if let Some(kin) = Kin::of(self.journal.root(), pid, status)? {
            self.placement.kin.insert(kin);
        }
        Ok(())
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
    }
}

fn is_invalid(error: &ControlError) -> bool {
    matches!(error, ControlError::File { source, .. } if source.kind() == io::ErrorKind::InvalidInput)
}

fn refusal(one: Listed, why: &str) -> String {
    let (pid, tid) = one.thread();
    format!("thread {tid} of process {pid} is not restricted to the pool: {why}")
}
