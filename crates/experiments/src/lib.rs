//! The experiments: a folder each, with its flags, plan, trials, findings and
//! document.
//!
//! An experiment implements [`Experiment`] and stands on the engine; the
//! session does the rest. It knows no other experiment; the self-test, whose
//! subject is the sweep, is the one exception. [`import`] turns a table into
//! trials of a sweep or of copies.

pub mod args;
pub mod copies;
mod defaults;
mod experiment;
mod headers;
pub mod import;
pub mod lateness;
pub mod selftest;
pub mod sweep;
pub mod yields;

pub use defaults::Tolerance;
pub use experiment::{Experiment, HelpPage, LoadLine, Machine, Prepared, ReportOf, Stage, TrialOf};
