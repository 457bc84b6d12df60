//! What every part of a report is said in.

use crate::table::Ink;

/// A sentence and how it is painted.
#[derive(Debug, Clone)]
pub(crate) struct Sentence {
    pub(crate) ink: Ink,
    pub(crate) text: String,
}

impl Sentence {
    pub(crate) fn new(ink: Ink, text: impl Into<String>) -> Sentence {
        Sentence {
            ink,
            text: text.into(),
        }
    }
}
