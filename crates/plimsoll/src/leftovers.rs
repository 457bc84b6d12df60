//! Changes that killed runs have left on the machine.

use crate::output::note;
use plimsoll_control::Journals;
use plimsoll_host::Root;

/// Restores them, with a note. A run that changes nothing itself continues if
/// that fails.
pub(crate) fn restore_if_possible(journals: &Journals, root: &Root) {
    match journals.repair(root) {
        Ok(repaired) => {
            // What has to wait for another run needs no action.
            for repaired in repaired.iter().filter(|repaired| !repaired.done.is_empty()) {
                let done = repaired.done.join(" ");
                note(&format!(
                    "note: an earlier run was killed; restored: {done}"
                ));
            }
        }
        Err(error) => note(&format!(
            "note: cannot look for what an earlier run may have left: {error}"
        )),
    }
}
