//! Access of the loop to its group, which may be shared.

use plimsoll_control::Group;
use std::sync::{Arc, Mutex, PoisonError};

/// Access to a group. The loop uses it briefly and not while it reads the machine,
/// so that other users of the group do not wait.
pub trait Reach {
    /// Calls `act` with the group.
    fn with<T>(&mut self, act: impl FnOnce(&mut Group) -> T) -> T;
}

impl Reach for Group {
    fn with<T>(&mut self, act: impl FnOnce(&mut Group) -> T) -> T {
        act(self)
    }
}

impl Reach for Arc<Mutex<Group>> {
    fn with<T>(&mut self, act: impl FnOnce(&mut Group) -> T) -> T {
        // A thread that panicked with the lock leaves a valid group.
        act(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
