//! What runs that were killed have left behind.

use crate::output::note;
use plimsoll_control::{ControlError, Journals};
use plimsoll_host::Root;

/// Gives it back, and says so.
pub(crate) fn give_back(journals: &Journals, root: &Root) -> Result<(), ControlError> {
    for repaired in journals.repair(root)? {
        // What has to wait for another run is nothing to act upon.
        if !repaired.done.is_empty() {
            let done = repaired.done.join(" ");
            note(&format!(
                "note: an earlier run was killed, and what it had changed was given back: {done}"
            ));
        }
    }
    Ok(())
}

/// The same for a run that changes nothing itself: it goes on where that fails.
pub(crate) fn give_back_if_possible(journals: &Journals, root: &Root) {
    if let Err(error) = give_back(journals, root) {
        note(&format!(
            "note: what an earlier run may have left cannot be looked for: {error}"
        ));
    }
}
