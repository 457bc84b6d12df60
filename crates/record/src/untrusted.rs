//! Bounds on a file that a stranger may have made: what SQLite may run for it, and how
//! much work and memory reading it takes.

use crate::RecordError;
use plimsoll_model::Bytes;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, Result};
use rustix::system::sysinfo;
use std::path::Path;

/// Bytes of a value. The longest are request bodies in a plan, as JSON, and histograms.
pub(crate) const LONGEST_VALUE: i32 = 32 << 20;

/// Work is counted in thousands of operations of SQLite's virtual machine.
const UNIT: i32 = 1000;
/// Below 2 s.
const LEAST_UNITS: u64 = 100_000;
/// A check and ten readings of the smallest rows take 20 operations a byte.
const OPERATIONS_PER_BYTE: u64 = 32;

/// Bytes of a histogram in memory, with the rest of its trial and what is computed of it: measured
/// on 8,000 trials, 0.65 MB each.
const HISTOGRAM: u64 = 340 << 10;

/// Settings of every connection, for a file of this size.
pub(crate) fn configure(conn: &mut Connection, bytes: u64) -> Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    conn.pragma_update(None, "trusted_schema", false)?;
    // Broken cells are found when a page is read.
    conn.pragma_update(None, "cell_size_check", true)?;
    // They are expressions from the file, and each value is checked when it is read.
    conn.pragma_update(None, "ignore_check_constraints", true)?;
    conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    let mut units = LEAST_UNITS.saturating_add(bytes.saturating_mul(OPERATIONS_PER_BYTE) / 1000);
    let is_over = move || {
        units = units.saturating_sub(1);
        units == 0
    };
    conn.progress_handler(UNIT, Some(is_over))
}

/// Lifts what would disturb a run that writes for hours; its file is its user's own.
pub(crate) fn trust(conn: &mut Connection) -> Result<()> {
    conn.pragma_update(None, "ignore_check_constraints", false)?;
    conn.progress_handler(0, None::<fn() -> bool>)
}

/// Counts what no run puts into its file: a view, a trigger or a virtual table, which
/// have no page of their own, or another table or index than ours.
const FOREIGN: &str = "SELECT count(*) FROM sqlite_schema WHERE NOT (
    (type = 'table' AND rootpage > 0 AND (name GLOB 'sqlite_*'
        OR name IN ('run', 'trial', 'histogram', 'second', 'slot')))
    OR (type = 'index' AND sql IS NULL)
    OR (type = 'view' AND name = 'overview'))";

/// Counts columns that are computed when they are read.
const COMPUTED: &str =
    "SELECT count(*) FROM sqlite_schema AS made, pragma_table_xinfo(made.name) AS its
    WHERE made.type = 'table' AND its.hidden <> 0";

/// Refuses a file whose reading would run what a stranger has put into it.
pub(crate) fn check(conn: &Connection, path: &Path) -> std::result::Result<(), RecordError> {
    for sql in [FOREIGN, COMPUTED] {
        let found: i64 = conn
            .query_row(sql, [], |row| row.get(0))
            .map_err(|e| RecordError::from_sqlite(path, e, 0))?;
        if found > 0 {
            let why = "it has views, triggers, tables or computed columns that no run makes";
            return Err(RecordError::not_a_record(path, why));
        }
    }
    Ok(())
}

/// Memory for the trials of records that are read together, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct MemoryBudget(pub(crate) u64);

impl MemoryBudget {
    /// Half of this machine's memory.
    pub fn half_of_memory() -> MemoryBudget {
        let about = sysinfo();
        MemoryBudget(about.totalram.saturating_mul(u64::from(about.mem_unit)) / 2)
    }

    /// The same with half of `limit` at most.
    #[must_use]
    pub fn at_most_half_of(self, limit: Bytes) -> MemoryBudget {
        MemoryBudget(self.0.min(limit.0 / 2))
    }

    /// Whether a file fits, before it is read. What it is, is checked then.
    pub(crate) fn check_length(&self, path: &Path) -> std::result::Result<(), RecordError> {
        let length = std::fs::metadata(path).map_or(0, |about| about.len());
        match length <= self.0 {
            true => Ok(()),
            false => Err(RecordError::TooManyTrials {
                path: path.into(),
                needs_mib: length >> 20,
                left_mib: self.0 >> 20,
            }),
        }
    }

    /// Takes what the trials of a record need. In the file a histogram may have a hundred bytes,
    /// and once read it has a fixed size.
    pub(crate) fn take(
        &mut self,
        conn: &Connection,
        path: &Path,
    ) -> std::result::Result<(), RecordError> {
        let histograms: u32 = conn
            .query_row("SELECT count(*) FROM histogram", [], |row| row.get(0))
            .map_err(|e| RecordError::from_sqlite(path, e, 0))?;
        let needed = u64::from(histograms) * HISTOGRAM;
        let too_many = || RecordError::TooManyTrials {
            path: path.into(),
            needs_mib: needed >> 20,
            left_mib: self.0 >> 20,
        };
        self.0 = self.0.checked_sub(needed).ok_or_else(too_many)?;
        Ok(())
    }
}
