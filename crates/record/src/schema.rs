//! The layout of the file and the settings of its connections.

use crate::{RecordError, untrusted};
use plimsoll_model::SCHEMA_VERSION;
use rusqlite::Connection;
use std::io;
use std::path::Path;
use std::time::Duration;

/// `PLIM` in ASCII, which identifies a record. SQLite keeps it at
/// byte 68 of the file (<https://www.sqlite.org/fileformat2.html>).
const APPLICATION_ID: i32 = 0x504c_494d;

const TABLES: &str = include_str!("schema.sql");

pub(crate) const TRIAL_TABLE: &str = include_str!("trial.sql");

/// A view for the sqlite3 shell.
pub(crate) const OVERVIEW: &str = include_str!("overview.sql");

/// Records of versions 1 and 2 lack it.
pub(crate) const SLOT_TABLE: &str = include_str!("slot.sql");

/// How long to wait for a lock that another program holds. A commit holds it
/// for milliseconds, a shell with an open query for longer.
pub(crate) const BUSY: Duration = Duration::from_secs(30);

/// Settings of every connection to a file of this size.
pub(crate) fn configure(conn: &mut Connection, bytes: u64) -> rusqlite::Result<()> {
    conn.busy_timeout(BUSY)?;
    untrusted::configure(conn, bytes)
}

/// Settings of a connection that writes.
///
/// A rollback journal and not a write-ahead log, so that after each commit the
/// one file is complete. It is emptied and not removed (`TRUNCATE`), so that its
/// name is never free: in a folder such as /tmp another user could make it, read
/// in it what the record held, and have SQLite undo what it says. `EXTRA`, because
/// with `NORMAL` a power cut can damage the file
/// (<https://www.sqlite.org/pragma.html#pragma_synchronous>). It costs a
/// few disk flushes per trial, between the measured windows.
pub(crate) fn configure_writer(conn: &mut Connection) -> rusqlite::Result<()> {
    untrusted::trust(conn)?;
    set_journal_mode(conn, "TRUNCATE")?;
    conn.pragma_update(None, "synchronous", "EXTRA")
}

/// Removes the journal of a connection that writes no more.
pub(crate) fn remove_journal(conn: &Connection) -> rusqlite::Result<()> {
    set_journal_mode(conn, "DELETE")
}

fn set_journal_mode(conn: &Connection, mode: &str) -> rusqlite::Result<()> {
    conn.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(()))
}

/// Makes the tables and marks the file as a record.
pub(crate) fn make_tables(conn: &Connection) -> rusqlite::Result<()> {
    for part in [TABLES, TRIAL_TABLE, SLOT_TABLE, OVERVIEW] {
        conn.execute_batch(part)?;
    }
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    conn.pragma_update(None, "user_version", SCHEMA_VERSION)
}

/// Whether this is a complete record that this program can read. `length` is that of its
/// file in bytes.
pub(crate) fn check(
    conn: &Connection,
    path: &Path,
    length: impl Fn() -> io::Result<u64>,
) -> Result<(), RecordError> {
    let fail = |e| RecordError::from_sqlite(path, e, 0);
    let number = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    if number("application_id").map_err(fail)? != APPLICATION_ID {
        let why = "it is another program's SQLite file";
        return Err(RecordError::not_a_record(path, why));
    }
    let version = number("user_version").map_err(fail)?;
    match u32::try_from(version) {
        Ok(1..=SCHEMA_VERSION) => {
            untrusted::check(conn, path)?;
            check_complete(conn, path, length)
        }
        Ok(schema) if schema > SCHEMA_VERSION => Err(RecordError::Newer {
            path: path.into(),
            schema,
            reads_up_to: SCHEMA_VERSION,
        }),
        _ => {
            let detail = format!("there is no schema {version}");
            Err(RecordError::damaged(path, detail))
        }
    }
}

/// Whether all pages are there and consistent.
///
/// SQLite reads the missing part of a truncated last page as zeros. The length
/// is read within a transaction, so that no run is adding to it.
fn check_complete(
    conn: &Connection,
    path: &Path,
    length: impl Fn() -> io::Result<u64>,
) -> Result<(), RecordError> {
    let look = || {
        let tx = conn.unchecked_transaction()?;
        let number = |name| tx.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let bytes = number("page_count")?.saturating_mul(number("page_size")?);
        let length = length();
        let findings: String = tx.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        Ok((bytes, length, findings))
    };
    let (bytes, length, findings) = look().map_err(|e| RecordError::from_sqlite(path, e, 0))?;
    let length = length.map_err(|e| RecordError::from_io(path, &e, "read"))?;
    if i64::try_from(length).is_ok_and(|length| length < bytes) {
        let detail = format!("it has {length} bytes of {bytes}");
        return Err(RecordError::damaged(path, detail));
    }
    // The finding is on the last line, below which database it is in.
    match findings.lines().next_back() {
        Some("ok") => Ok(()),
        finding => Err(RecordError::damaged(path, finding.unwrap_or_default())),
    }
}
