//! What can be wrong with a table, each in a sentence.

use plimsoll_model::{counted, for_count};

/// Why a table cannot be imported. The sentence begins with what is wrong
/// "in it": whoever shows it says in which file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TableError {
    /// Not UTF-8.
    #[error("line {line} is no text; save the table as CSV in UTF-8")]
    NoText {
        /// The line, from 1.
        line: u64,
    },
    /// Two bytes per character.
    #[error("it is text in UTF-16; save the table as CSV in UTF-8")]
    Utf16,
    /// Nothing but blanks.
    #[error("it is empty; {}", EXAMPLE)]
    Empty,
    /// Columns separated by something else.
    #[error(
        "its columns are separated by {by}; separate them by commas, and write decimals with a point"
    )]
    Separator {
        /// Semicolons or tabs.
        by: &'static str,
    },
    /// The first line is a row.
    #[error("line {line} should name the columns but holds numbers; {}", EXAMPLE)]
    NoHeader {
        /// The line, from 1.
        line: u64,
    },
    /// A column that means nothing here.
    #[error("the column '{name}' has no place here; leave it out: {}", EXAMPLE)]
    UnknownColumn {
        /// Its name.
        name: String,
    },
    /// A column that is needed.
    #[error("the column '{name}' is missing; {}", EXAMPLE)]
    MissingColumn {
        /// Its name.
        name: &'static str,
    },
    /// A column that is there twice.
    #[error("the column '{name}' is there twice; leave one out")]
    RepeatedColumn {
        /// Its name.
        name: &'static str,
    },
    /// CPUs that do not make whole cores.
    #[error(
        "{} {} not make cores of {threads} threads; give --cpus and --threads-per-core of the machine that was measured",
        counted(*cpus, "CPU", "CPUs"),
        for_count(*cpus, "does", "do")
    )]
    Cores {
        /// How many CPUs.
        cpus: u32,
        /// Threads per core.
        threads: u32,
    },
    /// A row that is too short or too long.
    #[error(
        "line {line} has {found} values for {expected} columns; give one value per column, without separators within numbers"
    )]
    Values {
        /// The line, from 1.
        line: u64,
        /// Values in it.
        found: usize,
        /// Columns.
        expected: usize,
    },
    /// A value that is none.
    #[error("line {line}: {column} is {given}; {wanted}")]
    Value {
        /// The line, from 1.
        line: u64,
        /// The column.
        column: &'static str,
        /// What stands there.
        given: String,
        /// What could stand there.
        wanted: &'static str,
    },
    /// Less than two rows.
    #[error("it has {}, from which nothing follows; give at least two at different loads", rows(*.0))]
    FewRows(usize),
    /// All rows at one load.
    #[error("all rows are at the same load, from which nothing follows; give at least two loads")]
    OneLoad,
    /// More loads than there are load levels.
    #[error("it has rows at {0} different rates; give at most {MOST_RATES}")]
    ManyRates(usize),
    /// Shares where percent are due.
    #[error(
        "cpu_pct never exceeds 1, as if it were a share; give percent of all CPU time, 0 to 100"
    )]
    Shares,
    /// More than any table has.
    #[error("it is larger than {} MB, which is no table of levels; give one row per level", MOST_BYTES / 1_000_000)]
    Large,
}

/// What a table looks like.
const EXAMPLE: &str =
    "the first line names the columns, rate_rps,cpu_pct,latency_us or copies,cpu_pct,seconds";

/// Levels are told apart to a tenth of a percent of the highest rate.
pub(super) const MOST_RATES: usize = 1000;

/// A thousand rows take a hundredth of this.
pub(super) const MOST_BYTES: usize = 10_000_000;

fn rows(n: usize) -> String {
    match n {
        0 => "no rows below the names of its columns".to_owned(),
        1 => "only one row".to_owned(),
        n => format!("{n} rows"),
    }
}
