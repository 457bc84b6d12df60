//! Documents in each form.

use crate::{Document, Format, Look, TrialTally, render};
use plimsoll_model::InvalidKind;

/// For a terminal without colours and charts.
pub(crate) fn as_text(document: &Document<'_>, width: usize) -> String {
    let look = Look {
        width,
        colour: false,
        charts: None,
    };
    render(document, Format::Text, look).unwrap()
}

/// In any other form.
pub(crate) fn shown(document: &Document<'_>, format: Format) -> String {
    let look = Look {
        width: 80,
        colour: false,
        charts: None,
    };
    render(document, format, look).unwrap()
}

/// So many trials, of which the invalid ones had CPU time stolen.
pub(crate) fn tally(all: u64, invalid: u64) -> TrialTally {
    TrialTally {
        all,
        invalid,
        commonest: (invalid > 0).then_some(InvalidKind::Steal),
        ..TrialTally::default()
    }
}
