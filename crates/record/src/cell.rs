//! Numbers as SQLite holds them, and back.

use rusqlite::types::FromSqlError;
use rusqlite::{Result, Row};
use std::time::Duration;

/// SQLite's integers have a sign. What is beyond is no count and no time that
/// can occur (292 years in nanoseconds) and is held at the highest.
pub(crate) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(crate) fn ns(d: Duration) -> i64 {
    i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)
}

/// An integer that is not negative.
pub(crate) fn count_in(row: &Row<'_>, column: &'static str) -> Result<u64> {
    let n: i64 = row.get(column)?;
    u64::try_from(n).map_err(|_| wrong(column))
}

/// A value that a record cannot have.
pub(crate) fn wrong(column: &'static str) -> rusqlite::Error {
    FromSqlError::Other(format!("{column} has a value that cannot be").into()).into()
}
