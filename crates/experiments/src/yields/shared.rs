//! What all arms share: the least that a job is given, and a job's group, which
//! more than one thread uses.

use plimsoll_control::Group;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a job is never given less than: the kernel takes no quota below a
/// millisecond, and a job without any CPU time tells nothing.
pub(super) const FLOOR: f64 = 0.05;

/// The group is used by the thread that starts a command again, too.
pub(super) type SharedGroup = Arc<Mutex<Group>>;

pub(super) fn lock(group: &SharedGroup) -> MutexGuard<'_, Group> {
    // A thread that panicked while it held it has left a group all the same.
    group.lock().unwrap_or_else(PoisonError::into_inner)
}
