//! Durations at serialized edges: whole nanoseconds, in fields named `_ns`.
//!
//! For `#[serde(rename = "…_ns", with = "plimsoll_model::ns")]`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::time::Duration;

pub(crate) fn to_ns(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

/// Writes whole nanoseconds.
///
/// # Errors
///
/// Those of the serializer.
pub fn serialize<S: Serializer>(d: &Duration, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_u64(to_ns(*d))
}

/// Reads whole nanoseconds.
///
/// # Errors
///
/// What is there is no whole number of nanoseconds.
pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
    u64::deserialize(d).map(Duration::from_nanos)
}

/// The same for a duration that may be missing.
pub mod option {
    use super::{Deserialize, Deserializer, Duration, Serializer, to_ns};

    /// Writes whole nanoseconds, or nothing.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(d: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
        match d {
            Some(d) => s.serialize_some(&to_ns(*d)),
            None => s.serialize_none(),
        }
    }

    /// Reads whole nanoseconds, or nothing.
    ///
    /// # Errors
    ///
    /// What is there is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(d)?.map(Duration::from_nanos))
    }
}

/// The same for a list of durations.
pub mod list {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, to_ns};

    /// Writes a list of whole nanoseconds.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(list: &[Duration], s: S) -> Result<S::Ok, S::Error> {
        let ns: Vec<u64> = list.iter().map(|d| to_ns(*d)).collect();
        ns.serialize(s)
    }

    /// Reads a list of whole nanoseconds.
    ///
    /// # Errors
    ///
    /// What is there is no such list.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Duration>, D::Error> {
        let ns = Vec::<u64>::deserialize(d)?;
        Ok(ns.into_iter().map(Duration::from_nanos).collect())
    }
}
