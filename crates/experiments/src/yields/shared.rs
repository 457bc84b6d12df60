//! Shared by all arms: the minimum for a job, and access to a job's group from
//! several threads.

use plimsoll_control::Group;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The minimum CPU time of a job: the kernel's minimum quota is 1 ms, and a job
/// without CPU time yields no measurement.
pub(super) const FLOOR: f64 = 0.05;

/// The thread that restarts a command uses the group, too.
pub(super) type SharedGroup = Arc<Mutex<Group>>;

pub(super) fn lock(group: &SharedGroup) -> MutexGuard<'_, Group> {
    // A thread that panicked with the lock leaves a valid group.
    group.lock().unwrap_or_else(PoisonError::into_inner)
}
