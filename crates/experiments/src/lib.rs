//! The experiments: a folder each, with the plan and the trials of it.
//!
//! An experiment stands on the engine and knows no other; the self-test, whose
//! subject is the sweep, is the one exception. [`import`] makes a record of the
//! sweep's or of copies from a table.

pub mod copies;
mod defaults;
pub mod import;
pub mod selftest;
pub mod sweep;
pub mod yields;

pub use defaults::Tolerance;
