//! What a run needs of the machine, told before it begins.

use crate::failure::Failure;
use crate::output::note;
use plimsoll_model::{Outcome, Requirement};

/// Says what is missed; fails if the run cannot start.
pub(crate) fn check(requirements: &[Requirement]) -> Result<(), Failure> {
    let mut fatal = Vec::new();
    for requirement in requirements {
        match &requirement.outcome {
            Outcome::Met { found } => note(&format!("found: {found}")),
            Outcome::Missed { lost, remedy } => note(&format!("note: {lost}; {remedy}")),
            Outcome::Failed { why, remedy } => fatal.push(format!("{why}; {remedy}")),
        }
    }
    if fatal.is_empty() {
        Ok(())
    } else {
        Err(Failure::Mistake(fatal.join("\n")))
    }
}
