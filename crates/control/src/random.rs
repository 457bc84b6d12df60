//! Random numbers from the kernel.

/// A random number, as for a name that nobody can guess.
pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // The keys of `RandomState` come from the kernel; no other generator is needed.
    RandomState::new().hash_one(std::process::id())
}
