//! Members of a group without a cgroup; ending all processes of a group.

use super::{Group, Made};
use crate::error::ControlError;
use crate::folder;
use crate::journal::Change;
use crate::layout::Version;
use crate::orphans;
use crate::tasks::{self, ProcessKey, Tree};
use crate::tree;
use plimsoll_host::Pid;
use plimsoll_model::CpuTime;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::process::{Child, ExitStatus};
use wait4::Wait4;

/// A bound on a line of the journal.
const MOST_UNMARKED: usize = 4096;

impl Group {
    /// Sends a signal to the process groups of the commands started here. A process
    /// that has left its process group does not get it. A frozen process handles it
    /// when thawed. Call this before the commands are reaped, while their PIDs are
    /// still reserved.
    pub fn signal(&self, signal: Signal) -> Result<(), ControlError> {
        self.leaders
            .iter()
            .try_for_each(|leader| tasks::signal_group(&self.root, *leader, signal))
    }

    /// Kills all processes and waits until the group is empty. The caller must still
    /// reap the commands it started.
    ///
    /// # Errors
    /// [`ControlError::StillThere`] if a process does not die.
    pub fn kill(&mut self) -> Result<(), ControlError> {
        if !self.made.is_empty() {
            // The folder that may be frozen comes first: it may lack some of the
            // processes.
            let mut folders = self.made.iter().rev().map(|made| &made.folder);
            folders.try_for_each(|folder| folder::kill(folder))?;
            return self.kill_outside();
        }
        for tree in self.trees() {
            tree::kill(&self.root, tree)?;
        }
        self.reap()
    }

    /// The processes of the commands of which a thread is not in all of the cgroups, which root can
    /// leave: nothing holds it, and its CPU time may not be counted. None without a cgroup. What a command has
    /// detached is among them where this process adopts it ([`CgroupLayout::keeping_orphans`]).
    ///
    /// # Errors
    /// If /proc cannot be read.
    ///
    /// [`CgroupLayout::keeping_orphans`]: crate::CgroupLayout::keeping_orphans
    pub fn escaped(&self) -> Result<Vec<Pid>, ControlError> {
        if self.made.is_empty() {
            return Ok(Vec::new());
        }
        let mut outside = BTreeSet::new();
        for tree in self.live_trees()? {
            for member in tree.members(&self.root)? {
                // One that has ended since may be shown in the root cgroup.
                if self.has_thread_outside(member.pid)
                    && ProcessKey::of(&member).lives(&self.root)?
                {
                    outside.insert(member.pid);
                }
            }
        }
        Ok(outside.into_iter().collect())
    }

    /// With version 1 each thread has its own cgroups.
    fn has_thread_outside(&self, pid: Pid) -> bool {
        let is_outside = |tid: Pid| {
            let folder = self.root.path(format!("/proc/{pid}/task/{tid}"));
            let has_left = fs::read_to_string(folder.join("cgroup"))
                .is_ok_and(|cgroups| !self.has_in_all(&cgroups));
            let stat = || fs::read_to_string(folder.join("stat")).unwrap_or_default();
            has_left && tasks::is_running(&stat())
        };
        tasks::threads(&self.root, pid).into_iter().any(is_outside)
    }

