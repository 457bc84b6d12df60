//! How requests of one kind ended.

use crate::Slot;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What became of requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answers {
    /// From the intended start to the last byte of a good answer; of a request that timed out or had
    /// no answer at the end, how long it had waited.
    pub latency: Slot,
    /// How late the generator was for each request of a part of the time; none for one kind of request,
    /// and in older records.
    pub slip: Slot,
    /// Those that failed, without those that timed out.
    pub failed: u64,
    /// Those that timed out.
    pub timed_out: u64,
    /// Those without an answer at the end.
    pub unfinished: u64,
}

/// Requests that waited while all of the client's connections were in use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Waited {
    /// As for any request, from the intended start.
    pub latency: Slot,
    /// The same without that wait; where none became free, as long as those that were sent are open.
    pub in_connection: Slot,
}

impl Waited {
    /// Those that take longer than `limit` with the wait, and not without.
    pub fn misses_by_waiting(&self, limit: Duration) -> u64 {
        let without = self.in_connection.above(limit);
        self.latency.above(limit).saturating_sub(without)
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Waited) {
        self.latency.merge(&other.latency);
        self.in_connection.merge(&other.in_connection);
    }
}

impl Answers {
    /// All of them.
    pub fn requests(&self) -> u64 {
        self.latency.requests().saturating_add(self.failed)
    }

    /// Those with a good answer.
    pub fn answered(&self) -> u64 {
        let without = self.timed_out.saturating_add(self.unfinished);
        self.latency.requests().saturating_sub(without)
    }

    /// Those that failed, in whatever way.
    pub fn all_failed(&self) -> u64 {
        self.failed.saturating_add(self.timed_out)
    }

    /// Those that took longer than `limit` or failed; without a limit, those that failed.
    pub fn missed(&self, limit: Option<Duration>) -> u64 {
        match limit {
            Some(limit) => {
                let above = self.latency.above(limit).saturating_add(self.failed);
                above.max(self.all_failed())
            }
            None => self.all_failed(),
        }
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Answers) {
        self.latency.merge(&other.latency);
        self.slip.merge(&other.slip);
        self.failed = self.failed.saturating_add(other.failed);
        self.timed_out = self.timed_out.saturating_add(other.timed_out);
        self.unfinished = self.unfinished.saturating_add(other.unfinished);
    }
}
