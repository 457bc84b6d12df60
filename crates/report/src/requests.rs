//! Several requests, each by itself.

use crate::number::per_second;
use crate::sentence::Sentence;
use crate::table::{Column, Ink};
use crate::{Table, time_us};
use plimsoll_model::{CapacityFinding, Goal, Quantile, RequestFinding, RequestsFinding};

/// A latency of requests of which so many had no answer: of these only the least is known.
pub fn at_least(us: Option<f64>, unfinished: u64) -> String {
    match (us, unfinished) {
        (None, _) => "-".to_owned(),
        (Some(us), 0) => time_us(us),
        (Some(us), _) => format!(">{}", time_us(us)),
    }
}

/// `640/s to 800/s`
pub(crate) fn rates(found: &RequestsFinding) -> String {
    let (from, to) = (per_second(found.from_rps), per_second(found.to_rps));
    match from == to {
        true => to,
        false => format!("{from} to {to}"),
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
    let of_p99 = |found: &&CapacityFinding| matches!(found.goal, Goal::Latency { quantile, .. } if quantile == Quantile::P99);
    let limits = capacity
        .iter()
        .filter(of_p99)
        .filter_map(|found| found.limit_us);
    let Some(limit) = limits.reduce(f64::min) else {
        return Vec::new();
    };
    let sentence = |r: &RequestFinding| {
        // Of few requests the median alone is known.
        let seen = [("p50", r.p50_us), ("p99", r.p99_us)];
        let (name, us) = seen
            .into_iter()
            .find_map(|(name, us)| Some((name, us.filter(|us| *us > limit)?)))?;
        let time = time_us(us);
        Some(Ink::Yellow.says(format!(
            "'{}' alone has a {name} of {time} at {}: the goal is one of all requests together.",
            r.name,
            rates(found)
        )))
    };
    found.requests.iter().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample::found as capacity;

    #[test]
    fn a_rare_request_that_misses_the_limit_is_named_by_what_is_known_of_it() {
        let request = |name: &str, p50: f64, p99: Option<f64>| RequestFinding {
            name: name.to_owned(),
            share_pct: 50.0,
            sent: 16,
            answered: 16,
            failed: 0,
            unfinished: 0,
            p50_us: Some(p50),
            p99_us: p99,
        };
        let found = RequestsFinding {
            from_rps: 150.0,
            to_rps: 200.0,
            requests: vec![
                request("quick", 300.0, Some(900.0)),
                request("tail", 300.0, Some(80_000.0)),
                request("rare", 500_000.0, None),
            ],
        };
        let capacity = CapacityFinding {
            limit_us: Some(10_000.0),
            ..capacity("p99<10ms", 200.0, None)
        };
        let notes = notes(&found, &[capacity]);
        let texts: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(
            texts[0].contains("'tail' alone has a p99 of 80ms at 150/s to 200/s"),
            "{texts:?}"
        );
        assert!(
            texts[1].contains("'rare' alone has a p50 of 500ms"),
            "{texts:?}"
        );
    }
}
