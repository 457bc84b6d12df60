//! Guarantees of a record, tested on real files.

mod access;
mod any;
mod crash;
mod damage;
mod documented;
mod hostile;
mod legacy;
mod messages;
mod old;
mod round_trip;
mod sample;

use crate::Record;
use plimsoll_model::Trial;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// A plan, a setting or an outcome.
trait Stored: Serialize + DeserializeOwned + PartialEq + Debug {}

impl<T: Serialize + DeserializeOwned + PartialEq + Debug> Stored for T {}

/// Asserts what is read from a record.
fn is_read<P: Stored, S: Stored, O: Stored>(
    record: &Record,
    experiment: &str,
    plan: &P,
    trials: &[Trial<S, O>],
) {
    assert_eq!(record.experiment(), experiment);
    assert_eq!(&record.plan::<P>().unwrap(), plan);
    assert_eq!(sample::read_all::<S, O>(record), trials);
}
