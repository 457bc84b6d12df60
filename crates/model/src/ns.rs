//! Durations at serialized edges: whole nanoseconds, in fields named `_ns`.
//!
//! For `#[serde(rename = "…_ns", with = "plimsoll_model::Ns")]`. They are types, not modules,
//! so that schemas take them for the type of the field.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::time::Duration;

pub(crate) fn to_ns(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

/// A duration.
#[derive(JsonSchema)]
#[schemars(inline, with = "u64")]
pub struct Ns;

impl Ns {
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(d: &Duration, s: S) -> Result<S::Ok, S::Error> {
        to_ns(*d).serialize(s)
    }

    /// # Errors
    /// What is there is no whole number of nanoseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        u64::deserialize(d).map(Duration::from_nanos)
    }
}

/// A duration that may be missing.
#[derive(JsonSchema)]
#[schemars(inline, with = "Option<u64>")]
pub struct OptionNs;

impl OptionNs {
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(d: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
        d.map(to_ns).serialize(s)
    }

    /// # Errors
    /// What is there is neither null nor a whole number of nanoseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(d)?.map(Duration::from_nanos))
    }
}

/// A list of durations.
#[derive(JsonSchema)]
#[schemars(inline, with = "Vec<u64>")]
pub struct NsList;

impl NsList {
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(list: &[Duration], s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(list.iter().map(|d| to_ns(*d)))
    }

    /// # Errors
    /// What is there is no such list.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Duration>, D::Error> {
        let ns = Vec::<u64>::deserialize(d)?;
        Ok(ns.into_iter().map(Duration::from_nanos).collect())
    }
}
