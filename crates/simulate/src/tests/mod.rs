//! Simulated machines held against theory.

mod known;
pub(crate) mod spec;
mod trials;
