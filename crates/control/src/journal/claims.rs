//! What other live runs keep in a file that all programs share, and where they place tasks.

use super::Change;
use super::repair::{outstanding, owner};
use crate::error::ControlError;
use crate::idle::Knob;
use plimsoll_host::{Pid, Root};
use plimsoll_model::CpuSet;
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
    let all = of_others(dir, root)?.into_iter();
    let found = all.filter_map(|(owner, change)| match change {
        Change::IdleKnobSet {
            knob: of,
            former,
            ours,
        } if of == knob => Some(Claim {
            owner,
            former,
            ours,
        }),
        _ => None,
    });
    Ok(found.collect())
}

/// Another live process that places tasks on exactly these CPUs.
pub(crate) fn placed_by_other(
    dir: &Path,
    root: &Root,
    pool: &CpuSet,
) -> Result<Option<Pid>, ControlError> {
    let mut all = of_others(dir, root)?.into_iter();
    let is_there = |change: &Change| matches!(change, Change::TasksPlaced(placement) if placement.pool == *pool);
    let found = all.find(|(_, change)| is_there(change));
    Ok(found.map(|(owner, _)| owner))
}

/// The outstanding changes of other live processes.
fn of_others(dir: &Path, root: &Root) -> Result<Vec<(Pid, Change)>, ControlError> {
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
        let changes = changes.unwrap_or_default().into_values();
        found.extend(changes.map(|change| (owner.pid, change)));
    }
    Ok(found)
}
