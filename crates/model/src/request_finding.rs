//! What is found of several requests.

use schemars::JsonSchema;
use serde::Serialize;

/// Each of several requests by itself.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RequestsFinding {
    /// The lowest rate that they were measured at, in requests per second of all. They are those of
    /// valid trials at or a little below the capacity, or else of the nearest load below it; without a
    /// capacity of the lowest load.
    pub from_rps: f64,
    /// The highest.
    pub to_rps: f64,
    /// In the order of their file.
    pub requests: Vec<RequestFinding>,
}

/// One of several requests.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RequestFinding {
    /// Its name.
    pub name: String,
    /// Its share of all requests that was asked for, in percent.
    pub share_pct: f64,
    /// How many were sent.
    pub sent: u64,
    /// Those with a good answer.
    pub answered: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those without an answer at the end.
    pub unfinished: u64,
    /// Their median latency, in microseconds, to within 1.6 %. Those without an answer count with the
    /// time that they had waited.
    pub p50_us: Option<f64>,
    /// What 99 % of them do not exceed; null for fewer than 299.
    pub p99_us: Option<f64>,
}
