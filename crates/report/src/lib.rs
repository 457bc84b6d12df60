//! Findings to documents, and documents to text, pages, JSON and CSV.
//!
//! This crate decides how findings look and how they are put into words; it
//! finds nothing out. It does no statistics and no I/O, reads no clock and no
//! environment. Each experiment or command has a folder with a function that
//! makes a [`Document`] of its findings; [`render`] draws any document in any
//! [`Format`]. Text from outside (names, paths, addresses) is made safe for
//! terminals and pages, and values that look like secrets are hidden.
//!
//! ```
//! use plimsoll_model::{Outcome, Provenance, Requirement};
//! use plimsoll_report::{Format, Look, doctor, render};
//!
//! let met = Outcome::Met { found: "10 MiB free".to_owned() };
//! let disk = Requirement { name: "disk".to_owned(), outcome: met };
//! let look = Look { width: 80, colour: false, charts: None };
//! let text = render(&doctor::document(&Provenance::default(), &[disk]), Format::Text, look)?;
//! assert!(text.contains("10 MiB free"));
//! # Ok::<(), plimsoll_report::RenderError>(())
//! ```

mod capacity;
pub mod chart;
pub mod compare;
pub mod copies;
pub mod doctor;
mod document;
mod doubts;
mod html;
pub mod lab;
mod markup;
mod method;
mod no_interval;
mod number;
pub mod requests;
pub mod selftest;
mod sentence;
pub mod sizing;
mod smt;
pub mod sweep;
mod table;
pub mod verdicts;
pub mod yields;

pub use copies::CopiesReport;
pub use document::{
    Document, Envelope, Fact, Format, Look, PAGE_MARK, RecordFacts, RenderError, Report, Role,
    RunBody, Table, TrialTally, reason, render, retry_when,
};
pub use doubts::connections_of;
pub use number::{estimate, estimate_us, time_us};
pub use sentence::Sentence;
pub use table::{Cell, Column, Ink, wrap};
pub use yields::YieldReport;

#[cfg(test)]
mod tests;
