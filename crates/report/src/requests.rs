//! Several requests, each by itself.

use crate::sentence::Sentence;
use crate::table::{Column, Ink};
use crate::{Table, time_us};
use plimsoll_model::{
    CapacityFinding, Goal, LatencyLimit, Quantile, RequestFinding, RequestsFinding,
};
use std::time::Duration;

/// A latency of requests of which so many had no answer: of these only the least is known.
pub fn at_least(us: Option<f64>, unfinished: u64) -> String {
    match (us, unfinished) {
        (None, _) => "-".to_owned(),
        (Some(us), 0) => time_us(us),
        (Some(us), _) => format!(">{}", time_us(us)),
    }
}

/// A row for each.
pub fn table(heading: &str, found: &[RequestFinding]) -> Table {
    let time = |r: &RequestFinding, us: Option<f64>| at_least(us, r.unfinished);
    let sent: u64 = found.iter().map(|r| r.sent).sum();
    let share = |r: &RequestFinding| 100.0 * r.sent as f64 / (sent as f64).max(1.0);
    let columns = vec![
        Column::words("request", "", 0, found, |r| r.name.clone()),
        Column::words("share", "%", 0, found, |r| format!("{:.1}", share(r))),
        Column::words("asked", "%", 2, found, |r| format!("{:.1}", r.share_pct)),
        Column::words("sent", "", 1, found, |r| r.sent.to_string()),
        Column::words("failed", "", 0, found, |r| r.failed.to_string()),
        Column::words("no answer", "", 2, found, |r| r.unfinished.to_string()),
        Column::words("p50", "", 0, found, |r| time(r, r.p50_us)),
        Column::words("p99", "", 0, found, |r| time(r, r.p99_us)),
    ];
    let explained = [
        ("share", "of those that were sent"),
        ("asked", "the share by the weights"),
        (
            "sent",
            "without requests that were due and never sent: a request is chosen when it is sent",
        ),
        (
            ">",
            "at least: requests without an answer count with the time that they had waited",
        ),
    ];
    Table::of(columns)
        .explained(heading, &explained)
        .on_page("requests-each")
}

/// Requests that miss a limit by themselves which all together keep, or that fail more often.
pub(crate) fn notes(found: &RequestsFinding, capacity: &[CapacityFinding]) -> Vec<Sentence> {
    let limits = capacity.iter().filter_map(|capacity| match capacity.goal {
        Goal::Latency {
            quantile,
            limit: LatencyLimit::Absolute(limit),
        } if quantile == Quantile::P99 => Some(limit),
        _ => None,
    });
    let Some(limit) = limits.min() else {
        return Vec::new();
    };
    let misses = |r: &&RequestFinding| {
        r.p99_us
            .is_some_and(|us| Duration::from_secs_f64(us * 1e-6) > limit)
    };
    let missed = found.requests.iter().filter(misses);
    let sentence = |r: &RequestFinding| {
        let p99 = time_us(r.p99_us.unwrap_or_default());
        Ink::Yellow.says(format!(
            "'{}' alone has a p99 of {p99} at {:.0}/s: the goal is one of all requests together.",
            r.name, found.rate_rps
        ))
    };
    missed.map(sentence).collect()
}
