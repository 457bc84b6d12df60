//! Giving all back from another thread, before the process ends where it is.

use super::{Entry, Journal, Undone, undo};
use plimsoll_host::Root;
use std::fs;
use std::sync::{Arc, PoisonError};

impl Journal {
    /// What gives back all that stands in the journal, whatever its owner is doing,
    /// and lets nothing be started any more: for the moment before the process
    /// exits. It keeps no journal open, and does nothing for one that is gone.
    pub fn at_once(&self) -> impl Fn() + Send + Sync + use<> {
        let (root, open) = (self.root.clone(), Arc::downgrade(&self.open));
        let starts = Arc::clone(&self.starts);
        move || {
            if let Some(open) = open.upgrade() {
                let (root, starts) = (root.clone(), Arc::clone(&starts));
                Journal { open, starts, root }.give_back_all();
            }
        }
    }

    /// The machine that it is of.
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    fn give_back_all(&self) {
        // What is being started now is waited for, and what comes later waits for
        // the end.
        let _nothing_starts = self.starts.write().unwrap_or_else(PoisonError::into_inner);
        let changes = {
            let mut open = self.lock();
            open.is_closed = true;
            open.outstanding.clone()
        };
        for (nth, change) in changes.into_iter().rev() {
            // What fails stays in the journal, and the next start says so.
            if matches!(undo(&self.root, &change), Ok(Undone::GivenBack(_))) {
                let _ = self.given_back(Entry(nth));
            }
        }
        let open = self.lock();
        if open.outstanding.is_empty() {
            let _ = fs::remove_file(&open.path);
        }
    }
}
