//! Values of the model to and from cells. An invalid cell is an error: a
//! default would be an invented measurement.

use plimsoll_model::{Answers, BodySizes, ConnectionUse, LoadLevel, MachineUse, Share, Trial};
use rusqlite::types::{FromSql, FromSqlError, ToSql, ToSqlOutput};
use rusqlite::{Connection, Result, Row};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::time::Duration;

/// SQLite's integers are signed. Larger values, which no count or duration in
/// nanoseconds (292 years) reaches, saturate.
pub(crate) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(crate) fn ns(d: Duration) -> i64 {
    i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)
}

/// A value that is stored as JSON.
pub(crate) struct Json<'a, T>(pub(crate) &'a T);

impl<T: Serialize> ToSql for Json<'_, T> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        match serde_json::to_string(self.0) {
            Ok(text) => Ok(text.into()),
            Err(e) => Err(rusqlite::Error::ToSqlConversionFailure(e.into())),
        }
    }
}

/// What is in `machine_json`: what the machine used, and how the client's connections
/// served, for which versions up to 4 have no column.
#[derive(Serialize, Deserialize)]
pub(crate) struct MachineCell<'a> {
    #[serde(flatten)]
    pub(crate) machine: Cow<'a, MachineUse>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) connections: Option<ConnectionUse>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bodies: Option<BodySizes>,
    #[serde(default, skip_serializing_if = "<[Answers]>::is_empty")]
    pub(crate) kinds: Cow<'a, [Answers]>,
}

impl MachineCell<'_> {
    pub(crate) fn of<S, O>(trial: &Trial<S, O>) -> MachineCell<'_> {
        MachineCell {
            machine: Cow::Borrowed(&trial.machine),
            connections: trial.work.connections,
            bodies: trial.work.bodies,
            kinds: Cow::Borrowed(&trial.work.kinds),
        }
    }
}

/// Adds a row with these cells, given by column.
pub(crate) fn insert(conn: &Connection, table: &str, cells: &[(&str, &dyn ToSql)]) -> Result<()> {
    let (columns, values): (Vec<&str>, Vec<&dyn ToSql>) = cells.iter().copied().unzip();
    let marks = vec!["?"; cells.len()].join(", ");
    let sql = format!(
        "INSERT INTO {table} ({}) VALUES ({marks})",
        columns.join(", ")
    );
    conn.execute(&sql, values.as_slice())?;
    Ok(())
}

pub(crate) fn has(row: &Row<'_>, column: &str) -> bool {
    row.as_ref().column_index(column).is_ok()
}

/// The cell of a column, converted; `None` for NULL.
fn optional<C: FromSql, T>(
    row: &Row<'_>,
    column: &'static str,
    convert: impl Fn(C) -> Option<T>,
) -> Result<Option<T>> {
    let cell: Option<C> = row.get(column)?;
    cell.map(|cell| convert(cell).ok_or_else(|| wrong(column)))
        .transpose()
}

/// No count reaches this, nor a time in milliseconds: counts can be added without overflow.
const MOST: u64 = 1 << 50;

/// A count, or a time in milliseconds.
pub(crate) fn count_in(row: &Row<'_>, column: &'static str) -> Result<u64> {
    let n = natural(row, column)?;
    (n <= MOST).then_some(n).ok_or_else(|| wrong(column))
}

/// The number of a pass or of an attempt.
pub(crate) fn ordinal_in(row: &Row<'_>, column: &'static str) -> Result<u32> {
    const MOST: u32 = 1_000_000;
    let n = u32::try_from(natural(row, column)?).ok();
    n.filter(|n| *n <= MOST).ok_or_else(|| wrong(column))
}

/// Three times as long as the longest time in a plan ([`plimsoll_model::CheckedPlan`]): a
/// trial has a warm-up, a window and a drain.
pub(crate) const LONGEST: Duration = Duration::from_secs(3 * 31 * 86_400);

pub(crate) fn ns_in(row: &Row<'_>, column: &'static str) -> Result<Duration> {
    let time = Duration::from_nanos(natural(row, column)?);
    (time <= LONGEST)
        .then_some(time)
        .ok_or_else(|| wrong(column))
}

/// A time that something was measured in.
pub(crate) fn window_in(row: &Row<'_>, column: &'static str) -> Result<Duration> {
    let window = ns_in(row, column)?;
    (!window.is_zero())
        .then_some(window)
        .ok_or_else(|| wrong(column))
}

/// An integer that must not be negative.
pub(crate) fn natural(row: &Row<'_>, column: &'static str) -> Result<u64> {
    let n: i64 = row.get(column)?;
    u64::try_from(n).map_err(|_| wrong(column))
}

pub(crate) fn optional_time(row: &Row<'_>, column: &'static str) -> Result<Option<Duration>> {
    let time = optional_ns(row, column)?;
    let is_possible = time.is_none_or(|time| time <= LONGEST);
    is_possible.then_some(time).ok_or_else(|| wrong(column))
}

/// CPU time, of any number of CPUs.
pub(crate) fn optional_ns(row: &Row<'_>, column: &'static str) -> Result<Option<Duration>> {
    optional(row, column, |n: i64| {
        u64::try_from(n).ok().map(Duration::from_nanos)
    })
}

pub(crate) fn optional_share(row: &Row<'_>, column: &'static str) -> Result<Option<Share>> {
    optional(row, column, Share::new)
}

pub(crate) fn optional_level(row: &Row<'_>, column: &'static str) -> Result<Option<LoadLevel>> {
    optional(row, column, LoadLevel::percent)
}

pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &'static str) -> Result<T> {
    optional_json(row, column)?.ok_or_else(|| wrong(column))
}

pub(crate) fn optional_json<T: DeserializeOwned>(
    row: &Row<'_>,
    column: &'static str,
) -> Result<Option<T>> {
    let text = optional_text(row, column)?;
    text.map(|text| parsed(&text, column)).transpose()
}

/// The JSON of a cell.
pub(crate) fn text(row: &Row<'_>, column: &'static str) -> Result<String> {
    optional_text(row, column)?.ok_or_else(|| wrong(column))
}

pub(crate) fn parsed<T: DeserializeOwned>(text: &str, column: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| invalid_json(column, &e))
}

fn optional_text(row: &Row<'_>, column: &'static str) -> Result<Option<String>> {
    const LISTS: [&str; 4] = [
        "command_line_json",
        "requirements_json",
        "reasons_json",
        "copy_times_ns_json", // up to version 3
    ];
    let Some(text) = row.get::<_, Option<String>>(column)? else {
        return Ok(None);
    };
    // serde would take the fields of a structure in their order for the structure.
    if text.trim_start().starts_with('[') != LISTS.contains(&column) {
        return Err(wrong(column));
    }
    Ok(Some(text))
}

fn invalid_json(column: &str, e: &serde_json::Error) -> rusqlite::Error {
    FromSqlError::Other(format!("{column}: {e}").into()).into()
}

/// The error for a value outside of its column's domain.
pub(crate) fn wrong(column: &'static str) -> rusqlite::Error {
    FromSqlError::Other(format!("{column} has an invalid value").into()).into()
}
