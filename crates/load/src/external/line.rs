//! The last line of an output, as a JSON object: for any generator.

use super::{MS, Output, Quantiles, S, from_quantiles, time};
use plimsoll_model::{Errors, Histogram};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// How long requests were sent.
    seconds: f64,
    /// Good answers.
    completed: u64,
    #[serde(default)]
    failed: u64,
    /// Requests that were due and not sent.
    #[serde(default)]
    dropped: u64,
    /// By percentile: {"50": 1.2, "99": 8, "100": 31}.
    #[serde(default)]
    latency_ms: BTreeMap<String, f64>,
    /// Values and how often each occurred: [[0.5, 1200], [0.6, 300]].
    #[serde(default)]
    latency_counts_ms: Vec<(f64, u64)>,
}

pub(super) fn parse(text: &str) -> Result<Output, String> {
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    let last = last.ok_or("it is empty")?;
    let line: Line = serde_json::from_str(last)
        .map_err(|error| format!("its last line is not the JSON that is expected: {error}"))?;
    if !line.latency_ms.is_empty() && !line.latency_counts_ms.is_empty() {
        return Err(
            "it has latency_ms and latency_counts_ms; have it print one of them".to_owned(),
        );
    }
    if line.completed == 0 && line.latency_ms.values().any(|ms| *ms > 0.0) {
        return Err("it has latency_ms, and nothing was completed".to_owned());
    }
    let (latency, quantiles) = match line.latency_counts_ms.is_empty() {
        false => {
            let latency = counted(&line.latency_counts_ms)?;
            if latency.count() != line.completed {
                return Err(format!(
                    "latency_counts_ms has {} requests, and {} were completed",
                    latency.count(),
                    line.completed
                ));
            }
            (latency, Quantiles::All)
        }
        true => {
            let mut known = Vec::new();
            for (percentile, ms) in &line.latency_ms {
                let pct: f64 = percentile
                    .parse()
                    .map_err(|_| format!("latency_ms: '{percentile}' is no percentile"))?;
                known.push((pct / 100.0, time(*ms, MS)?));
            }
            let stated = known.iter().map(|(q, _)| *q).collect();
            let latency = from_quantiles(known, line.completed)?;
            (latency, Quantiles::Only(stated))
        }
    };
    Ok(Output {
        lasted: time(line.seconds, S)?,
        completed: line.completed,
        errors: Errors {
            status: line.failed,
            ..Errors::default()
        },
        dropped: line.dropped,
        latency,
        quantiles,
    })
}

fn counted(counts: &[(f64, u64)]) -> Result<Histogram, String> {
    let mut latency = Histogram::new();
    for (ms, count) in counts {
        latency.record_many(time(*ms, MS)?, *count);
    }
    Ok(latency)
}
