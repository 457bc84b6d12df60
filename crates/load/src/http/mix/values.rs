//! Tables of values for requests: CSV with a header line, or a JSON object per line.

use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// More rows would need too much memory.
const MOST_ROWS: usize = 1 << 20;
const MOST_COLUMNS: usize = 1000;

/// What is left of the limits on all tables of a file of requests together: a value takes some 60 B.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableLimits {
    values: usize,
    bytes: usize,
}

impl Default for TableLimits {
    fn default() -> TableLimits {
        TableLimits {
            values: 1 << 22,
            bytes: 64 << 20,
        }
    }
}

impl TableLimits {
    fn take_text(&mut self, text: &str) -> Result<(), String> {
        let left = self.bytes.checked_sub(text.len());
        self.bytes = left.ok_or("all tables together have more than 64 MiB; give smaller ones")?;
        Ok(())
    }

    fn take_row(&mut self, columns: usize) -> Result<(), String> {
        let left = self.values.checked_sub(columns);
        self.values = left.ok_or("all tables together have more than 4 million values")?;
        Ok(())
    }
}

fn check_columns(count: usize) -> Result<(), String> {
    match count <= MOST_COLUMNS {
        true => Ok(()),
        false => Err(format!("has more than {MOST_COLUMNS} columns")),
    }
}

/// Rows of values, and which comes next.
#[derive(Debug)]
pub(in crate::http) struct DataSet {
    pub(super) name: String,
    columns: BTreeMap<String, Vec<Value>>,
    rows: u64,
    pub(in crate::http) random: bool,
    /// Rows taken so far, by all threads.
    taken: AtomicU64,
}

/// A value, and whether it is JSON other than a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) is_json: bool,
}

impl DataSet {
    /// By the name of its file: `.csv` and `.tsv`, or else JSON lines.
    ///
    /// # Errors
    /// Why the text is no such table.
    pub(super) fn read(
        name: &str,
        file: &str,
        text: &str,
        random: bool,
        limits: &mut TableLimits,
    ) -> Result<DataSet, String> {
        limits.take_text(text)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let ends = |end: &str| file.to_ascii_lowercase().ends_with(end);
        let columns = match (ends(".csv"), ends(".tsv")) {
            (true, _) => table(text, b',', limits)?,
            (_, true) => table(text, b'\t', limits)?,
            _ if ends(".jsonl") || ends(".ndjson") => json_lines(text, limits)?,
            _ => return Err("its name must end with .csv, .tsv, .jsonl or .ndjson".to_owned()),
        };
        let rows = columns.values().map(Vec::len).min().unwrap_or(0);
        if rows == 0 {
            return Err("has no values".to_owned());
        }
        Ok(DataSet {
            name: name.to_owned(),
            columns,
            rows: rows as u64,
            random,
            taken: AtomicU64::new(0),
        })
    }

    pub(super) fn column(&self, name: &str) -> Option<&[Value]> {
        self.columns.get(name).map(Vec::as_slice)
    }

    pub(super) fn columns(&self) -> String {
        let names: Vec<&str> = self.columns.keys().map(String::as_str).collect();
        names.join(", ")
    }

    /// The next row; `random` decides among them where they are not taken in order.
    pub(super) fn next(&self, random: impl FnOnce() -> u64) -> usize {
        let row = match self.random {
            // The bias is below 2^-44.
            true => random() % self.rows,
            false => self.taken.fetch_add(1, Ordering::Relaxed) % self.rows,
        };
        usize::try_from(row).unwrap_or(0)
    }
}

type Columns = BTreeMap<String, Vec<Value>>;

fn table(text: &str, delimiter: u8, limits: &mut TableLimits) -> Result<Columns, String> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(text.as_bytes());
    let names = reader.headers().map_err(|e| e.to_string())?.clone();
    check_columns(names.len())?;
    let mut columns: Vec<(String, Vec<Value>)> = Vec::new();
    for name in &names {
        let name = name.trim().to_owned();
        if columns.iter().any(|(other, _)| *other == name) {
            return Err(format!("has two columns named '{name}'"));
        }
        columns.push((name, Vec::new()));
    }
    for record in reader.records() {
        let record = record.map_err(|e| e.to_string())?;
        limits.take_row(columns.len())?;
        for ((_, values), text) in columns.iter_mut().zip(&record) {
            if values.len() == MOST_ROWS {
                return Err(format!("has more than {MOST_ROWS} rows"));
            }
            values.push(Value {
                text: text.to_owned(),
                is_json: false,
            });
        }
    }
    Ok(columns.into_iter().collect())
}

