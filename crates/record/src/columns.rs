//! Trials and seconds by columns, for other formats.

use crate::{Record, RecordError};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result};

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// As in docs/record.md; a unit stands at its end, such as `_ns`.
    pub name: String,
    pub values: Values,
}

/// The values of a column, a row each.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    Integers(Vec<Option<i64>>),
    Reals(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
}

/// All columns of the trials, with quantiles of their histograms.
const TRIALS: &str = "SELECT trial.*, latency.count AS latency_count,
        latency.p50_ns AS latency_p50_ns, latency.p90_ns AS latency_p90_ns,
        latency.p99_ns AS latency_p99_ns, latency.p999_ns AS latency_p999_ns,
        latency.max_ns AS latency_max_ns, slip.p50_ns AS slip_p50_ns, slip.p99_ns AS slip_p99_ns,
        slip.max_ns AS slip_max_ns
    FROM trial
    LEFT JOIN histogram AS latency ON latency.trial = trial.id AND latency.kind = 'latency'
    LEFT JOIN histogram AS slip ON slip.trial = trial.id AND slip.kind = 'slip'
    ORDER BY trial.id";

const SECONDS: &str = "SELECT * FROM second ORDER BY trial, number";

impl Record {
    /// A row for each trial.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn trial_columns(&self) -> std::result::Result<Vec<Column>, RecordError> {
        self.columns(TRIALS)
    }

    /// A row for each second of each trial.
    ///
    /// # Errors
    /// As of [`Record::trial_columns`].
    pub fn second_columns(&self) -> std::result::Result<Vec<Column>, RecordError> {
        self.columns(SECONDS)
    }

    fn columns(&self, sql: &str) -> std::result::Result<Vec<Column>, RecordError> {
        read(self.connection(), sql).map_err(|e| RecordError::from_sqlite(self.path(), e, 0))
    }
}

/// A cell as it is stored: a value that is no text and no number is left out.
enum Cell {
    Integer(i64),
    Real(f64),
    Text(String),
}

fn read(conn: &Connection, sql: &str) -> Result<Vec<Column>> {
    let mut statement = conn.prepare(sql)?;
    let names = statement.column_names();
    let mut columns: Vec<(String, Vec<Option<Cell>>)> =
        names.map(|name| (name.to_owned(), Vec::new())).collect();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        for (at, (_, cells)) in columns.iter_mut().enumerate() {
            cells.push(match row.get_ref(at)? {
                ValueRef::Integer(value) => Some(Cell::Integer(value)),
                ValueRef::Real(value) => Some(Cell::Real(value)),
                ValueRef::Text(text) => {
                    Some(Cell::Text(String::from_utf8_lossy(text).into_owned()))
                }
                ValueRef::Null | ValueRef::Blob(_) => None,
            });
        }
    }
    let column = |(name, cells)| Column {
        name,
        values: values(cells),
    };
    Ok(columns.into_iter().map(column).collect())
}

/// A column has one type: text if any cell has, else real if any has.
fn values(cells: Vec<Option<Cell>>) -> Values {
    let has = |is: fn(&Cell) -> bool| cells.iter().flatten().any(is);
    if has(|cell| matches!(cell, Cell::Text(_))) {
        let text = |cell| match cell {
            Cell::Integer(value) => value.to_string(),
            Cell::Real(value) => value.to_string(),
            Cell::Text(text) => text,
        };
        return Values::Texts(cells.into_iter().map(|cell| cell.map(text)).collect());
    }
    if has(|cell| matches!(cell, Cell::Real(_))) {
        let real = |cell| match cell {
            Cell::Integer(value) => Some(value as f64),
            Cell::Real(value) => Some(value),
            Cell::Text(_) => None,
        };
        return Values::Reals(cells.into_iter().map(|cell| cell.and_then(real)).collect());
    }
    let integer = |cell| match cell {
        Cell::Integer(value) => Some(value),
        Cell::Real(_) | Cell::Text(_) => None,
    };
    Values::Integers(
        cells
            .into_iter()
            .map(|cell| cell.and_then(integer))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_type_that_holds_all_its_values() {
        let conn = Connection::open_in_memory().unwrap();
        let sql = "SELECT * FROM (VALUES (1, 1, 1, NULL), (2, 2.5, 'a', NULL))";
        let found = read(&conn, sql).unwrap();
        let values: Vec<&Values> = found.iter().map(|column| &column.values).collect();
        assert_eq!(
            values,
            [
                &Values::Integers(vec![Some(1), Some(2)]),
                &Values::Reals(vec![Some(1.0), Some(2.5)]),
                &Values::Texts(vec![Some("1".to_owned()), Some("a".to_owned())]),
                &Values::Integers(vec![None, None]),
            ]
        );
    }
}
