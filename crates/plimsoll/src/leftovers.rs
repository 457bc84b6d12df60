//! Changes that runs that were killed have left behind.

use crate::output::note;
use plimsoll_control::{ControlError, Journals};
use plimsoll_host::Root;

/// Restores what they changed, and says so.
pub(crate) fn restore(journals: &Journals, root: &Root) -> Result<(), ControlError> {
    for repaired in journals.repair(root)? {
        // What has to wait for another run needs no action.
        if !repaired.done.is_empty() {
            let done = repaired.done.join(" ");
            note(&format!(
                "note: an earlier run was killed; restored: {done}"
            ));
        }
    }
    Ok(())
}

/// The same for a run that may change nothing itself: it continues where that
/// fails.
pub(crate) fn restore_if_possible(journals: &Journals, root: &Root) {
    if let Err(error) = restore(journals, root) {
        note(&format!(
            "note: cannot look for what an earlier run may have left: {error}"
        ));
    }
}
