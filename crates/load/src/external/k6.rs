//! k6: the file of `--summary-export`.

use super::{MS, Output, Quantiles, from_quantiles, time};
use plimsoll_model::Errors;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

const WAY_OUT: &str = "give k6 --summary-export {out} and \
    --summary-trend-stats 'med,p(90),p(99),p(99.9),max'";

#[derive(Debug, Deserialize)]
struct Summary {
    metrics: BTreeMap<String, BTreeMap<String, serde_json::Value>>,
}

impl Summary {
    fn number(&self, metric: &str, what: &str) -> Option<f64> {
        self.metrics.get(metric)?.get(what)?.as_f64()
    }
}

pub(super) fn parse(text: &str) -> Result<Output, String> {
    let summary: Summary = serde_json::from_str(text)
        .map_err(|error| format!("it is no summary of k6 ({error}); {WAY_OUT}"))?;
    let number = |metric: &str, what: &str| {
        let lacks = || format!("it has no {what} of {metric}; {WAY_OUT}");
        summary.number(metric, what).ok_or_else(lacks)
    };
    let requests = number("http_reqs", "count")?;
    let rate = number("http_reqs", "rate")?;
    // k6 counts as `passes` the requests of which it is true that they failed.
    let failed = summary.number("http_req_failed", "passes").unwrap_or(0.0);
    // The name that k6 gives to the times of good answers alone.
    const GOOD: &str = "http_req_duration{expected_response:true}";
    let good = match summary.metrics.contains_key(GOOD) {
        true => GOOD,
        false => "http_req_duration",
    };
    let mut known = Vec::new();
    for (name, value) in summary.metrics.get(good).into_iter().flatten() {
        if let (Some(q), Some(ms)) = (quantile(name), value.as_f64()) {
            known.push((q, time(ms, MS)?));
        }
    }
    // Iterations that were due and had no free virtual user, each with as many requests as the others.
    let count = |metric| summary.number(metric, "count").unwrap_or(0.0);
    let each = requests / count("iterations").max(1.0);
    let dropped = count("dropped_iterations") * each;
    let stated = known.iter().map(|(q, _)| *q).collect();
    let completed = (requests - failed).max(0.0) as u64;
    let latency = from_quantiles(known, completed).map_err(|why| format!("{why}; {WAY_OUT}"))?;
    let lasted = Duration::try_from_secs_f64(requests / rate).unwrap_or_default();
    Ok(Output {
        lasted,
        completed,
        errors: Errors {
            status: failed as u64,
            ..Errors::default()
        },
        dropped: dropped as u64,
        latency,
        quantiles: Quantiles::Only(stated),
    })
}

/// The quantile that k6 calls by this name.
fn quantile(name: &str) -> Option<f64> {
    match name {
        "med" => Some(0.5),
        "max" => Some(1.0),
        _ => {
            let pct = name.strip_prefix("p(")?.strip_suffix(')')?;
            pct.parse().ok().map(|pct: f64| pct / 100.0)
        }
    }
}
