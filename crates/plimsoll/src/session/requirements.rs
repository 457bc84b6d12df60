//! Requirements that are missed after the run began, such as a service without other clients. They are added to the
//! record, so that the report states them: a live view may have the terminal.

use crate::failure::Failure;
use plimsoll_experiments::{Experiment, Machine};
use plimsoll_model::{Outcome, Requirement};
use plimsoll_record::Record;
use std::time::Duration;

/// A client that connects again and again is likely connected at one of these times.
const LOOKS_AT_END: u32 = 7;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

type Place<'a, E> = (
    &'a <E as Experiment>::Plan,
    &'a <E as Experiment>::Site,
    &'a Machine,
);

/// Adds what is missed now, after a trial whose window began `since`.
pub(super) fn add_missed<E: Experiment>(
    record: &mut Record,
    (plan, site, machine): Place<'_, E>,
    since: Duration,
) -> Result<(), Failure> {
    let mut found = E::requirements(plan, site, machine, since);
    found.retain(|one| matches!(one.outcome, Outcome::Missed { .. }) && !is_known(record, one));
    if found.is_empty() {
        return Ok(());
    }
    let added = record.add_requirements(found);
    added.map_err(|error| Failure::Run(error.to_string()))
}

/// The same at the end of a run with a service, several times in a third of a second.
pub(super) fn add_missed_at_end<E: Experiment>(
    record: &mut Record,
    place: Place<'_, E>,
) -> Result<(), Failure> {
    let is_service = |one: &Requirement| one.name == Requirement::SERVICE;
    if !record.requirements().iter().any(is_service) {
        return Ok(());
    }
    for _ in 0..LOOKS_AT_END {
        std::thread::sleep(BETWEEN_LOOKS);
        add_missed::<E>(record, place, Duration::ZERO)?;
    }
    Ok(())
}

fn is_known(record: &Record, requirement: &Requirement) -> bool {
    record
        .requirements()
        .iter()
        .any(|one| one.name == requirement.name)
}
