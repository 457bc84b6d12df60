//! fortio: the file of `-json`.

use super::{Output, Quantiles, S, time};
use plimsoll_model::{Errors, Histogram};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Summary {
    /// In nanoseconds.
    actual_duration: u64,
    duration_histogram: Durations,
    #[serde(default)]
    ret_codes: BTreeMap<String, u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Durations {
    count: u64,
    #[serde(default)]
    data: Vec<Bucket>,
}

/// In seconds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Bucket {
    end: f64,
    count: u64,
}

pub(super) fn parse(text: &str) -> Result<Output, String> {
    let result: Summary = serde_json::from_str(text).map_err(|error| {
        format!("it is no result of fortio ({error}); give fortio -json {{out}}")
    })?;
    let mut latency = Histogram::new();
    for bucket in &result.duration_histogram.data {
        latency.record_many(time(bucket.end, S)?, bucket.count);
    }
    let mut errors = Errors::default();
    for (code, count) in &result.ret_codes {
        match code.parse::<i32>() {
            Ok(200..=299) => {}
            // fortio's word for a connection that failed.
            Ok(-1) => errors.reset += count,
            // Of TCP, UDP and gRPC.
            Err(_) if matches!(code.as_str(), "OK" | "SERVING") => {}
            _ => errors.status += count,
        }
    }
    let all = result.duration_histogram.count;
    Ok(Output {
        lasted: Duration::from_nanos(result.actual_duration),
        completed: all.saturating_sub(errors.total()),
        errors,
        dropped: 0,
        latency,
        quantiles: Quantiles::All,
    })
}
