//! What a run misses that it did not when it began, such as a service that it has for itself: other clients come
//! later, too. It goes into the record and so into the report, since a live view may have the terminal.

use crate::failure::Failure;
use plimsoll_experiments::{Experiment, Machine};
use plimsoll_model::{Outcome, Requirement};
use plimsoll_record::Record;
use std::time::Duration;

/// How often the end of a run looks: a client that connects again and again is connected at one of these times.
const LOOKS_AT_END: u32 = 7;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

type Place<'a, E> = (
    &'a <E as Experiment>::Plan,
    &'a <E as Experiment>::Site,
    &'a Machine,
);

/// Adds what is missed now, between two trials.
pub(super) fn add<E: Experiment>(
    record: &mut Record,
    (plan, site, machine): Place<'_, E>,
) -> Result<(), Failure> {
    let mut found = E::requirements(plan, site, machine);
    found.retain(|one| matches!(one.outcome, Outcome::Missed { .. }) && !is_known(record, one));
    if found.is_empty() {
        return Ok(());
    }
    let added = record.add_requirements(found);
    added.map_err(|error| Failure::Run(error.to_string()))
}

/// The same of a service, several times in a third of a second.
pub(super) fn add_at_end<E: Experiment>(
    record: &mut Record,
    place: Place<'_, E>,
) -> Result<(), Failure> {
    let is_service = |one: &Requirement| one.name == Requirement::SERVICE;
    if !record.requirements().iter().any(is_service) {
        return Ok(());
    }
    for _ in 0..LOOKS_AT_END {
        std::thread::sleep(BETWEEN_LOOKS);
        add::<E>(record, place)?;
    }
    Ok(())
}

fn is_known(record: &Record, requirement: &Requirement) -> bool {
    record
        .requirements()
        .iter()
        .any(|one| one.name == requirement.name)
}
