//! The run file: one SQLite file per run, one transaction per trial.
//!
//! A [`Record`] holds what was asked, what machine it was asked of, and every
//! trial that ended, valid or not; whatever happens to the process, the
//! trials that were appended stay in it and a run can go on from there. The
//! layout is described in `docs/record.md` and stated in `schema.sql`.
//!
//! This room must not conclude anything: it keeps what was measured and gives
//! it back unchanged. It knows nothing of experiments, and nothing of how a
//! trial is run or shown.
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
mod trials;
mod trust;
mod write;

pub use error::RecordError;
pub use hdr_log::export_hdr;
pub use private::{Existing, write_private};
pub use record::Record;
pub use run::NewRun;
pub use trials::Trials;

#[cfg(test)]
mod tests;
