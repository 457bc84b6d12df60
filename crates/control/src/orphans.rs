//! Orphans of commands: processes that a command detaches. The kernel gives them to this process
//! (prctl(2), `PR_SET_CHILD_SUBREAPER`), whatever they do to their session and environment.

use crate::error::ControlError;
use crate::poll::until;
use crate::tasks::{self, ProcessKey};
use crate::tree;
use plimsoll_host::{ProcessStat, Root};
use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions, WaitIdStatus, set_child_subreaper, waitid};

/// While this exists, this process adopts orphans. Dropping it kills those that are left.
#[derive(Debug)]
pub struct AdoptedOrphans {
    root: Root,
}

impl AdoptedOrphans {
    /// Adopts orphans from now on, if all children of this process will be its own commands:
    /// `None` if it has children already or is init, or if the kernel refuses.
    pub fn adopt(root: &Root) -> Option<AdoptedOrphans> {
        if !can_adopt() {
            return None;
        }
        set_child_subreaper(tasks::raw(std::process::id())).ok()?;
        Some(AdoptedOrphans { root: root.clone() })
    }

    /// Kills all children of this process, and what they leave, until there are none. Call it when
    /// no command runs.
    ///
    /// # Errors
    /// [`ControlError::StillThere`] if a process does not die.
    pub fn end(&self) -> Result<(), ControlError> {
        let mut left = Vec::new();
        let gone = until(|| {
            if is_childless() {
                return Ok(true);
            }
            let own = std::process::id();
            let mut children = ProcessStat::all(&self.root)?;
            children.retain(|process| process.parent == own && !process.has_ended());
            for child in &children {
                tasks::signal_process(&self.root, ProcessKey::of(child), Signal::KILL)?;
            }
            left = children.iter().map(|child| child.pid).collect();
            tree::reap(&self.root, &[])?;
            Ok(is_childless())
        })?;
        match gone {
            true => Ok(()),
            false => Err(ControlError::still_there("a command".to_owned(), &left)),
        }
    }
}

impl Drop for AdoptedOrphans {
    fn drop(&mut self) {
        // What cannot be killed goes to its usual parent when this process ends.
        let _ = self.end();
        let _ = set_child_subreaper(None);
    }
}

/// Whether all that this process adopts would come from commands that it will start.
pub(crate) fn can_adopt() -> bool {
    std::process::id() != 1 && is_childless()
}

fn is_childless() -> bool {
    matches!(an_ended_child(), Err(Errno::CHILD))
}

/// Whether a child waits to be reaped.
pub(crate) fn a_child_has_ended() -> bool {
    !matches!(an_ended_child(), Ok(None) | Err(Errno::CHILD))
}

/// Leaves it as it is. This is faster than a search through all processes.
fn an_ended_child() -> Result<Option<WaitIdStatus>, Errno> {
    let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::All, any)
}