    /// Whether this /proc/PID/cgroup (cgroups(7)) is of a process in each of the folders that commands
    /// join when they start.
    fn has_in_all(&self, cgroups: &str) -> bool {
        let is_in = |made: &Made| {
            let name = made
                .folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy();
            let of_made = |controllers: &str| match made.place.version {
                Version::V2 => controllers.is_empty(),
                Version::V1 => controllers
                    .split(',')
                    .any(|one| made.place.controllers.contains(one)),
            };
            cgroups.lines().any(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                let (controllers, path) = (parts.next(), parts.next().unwrap_or_default());
                controllers.is_some_and(of_made) && path.contains(&*name)
            })
        };
        let mut joined = self
            .made
            .iter()
            .filter(|made| self.is_joined_at_start(made));
        joined.all(is_in)
    }

    /// Kills processes that have left the cgroups, which root can.
    fn kill_outside(&mut self) -> Result<(), ControlError> {
        for tree in self.live_trees()? {
            tree::kill(&self.root, tree)?;
        }
        self.reap()
    }

    /// The trees of commands that have not been waited for, or all of them as one if their orphans
    /// are adopted.
    fn live_trees(&self) -> Result<Vec<Tree<'static>>, ControlError> {
        let mut live = Vec::new();
        for tree in self.trees() {
            // A zombie keeps its PID, also as the number of its process group.
            let has_pid = || ProcessKey::now(&self.root, tree.leader.pid);
            if tree.adopter.is_some() || has_pid()? == Some(tree.leader) {
                live.push(tree);
            }
        }
        Ok(live)
    }

    /// Adds the CPU time of a command that was reaped ([`wait_with_cpu_time`]).
    /// Without a cgroup this time is otherwise lost, and the usage of the group would
    /// decrease.
    pub fn count_ended(&mut self, used: CpuTime) {
        self.ended_used = self.ended_used + used;
    }

    /// Reaps adopted orphans of the commands, whose PIDs stay reserved until then
    /// ([`Capabilities::keeps_orphans`](crate::Capabilities::keeps_orphans)), and records processes
    /// that a repair could not find by itself. Call it now and then.
    pub fn reap(&mut self) -> Result<(), ControlError> {
        if self.made.is_empty() {
            // What cannot be recorded now is tried again, and reported, before it is stopped.
            let _ = self.record_unmarked();
        }
        if !self.capabilities.keeps_orphans || !orphans::a_child_has_ended() {
            return Ok(());
        }
        let used = tree::reap(&self.root, &self.leaders)?;
        self.ended_used = self.ended_used + used;
        Ok(())
    }

    /// The commands with what they have started. If this process adopts their orphans, all its
    /// children since the first command are theirs, and make one tree.
    pub(super) fn trees(&self) -> impl Iterator<Item = Tree<'static>> {
        let keeps = self.capabilities.keeps_orphans;
        let adopter = keeps.then(std::process::id);
        let count = if keeps { 1 } else { self.leaders.len() };
        self.leaders.iter().take(count).map(move |leader| Tree {
            leader: *leader,
            adopter,
            mark: (!keeps && self.made.is_empty()).then_some(self.mark),
            unmarked: &[],
        })
    }

    /// Records processes that a repair cannot find by their mark. Call it before and after they are
    /// stopped: once this process is killed, only the journal has them.
    pub(super) fn record_unmarked(&mut self) -> Result<(), ControlError> {
        let trees: Vec<Tree<'_>> = self.trees().collect();
        for tree in trees {
            let of_tree = |(_, change): &&mut (_, Change)| matches!(change, Change::TreeStarted { leader, .. } if *leader == tree.leader);
            let Some((entry, change)) = self.changes.iter_mut().find(of_tree) else {
                continue;
            };
            let Change::TreeStarted {
                mark: Some(mark),
                unmarked,
                ..
            } = change
            else {
                continue;
            };
            let members = tree.members(&self.root)?.into_iter();
            let without = members.filter(|one| !mark.is_on(&self.root, one.pid));
            let mut now: Vec<ProcessKey> = without.map(|one| ProcessKey::of(&one)).collect();
            now.sort_unstable();
            now.truncate(MOST_UNMARKED);
            if now != *unmarked {
                *unmarked = now;
                self.journal.amend(*entry, change)?;
            }
        }
        Ok(())
    }
}

/// Waits until a command has ended. Returns its exit status and the CPU time of it
/// and of all descendants that were waited for, to the microsecond.
pub fn wait_with_cpu_time(child: &mut Child) -> io::Result<(ExitStatus, CpuTime)> {
    loop {
        match child.wait4() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(ended) => {
                let used = ended.rusage.utime + ended.rusage.stime;
                return Ok((ended.status, CpuTime(used)));
            }
        }
    }
}
