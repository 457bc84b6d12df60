//! CPU numbers and sets of them, in the kernel's own list notation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The number of a logical CPU, as the kernel counts them.
pub type CpuId = u32;

/// The highest CPU number that a [`CpuSet`] is read with. The kernel's own upper bound on
/// the number of CPUs is 8192 (`CONFIG_NR_CPUS` on x86-64 with `MAXSMP`); more is a typing
/// mistake.
pub const MAX_CPU: CpuId = 8191;

/// CPUs in a list, repetitions included: a list may come from a stranger's record, where
/// `0-8191` a million times would take an hour to read.
const MOST_LISTED: CpuId = 4 * (MAX_CPU + 1);

/// A set of logical CPUs, written as the kernel writes it: `0-3,8`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet(BTreeSet<CpuId>);

/// Why a list of CPUs could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a list of CPUs; write it like 0-3,8")]
pub struct CpuSetError(pub String);

impl CpuSet {
    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.0.iter().copied()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0.contains(&cpu)
    }

    /// Those in both.
    pub fn and(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.0.intersection(&other.0).copied().collect())
    }

    /// Those in this set but not in `other`.
    pub fn without(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.0.difference(&other.0).copied().collect())
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(iter: I) -> Self {
        CpuSet(iter.into_iter().collect())
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    /// Reads `0-3,8`. The empty text is the empty set, as in sysfs.
    fn from_str(text: &str) -> Result<Self, CpuSetError> {
        let fail = || CpuSetError(text.to_owned());
        let number = |s: &str| -> Result<CpuId, CpuSetError> {
            s.parse().ok().filter(|n| *n <= MAX_CPU).ok_or_else(fail)
        };
        let mut set = BTreeSet::new();
        let mut listed = 0;
        if text.trim().is_empty() {
            return Ok(CpuSet(set));
        }
        for part in text.trim().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last || listed > MOST_LISTED {
                return Err(fail());
            }
            listed += last - first + 1;
            set.extend(first..=last);
        }
        Ok(CpuSet(set))
    }
}

impl TryFrom<String> for CpuSet {
    type Error = CpuSetError;
    fn try_from(text: String) -> Result<Self, CpuSetError> {
        text.parse()
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> String {
        set.to_string()
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs: Vec<(CpuId, CpuId)> = Vec::new();
        for cpu in self.iter() {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => runs.push((cpu, cpu)),
            }
        }
        for (i, (first, last)) in runs.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_round_trip_in_their_shortest_form() {
        for (given, shown) in [("0-3,8", "0-3,8"), ("3,1,2", "1-3"), ("", ""), ("5", "5")] {
            assert_eq!(given.parse::<CpuSet>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn invalid_lists_are_refused_and_shown() {
        let repeated = ["0-8191"; 100_000].join(",");
        for bad in ["a", "1-", "3-1", "-1", "1,,2", "0-99999999", &repeated] {
            assert_eq!(bad.parse::<CpuSet>(), Err(CpuSetError(bad.to_owned())));
        }
    }
}
