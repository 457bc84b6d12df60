use crate::{RecordError, read};
use plimsoll_model::Trial;
use rusqlite::Connection;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::path::Path;

/// Iterates over the trials of a record; see [`crate::Record::trials`].
///
/// It holds no lock between two trials, so a run may write at the same time. It
/// ends after the first error.
#[derive(Debug)]
pub struct Trials<'r, S, O> {
    conn: &'r Connection,
    path: &'r Path,
    experiment: &'r str,
    next: u64,
    last: u64,
    of: PhantomData<fn() -> (S, O)>,
}

impl<'r, S, O> Trials<'r, S, O> {
    pub(crate) fn new(
        conn: &'r Connection,
        path: &'r Path,
        experiment: &'r str,
        count: u64,
    ) -> Self {
        Trials {
            conn,
            path,
            experiment,
            next: 1,
            last: count,
            of: PhantomData,
        }
    }
}

impl<S: DeserializeOwned, O: DeserializeOwned> Iterator for Trials<'_, S, O> {
    type Item = Result<Trial<S, O>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next > self.last {
            return None;
        }
        let trial = read::trial(self.conn, self.path, self.experiment, self.next);
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
