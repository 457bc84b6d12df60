//! The run file: one SQLite file per run, one transaction per trial.
//!
//! A [`Record`] holds the plan, the machine's provenance, and every completed
//! trial, valid or not. Appended trials survive a crash, and the run can be
//! resumed. The layout is described in `docs/record.md` and defined in
//! `schema.sql`.
//!
//! This crate must not interpret measurements: it stores and returns them
//! unchanged. It does not know experiments, how trials run, or how they are
//! shown.
//!
//! ```
//! use plimsoll_record::{Record, RecordError};
//! use std::path::Path;
//!
//! let missing = Record::open(Path::new("no-such-run.plimsoll")).err();
//! assert!(matches!(missing, Some(RecordError::NoSuchFile { .. })));
//! assert!(missing.is_some_and(|e| e.is_mistake()));
//! ```

mod cell;
mod columns;
mod error;
mod hdr_log;
mod histogram;
mod legacy;
mod lock;
mod open;
mod private;
mod read;
mod record;
mod run;
mod schema;
mod slots;
pub mod state_file;
mod trust;
mod untrusted;
mod write;

pub use columns::{Column, Values};
pub use error::RecordError;
pub use hdr_log::{export_hdr, write_exported};
pub use private::{Existing, write_private, write_public};
pub use record::Record;
pub use run::NewRun;
pub use trust::{check_folder, check_input};
pub use untrusted::MemoryBudget;

#[cfg(test)]
mod tests;
