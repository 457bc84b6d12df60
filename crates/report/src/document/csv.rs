//! The form for spreadsheets and plots.

use crate::number::MISSING;
use crate::table;
use plimsoll_model::{Estimate, safe};

pub(crate) use Field::{Interval, Number, Text};

/// A column: its name with the unit, and its value in a row. What is not known
/// is an empty field.
pub(crate) enum Field<T> {
    Text(&'static str, fn(&T) -> String),
    Number(&'static str, fn(&T) -> Option<f64>),
    /// Three columns: an estimate, and its ends with `_low` and `_high` after
    /// the name.
    Interval(&'static str, fn(&T) -> Option<Estimate>),
}

impl<T> Field<T> {
    fn names(&self) -> Vec<String> {
        match self {
            Text(name, _) | Number(name, _) => vec![(*name).to_owned()],
            Interval(name, _) => ["", "_low", "_high"]
                .map(|end| format!("{name}{end}"))
                .into(),
        }
    }

    fn values(&self, row: &T) -> Vec<String> {
        match self {
            Text(_, text) => vec![text(row)],
            Number(_, value) => vec![number(value(row))],
            Interval(_, estimate) => {
                let estimate = estimate(row);
                let ends = estimate.map(|e| [Some(e.value), e.low, e.high]);
                ends.unwrap_or_default().map(number).into()
            }
        }
    }
}

/// A line per row under a head, in the form of RFC 4180.
pub(crate) fn table<T>(fields: &[Field<T>], rows: &[T]) -> String {
    let mut out = line(fields.iter().flat_map(Field::names));
    for row in rows {
        out += &line(fields.iter().flat_map(|field| field.values(row)));
    }
    out
}

/// The columns of a table that is shown, their units in their names. What is
/// not known is empty.
pub(crate) fn of_columns(columns: &[table::Column]) -> String {
    let columns: Vec<Vec<String>> = columns.iter().flat_map(fields).collect();
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let of_row = |row: usize| {
        let field = |column: &Vec<String>| column.get(row).cloned().unwrap_or_default();
        line(columns.iter().map(field))
    };
    (0..rows).map(of_row).collect()
}

/// A column as those of a spreadsheet, each with its name: one of what it shows,
/// or three of estimates.
fn fields(column: &table::Column) -> Vec<Vec<String>> {
    let name = column.name().replace(' ', "_");
    let named = |name: String, values: Vec<String>| [vec![name], values].concat();
    if column.estimates().is_empty() {
        let text = |cell: &table::Cell| match cell.text.as_str() {
            MISSING => String::new(),
            text => text.to_owned(),
        };
        let name = match column.unit() {
            "" => name,
            unit => format!("{name}_{unit}"),
        };
        return vec![named(name, column.cells().iter().map(text).collect())];
    }
    let of = |what: fn(Estimate) -> Option<f64>| {
        let values = column.estimates().iter().map(|e| number(e.and_then(what)));
        values.collect()
    };
    let name = match column.estimates_unit() {
        "" => name,
        unit => format!("{name}_{unit}"),
    };
    vec![
        named(name.clone(), of(|e| Some(e.value))),
        named(format!("{name}_low"), of(|e| Some(e.interval()?.0))),
        named(format!("{name}_high"), of(|e| Some(e.interval()?.1))),
    ]
}

fn line(fields: impl Iterator<Item = String>) -> String {
    let fields: Vec<String> = fields.map(|field| quoted(&field)).collect();
    fields.join(",") + "\r\n"
}

fn quoted(field: &str) -> String {
    // Somebody may look at it in a terminal.
    let field = &safe(field);
    if field.contains([',', '"']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.clone()
    }
}

/// A number that is none has no form in CSV.
fn number(value: Option<f64>) -> String {
    let value = value.filter(|v| v.is_finite());
    value.map(|v| v.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_commas_and_quotes_ask_for_it() {
        for (given, written) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "two\\u{a}lines"),
            ("\u{1b}[2J,\u{9b}", "\"\\u{1b}[2J,\\u{9b}\""),
        ] {
            assert_eq!(quoted(given), written);
        }
    }

    #[test]
    fn what_is_no_number_is_empty() {
        assert_eq!(number(Some(f64::NAN)), "");
        assert_eq!(number(None), "");
        assert_eq!(number(Some(1e21)), "1000000000000000000000");
        assert_eq!(number(Some(0.1)), "0.1");
    }
}
