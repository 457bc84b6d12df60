//! How the loop gets at the group: it is its own, or others have it, too.

use plimsoll_control::Group;
use std::sync::{Arc, Mutex, PoisonError};

/// A group that can be got at. The loop asks for it in short moments only, so
/// that whoever shares it is not kept waiting while the machine is read.
pub trait Reach {
    /// Has `act` done with the group.
    fn with<T>(&mut self, act: impl FnOnce(&mut Group) -> T) -> T;
}

impl Reach for Group {
    fn with<T>(&mut self, act: impl FnOnce(&mut Group) -> T) -> T {
        act(self)
    }
}

impl Reach for Arc<Mutex<Group>> {
    fn with<T>(&mut self, act: impl FnOnce(&mut Group) -> T) -> T {
        // A thread that panicked while it held it has left a group all the same.
        act(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
