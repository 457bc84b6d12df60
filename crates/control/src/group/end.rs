//! Who belongs to a group that has no cgroup, and ending what is in one.

use super::Group;
use crate::error::ControlError;
use crate::folder;
use crate::tasks::{self, Tree};
use crate::tree;
use plimsoll_model::CpuTime;
use rustix::process::Signal;

impl Group {
    /// Sends a signal to the process groups of the commands that were started
    /// here; what has made itself a group of its own does not get it. What
    /// stands still acts upon it once it goes on. Ask before the commands have
    /// been waited for: their numbers are theirs until then.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn signal(&self, signal: Signal) -> Result<(), ControlError> {
        self.leaders
            .iter()
            .try_for_each(|leader| tasks::signal_group(&self.root, *leader, signal))
    }

    /// Kills all that runs in it and waits until it is empty. Whoever started
    /// the commands still has to wait for them.
    ///
    /// # Errors
    /// [`ControlError::StillThere`] when something does not die.
    pub fn kill(&mut self) -> Result<(), ControlError> {
        if !self.made.is_empty() {
            // The one that may be frozen first: not all of it needs to be in there.
            let mut folders = self.made.iter().rev().map(|made| &made.folder);
            return folders.try_for_each(|folder| folder::kill(folder));
        }
        for tree in self.trees() {
            tree::kill(&self.root, tree)?;
        }
        self.reap()
    }

    /// Tells what a command of this group had used that was waited for
    /// ([`crate::wait_counting`]): without a cgroup nobody else knows it then,
    /// and what the group has used would become less.
    pub fn count_ended(&mut self, used: CpuTime) {
        self.ended_used = self.ended_used + used;
    }

    /// Waits for orphans of the commands that were adopted and have ended:
    /// worth a call now and then where
    /// [`Capabilities::keeps_orphans`](crate::Capabilities::keeps_orphans), as
    /// their numbers stay taken until then. Does nothing elsewhere.
    ///
    /// # Errors
    /// When /proc does not tell.
    pub fn reap(&mut self) -> Result<(), ControlError> {
        if !self.capabilities.keeps_orphans {
            return Ok(());
        }
        // Orphans are the first tree's; the leaders of others are waited for by
        // whoever started them.
        let tree = self.trees().next().filter(|_| self.leaders.len() == 1);
        if let Some(tree) = tree {
            let used = tree::reap(&self.root, tree)?;
            self.ended_used = self.ended_used + used;
        }
        Ok(())
    }

    /// The commands without a cgroup. Orphans cannot be told apart, so all of
    /// them belong to the first.
    pub(super) fn trees(&self) -> impl Iterator<Item = Tree> {
        let keeps = self.capabilities.keeps_orphans;
        let own = keeps.then(std::process::id);
        let leaders = self.leaders.iter().enumerate();
        leaders.map(move |(nth, leader)| Tree {
            leader: *leader,
            adopter: own.filter(|_| nth == 0),
        })
    }
}
