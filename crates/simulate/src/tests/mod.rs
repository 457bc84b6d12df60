//! Simulated machines compared with theory.

mod known;
pub(crate) mod spec;
mod trials;
