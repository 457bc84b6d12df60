//! What other live runs keep in a file that all programs share.

use super::Change;
use super::repair::{outstanding, owner};
use crate::error::ControlError;
use crate::idle::Knob;
use plimsoll_host::{Pid, Root};
use std::fs;
use std::path::Path;

/// A value of another live process of this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) owner: Pid,
    /// What was there before it, and before all other runs.
    pub(crate) former: String,
    pub(crate) ours: String,
}

/// The values that other live processes keep in `knob`, in no order.
pub(crate) fn claims(dir: &Path, root: &Root, knob: Knob) -> Result<Vec<Claim>, ControlError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let Some(owner) = owner(&path) else {
            continue;
        };
        if owner.pid == std::process::id() || !owner.lives(root)? {
            continue;
        }
        // One that is gone has just ended.
        let text = fs::read_to_string(&path).unwrap_or_default();
        let changes = outstanding(&text).map(|(_, changes)| changes);
        for change in changes.unwrap_or_default().into_values() {
            if let Change::IdleKnobSet {
                knob: of,
                former,
                ours,
            } = change
                && of == knob
            {
                found.push(Claim {
                    owner: owner.pid,
                    former,
                    ours,
                });
            }
        }
    }
    Ok(found)
}
