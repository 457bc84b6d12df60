//! A job's group, which more than one thread uses.

use plimsoll_control::Group;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The group is used by the thread that starts a command again, too.
pub(super) type SharedGroup = Arc<Mutex<Group>>;

pub(super) fn lock(group: &SharedGroup) -> MutexGuard<'_, Group> {
    // A thread that panicked while it held it has left a group all the same.
    group.lock().unwrap_or_else(PoisonError::into_inner)
}
