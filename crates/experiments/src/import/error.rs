//! Errors of a table, one sentence each.

use plimsoll_model::{counted, for_count};

/// Why a table cannot be imported. The sentence starts with what is wrong "in it";
/// the caller adds the file name. Lines count from 1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TableError {
    /// Not UTF-8.
    #[error("line {line} is not text; save the table as CSV in UTF-8")]
    NoText { line: u64 },
    /// Two bytes per character.
    #[error("it is text in UTF-16; save the table as CSV in UTF-8")]
    Utf16,
    #[error("it is empty; {}", EXAMPLE)]
    Empty,
    /// Columns with another separator.
    #[error(
        "its columns are separated by {by}; separate them by commas, and write decimals with a point"
    )]
    Separator { by: &'static str },
    #[error("line {line} should name the columns but holds numbers; {}", EXAMPLE)]
    NoHeader { line: u64 },
    #[error("the column '{name}' has no place here; leave it out: {}", EXAMPLE)]
    UnknownColumn { name: String },
    #[error("the column '{name}' is missing; {}", EXAMPLE)]
    MissingColumn { name: &'static str },
    #[error("the column '{name}' is there twice; leave one out")]
    RepeatedColumn { name: &'static str },
    /// The CPUs do not make whole cores.
    #[error(
        "{} {} not make cores of {threads} threads; give --cpus and --threads-per-core of the machine that was measured",
        counted(*cpus, "CPU", "CPUs"),
        for_count(*cpus, "does", "do")
    )]
    Cores { cpus: u32, threads: u32 },
    /// A row that is too short or too long.
    #[error(
        "line {line} has {found} values for {expected} columns; give one value per column, without separators within numbers"
    )]
    Values {
        line: u64,
        found: usize,
        expected: usize,
    },
    #[error("line {line}: {column} is {given}; {wanted}")]
    Value {
        line: u64,
        column: &'static str,
        given: String,
        wanted: &'static str,
    },
    /// Less than two rows.
    #[error("it has {}, from which nothing follows; give at least two at different loads", rows(*.0))]
    FewRows(usize),
    /// All rows at one load.
    #[error("all rows are at the same load, from which nothing follows; give at least two loads")]
    OneLoad,
    /// More rows than allowed.
    #[error("it has {0} rows; give at most {MOST_ROWS}")]
    ManyRows(usize),
    /// Shares instead of percent.
    #[error(
        "cpu_pct never exceeds 1, as if it were a share; give percent of all CPU time, 0 to 100"
    )]
    Shares,
    /// More bytes than allowed.
    #[error("it is larger than {} MB, which is not a table of levels; give one row per level", MOST_BYTES / 1_000_000)]
    Large,
}

/// An example of a table.
const EXAMPLE: &str =
    "the first line names the columns, rate_rps,cpu_pct,latency_us or copies,cpu_pct,seconds";

/// A row takes up to 1 MB of memory. Levels differ by at least 0.1 % of the highest rate, so that at
/// most 1000 fit.
pub(super) const MOST_ROWS: usize = 500;

/// So many rows take a two-hundredth of this.
pub(super) const MOST_BYTES: usize = 10_000_000;

fn rows(n: usize) -> String {
    match n {
        0 => "no rows below the names of its columns".to_owned(),
        1 => "only one row".to_owned(),
        n => format!("{n} rows"),
    }
}
