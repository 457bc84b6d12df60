//! Reads a table: bytes to rows. Refuses ambiguous input.

use super::error::{MOST_BYTES, MOST_ROWS, TableError};
use csv::{ReaderBuilder, StringRecord, Trim};
use plimsoll_model::{Share, TableRows};
use std::time::Duration;

/// A table of measurements at rates (`rate_rps,cpu_pct,latency_us`) or of copies of
/// a command (`copies,cpu_pct,seconds`).
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub(super) kind: TableRows,
    /// In the table's order. Rows at one load are repeated trials.
    pub(super) rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    /// Requests per second, or the number of copies; above 0.
    pub(super) load: f64,
    /// CPU use of the machine.
    pub(super) cpu: Share,
    /// A latency, of which the table does not say which statistic it is, or the
    /// duration of a copy.
    pub(super) time: Duration,
}

const RATES: [&str; 3] = ["rate_rps", "cpu_pct", "latency_us"];
const COPIES: [&str; 3] = ["copies", "cpu_pct", "seconds"];

/// A larger number is in another unit.
const HIGHEST_RATE: f64 = 1e9;
/// The maximum latency of a histogram.
const LONGEST_LATENCY_US: f64 = 3.6e9;
const LONGEST_SECONDS: f64 = 30.0 * 86_400.0;
/// The kernel's maximum number of CPUs.
const MOST_COPIES: f64 = 8192.0;

impl Table {
    /// Reads a CSV table in UTF-8: a line with the names of the columns in any
    /// order, then a row per line. A byte order mark, blanks around values,
    /// quotes, blank lines and either kind of line end are taken.
    ///
    /// # Errors
    ///
    /// The error says what is wrong, on which line, and how to fix it.
    pub fn read(bytes: &[u8]) -> Result<Table, TableError> {
        let text = text(bytes)?;
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .from_reader(text.as_bytes());
        let mut records = reader.records().filter_map(|record| {
            // The text is UTF-8 and rows may have any length; reading from memory
            // cannot fail otherwise.
            let record = record.ok()?;
            let line = record.position().map_or(0, csv::Position::line);
            Some((line, record))
        });
        let (line, header) = records.next().ok_or(TableError::Empty)?;
        let columns = Columns::of(line, &header)?;
        let rows: Vec<Row> = records
            .map(|(line, record)| columns.row(line, &record))
            .collect::<Result<_, _>>()?;
        check(&rows)?;
        let kind = match columns.is_copies() {
            true => TableRows::Copies,
            false => TableRows::Rates,
        };
        Ok(Table { kind, rows })
    }
}

/// The text, without a byte order mark.
fn text(bytes: &[u8]) -> Result<&str, TableError> {
    if bytes.len() > MOST_BYTES {
        return Err(TableError::Large);
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(TableError::Utf16);
    }
    let no_text = |at: usize| TableError::NoText {
        line: 1 + bytes[..at].iter().filter(|b| **b == b'\n').count() as u64,
    };
    let text = std::str::from_utf8(bytes).map_err(|e| no_text(e.valid_up_to()))?;
    if let Some(at) = text.find('\0') {
        return Err(no_text(at));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(TableError::Empty);
    }
    Ok(text)
}

/// The columns of a row.
struct Columns {
    names: [&'static str; 3],
    /// The positions of the three.
    at: [usize; 3],
}

impl Columns {
    fn of(line: u64, header: &StringRecord) -> Result<Columns, TableError> {
        let given: Vec<String> = header.iter().map(str::to_lowercase).collect();
        if let [one] = given.as_slice() {
            for (sign, by) in [(';', "semicolons"), ('\t', "tabs")] {
                if one.contains(sign) {
                    return Err(TableError::Separator { by });
                }
            }
        }
        if given.iter().all(|name| name.parse::<f64>().is_ok()) {
            return Err(TableError::NoHeader { line });
        }
        // CPU use is in both kinds of table.
        let has = |own: [&str; 3]| given.iter().any(|name| name == own[0] || name == own[2]);
        let names = if has(COPIES) && !has(RATES) {
            COPIES
        } else {
            RATES
        };
        if let Some(name) = given.iter().find(|name| !names.contains(&name.as_str())) {
            return Err(TableError::UnknownColumn { name: shown(name) });
        }
        let mut at = [0; 3];
        for (place, name) in at.iter_mut().zip(names) {
            let mut found = (0..given.len()).filter(|i| given[*i] == name);
            *place = found.next().ok_or(TableError::MissingColumn { name })?;
            if found.next().is_some() {
                return Err(TableError::RepeatedColumn { name });
            }
        }
        Ok(Columns { names, at })
    }

