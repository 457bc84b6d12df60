//! Findings to text, JSON and CSV.
//!
//! This room decides how findings look and how they are put into words; it
//! must not find anything out. It does no statistics and no I/O, reads no
//! clock and no environment: what it is given it lays out and gives back as a
//! string. Text that comes from outside (names, paths, addresses) is made
//! safe for a terminal, and values that look like secrets are hidden.
//!
//! ```
//! use plimsoll_model::{Invalid, Share, Verdict};
//! use plimsoll_report::TrialTally;
//!
//! let mut trials = TrialTally::default();
//! trials.add(&Verdict::Valid);
//! trials.add(&Verdict::Invalid(vec![Invalid::Steal {
//!     stolen: Share::ONE,
//!     bound: Share::ZERO,
//! }]));
//! assert_eq!((trials.all(), trials.invalid()), (2, 1));
//! assert_eq!(trials.commonest_reason(), Some("the hypervisor took CPU time"));
//! ```

mod capacity;
pub mod chart;
mod compare;
mod copies;
mod csv;
mod doctor;
mod doubts;
mod escape;
mod headroom;
mod hints;
mod html;
mod json;
mod levels;
mod number;
mod secrets;
mod selftest;
mod sentence;
mod sentences;
mod sizing;
mod smt;
mod table;
mod tally;
mod text;
mod thresholds;
mod yields;

pub use compare::{CompareReport, Source, compare_json, compare_text};
pub use csv::csv;
pub use doctor::doctor;
pub use html::{
    CompareHtml, ComparedRun, HtmlReport, PAGE_MARK, YieldHtml, compare_html, html, yield_html,
};
pub use json::{OUTPUT_SCHEMA_VERSION, json};
pub use secrets::{HIDDEN, is_hidden_header};
pub use selftest::{selftest_json, selftest_text};
pub use sizing::{PlanAsked, PlanReport, plan_hpa, plan_json, plan_text};
pub use table::{Ink, wrap};
pub use tally::TrialTally;
pub use text::{Look, text};
pub use yields::{YieldReport, yield_csv, yield_json, yield_text};

use plimsoll_model::{Findings, Plan, Provenance, Requirement, RunEnd, Workload};
use std::path::Path;

/// What was under test, in a few words that hide secrets and are safe for a
/// terminal.
pub fn shown_workload(plan: &Plan) -> String {
    escape::safe(&secrets::hide(plan).workload.to_string())
}

/// All that is shown of a run: of a sweep, unless its findings are another's.
#[derive(Debug, Clone)]
pub struct Report<'a, F = Findings> {
    /// What was concluded.
    pub findings: &'a F,
    /// What was asked.
    pub plan: &'a Plan,
    /// What machine and what program it comes from.
    pub provenance: &'a Provenance,
    /// What the run needed of the machine.
    pub requirements: &'a [Requirement],
    /// The file that the trials are in.
    pub record: RecordFacts<'a>,
}

/// What a report says about the file that its trials are in.
#[derive(Debug, Clone)]
pub struct RecordFacts<'a> {
    /// The file, as it was named.
    pub file: &'a Path,
    /// When it was made, in milliseconds since 1970.
    pub created_unix_ms: u64,
    /// How its run ended; `None` if it was killed, or still goes on.
    pub ended: Option<&'a RunEnd>,
    /// How many trials there are, of all phases, and how many do not count.
    pub trials: TrialTally,
}

impl Report<'_> {
    /// Whether this is a run of copies, which has no rates and no latencies.
    fn is_copies(&self) -> bool {
        matches!(self.plan.workload, Workload::Copies(_)) || !self.plan.copies.is_empty()
    }

    /// Whether somebody else measured it.
    fn is_imported(&self) -> bool {
        matches!(self.plan.workload, Workload::Imported(_))
    }
}

#[cfg(test)]
mod tests;
