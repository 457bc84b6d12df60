//! Simulated machines compared with theory.

mod known;
mod services;
pub(crate) mod spec;
mod trials;