    fn is_copies(&self) -> bool {
        self.names == COPIES
    }

    fn row(&self, line: u64, record: &StringRecord) -> Result<Row, TableError> {
        if record.len() != self.names.len() {
            return Err(TableError::Values {
                line,
                found: record.len(),
                expected: self.names.len(),
            });
        }
        let cell = |i: usize| Cell {
            line,
            column: self.names[i],
            given: record.get(self.at[i]).unwrap_or_default(),
        };
        let load = if self.is_copies() {
            cell(0).whole(MOST_COPIES, "give a whole number of copies, 1 to 8192")?
        } else {
            let wanted = "give requests per second, above 0 and up to 1000000000";
            cell(0).above_zero(HIGHEST_RATE, wanted)?
        };
        let cpu = cell(1).percent()?;
        let seconds = if self.is_copies() {
            let wanted = "give seconds, above 0 and up to 30 days";
            cell(2).above_zero(LONGEST_SECONDS, wanted)?
        } else {
            let wanted = "give microseconds, above 0 and up to an hour";
            cell(2).above_zero(LONGEST_LATENCY_US, wanted)? / 1e6
        };
        let time = Duration::from_secs_f64(seconds);
        Ok(Row { load, cpu, time })
    }
}

/// Refuses rows without a result.
fn check(rows: &[Row]) -> Result<(), TableError> {
    if rows.len() < 2 {
        return Err(TableError::FewRows(rows.len()));
    }
    if rows.len() > MOST_ROWS {
        return Err(TableError::ManyRows(rows.len()));
    }
    if rows.iter().all(|row| row.load == rows[0].load) {
        return Err(TableError::OneLoad);
    }
    let highest = rows.iter().map(|row| row.cpu.get()).fold(0.0, f64::max);
    // A sweep goes beyond 1 % CPU use; 0 is an omitted column.
    if highest <= 0.01 {
        return Err(TableError::Shares);
    }
    Ok(())
}

/// A value of a row.
struct Cell<'a> {
    line: u64,
    column: &'static str,
    given: &'a str,
}

impl Cell<'_> {
    fn wants(&self, wanted: &'static str) -> TableError {
        let given = if self.given.is_empty() {
            "empty".to_owned()
        } else {
            format!("'{}'", shown(self.given))
        };
        TableError::Value {
            line: self.line,
            column: self.column,
            given,
            wanted,
        }
    }

    fn number(&self, wanted: &'static str) -> Result<f64, TableError> {
        let number = |text: &str| text.parse().ok().filter(|n: &f64| n.is_finite());
        number(self.given).ok_or_else(|| {
            // Digit grouping or a decimal comma: a number to a reader.
            let grouped = self.given.contains([',', '\'', ' ', '_']);
            let digits: String = self.given.chars().filter(|c| c.is_ascii_digit()).collect();
            match grouped && number(&digits).is_some() {
                true => self.wants("write numbers without separators, and decimals with a point"),
                false => self.wants(wanted),
            }
        })
    }

    fn above_zero(&self, most: f64, wanted: &'static str) -> Result<f64, TableError> {
        let number = self.number(wanted)?;
        // A value that rounds to zero.
        let fits = number > 1e-6 && number <= most;
        fits.then_some(number).ok_or_else(|| self.wants(wanted))
    }

    fn whole(&self, most: f64, wanted: &'static str) -> Result<f64, TableError> {
        let number = self.above_zero(most, wanted)?;
        let fits = number.fract() == 0.0;
        fits.then_some(number).ok_or_else(|| self.wants(wanted))
    }

    fn percent(&self) -> Result<Share, TableError> {
        let wanted = "give percent of all CPU time, 0 to 100; where each CPU counts 100, divide by their number";
        let number = self.number(wanted)?;
        Share::new(number / 100.0).ok_or_else(|| self.wants(wanted))
    }
}

/// Shortened text of a file without terminal control characters.
fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut out: String = text
        .chars()
        .take(LONGEST)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        out.push('…');
    }
    out
}
