use crate::{RecordError, read};
use plimsoll_model::Trial;
use rusqlite::Connection;
use std::path::Path;

/// Iterates over the trials of a record; see [`crate::Record::trials`].
///
/// It holds no lock between two trials, so a run may write at the same time. It
/// ends after the first error.
#[derive(Debug)]
pub struct Trials<'r> {
    conn: &'r Connection,
    path: &'r Path,
    next: u64,
    last: u64,
}

impl<'r> Trials<'r> {
    pub(crate) fn new(conn: &'r Connection, path: &'r Path, count: u64) -> Self {
        Trials {
            conn,
            path,
            next: 1,
            last: count,
        }
    }
}

impl Iterator for Trials<'_> {
    type Item = Result<Trial, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next > self.last {
            return None;
        }
        let trial = read::trial(self.conn, self.path, self.next);
        self.next = match trial {
            Ok(_) => self.next + 1,
            Err(_) => self.last + 1,
        };
        Some(trial)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.last + 1 - self.next).ok();
        (usize::from(left != Some(0)), left)
    }
}
