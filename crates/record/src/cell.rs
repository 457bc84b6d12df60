//! Conversion of numbers to and from SQLite's integers.

use rusqlite::types::FromSqlError;
use rusqlite::{Result, Row};
use std::time::Duration;

/// SQLite's integers are signed. Larger values, which no count or duration in
/// nanoseconds (292 years) reaches, saturate.
pub(crate) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(crate) fn ns(d: Duration) -> i64 {
    i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)
}

/// An integer that must not be negative.
pub(crate) fn count_in(row: &Row<'_>, column: &'static str) -> Result<u64> {
    let n: i64 = row.get(column)?;
    u64::try_from(n).map_err(|_| wrong(column))
}

/// The error for a value outside of its column's domain.
pub(crate) fn wrong(column: &'static str) -> rusqlite::Error {
    FromSqlError::Other(format!("{column} has an invalid value").into()).into()
}
