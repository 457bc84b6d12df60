//! Undoes all changes from another thread, right before the process exits.

use super::{Entry, Journal, Undone};
use plimsoll_host::Root;
use std::fs;
use std::sync::{Arc, PoisonError};

impl Journal {
    /// Returns a function that undoes all changes in the journal, whatever its owner is
    /// doing, and refuses further starts: for the moment before the process exits. The
    /// function does not keep the journal open, and does nothing if it is closed.
    pub fn at_once(&self) -> impl Fn() + Send + Sync + use<> {
        let (root, dir) = (self.root.clone(), self.dir.clone());
        let open = Arc::downgrade(&self.open);
        let starts = Arc::clone(&self.starts);
        move || {
            if let Some(open) = open.upgrade() {
                let (root, starts) = (root.clone(), Arc::clone(&starts));
                let dir = dir.clone();
                Journal {
                    open,
                    starts,
                    root,
                    dir,
                }
                .undo_all();
            }
        }
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    fn undo_all(&self) {
        // Waits for starts in progress; later starts wait until the process exits.
        let _nothing_starts = self.starts.write().unwrap_or_else(PoisonError::into_inner);
        let changes = {
            let mut open = self.lock();
            open.is_closed = true;
            open.outstanding.clone()
        };
        for (nth, change) in changes.into_iter().rev() {
            // A failed change stays in the journal; the next start reports it.
            if matches!(self.undo().undo(&change), Ok(Undone::Done(_))) {
                let _ = self.mark_undone(Entry(nth));
            }
        }
        let open = self.lock();
        if open.outstanding.is_empty() {
            let _ = fs::remove_file(&open.path);
        }
    }
}