fn json_lines(text: &str, limits: &mut TableLimits) -> Result<Columns, String> {
    let mut columns = Columns::new();
    let mut rows = 0;
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let not_one = |why: String| format!("line {} is no JSON object ({why})", index + 1);
        let object: BTreeMap<String, Json> =
            serde_json::from_str(line).map_err(|e| not_one(e.to_string()))?;
        if rows == MOST_ROWS {
            return Err(format!("has more than {MOST_ROWS} rows"));
        }
        check_columns(object.len())?;
        limits.take_row(object.len())?;
        for (name, value) in object {
            let value = match value {
                Json::String(text) => Value {
                    text,
                    is_json: false,
                },
                other => Value {
                    text: other.to_string(),
                    is_json: true,
                },
            };
            columns.entry(name).or_default().push(value);
        }
        rows += 1;
        if let Some((name, _)) = columns.iter().find(|(_, values)| values.len() != rows) {
            return Err(format!(
                "has lines with and without '{name}', such as line {}",
                index + 1
            ));
        }
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, file: &str, text: &str, random: bool) -> Result<DataSet, String> {
        DataSet::read(name, file, text, random, &mut TableLimits::default())
    }

    #[test]
    fn tables_together_have_a_bound() {
        let mut limits = TableLimits {
            values: 6,
            bytes: 40,
        };
        let mut read = |text: &str| DataSet::read("u", "u.csv", text, false, &mut limits);
        read("a,b\n1,2\n").unwrap();
        read("a,b\n1,2\n").unwrap();
        let refused = read("a,b\n1,2\n3,4\n").unwrap_err();
        assert!(refused.contains("4 million values"), "{refused}");
        let refused = read(&"a\n".repeat(20)).unwrap_err();
        assert!(refused.contains("64 MiB"), "{refused}");
        let wide: Vec<String> = (0..=MOST_COLUMNS).map(|n| n.to_string()).collect();
        let refused = self::read("u", "u.csv", &wide.join(","), false).unwrap_err();
        assert!(refused.contains("columns"), "{refused}");
    }

    #[test]
    fn tables_and_json_lines_give_values_in_order() {
        let set = read("u", "U.CSV", "name,n\n\"a,b\",1\nc,2\n", false).unwrap();
        let texts = |set: &DataSet, name: &str| -> Vec<String> {
            let values = set.column(name).unwrap().iter();
            values.map(|value| value.text.clone()).collect()
        };
        assert_eq!(texts(&set, "name"), ["a,b", "c"]);
        let rows: Vec<usize> = (0..3).map(|_| set.next(|| 0)).collect();
        assert_eq!(rows, [0, 1, 0]);
        let lines = "{\"a\": \"x\", \"b\": [1]}\n\n{\"a\": \"y\", \"b\": 2}\n";
        let set = read("u", "u.jsonl", lines, true).unwrap();
        assert_eq!(texts(&set, "b"), ["[1]", "2"]);
        assert!(set.column("b").unwrap()[0].is_json);
        assert_eq!(set.next(|| 5), 1);
    }

    #[test]
    fn tables_without_sense_are_refused() {
        for (file, text, why) in [
            ("a.csv", "", "no values"),
            ("a.csv", "a,b\n", "no values"),
            ("a.csv", "a,b\n1\n", "found record with 1 fields"),
            ("a.csv", "a,a\n1,2\n", "two columns"),
            ("a.jsonl", "[1]\n", "line 1 is no JSON object"),
            ("a.jsonl", "{\"a\":1}\n{\"b\":1}\n", "with and without 'a'"),
            ("a.txt", "a", "must end with"),
        ] {
            let refused = read("u", file, text, false).unwrap_err();
            assert!(refused.contains(why), "{file} {text:?}: {refused}");
        }
    }
}
