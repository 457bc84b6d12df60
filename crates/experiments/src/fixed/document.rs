//! The findings as a document: one screen.

use super::charts::{self, SecondOf};
use super::experiment::FixedRate;
use super::judge::MORE;
use super::phases::PhaseFound;
use super::study::{BodyFound, ConnectionsFound, FixedFindings, LatencyChange, Quantiles};
use crate::experiment::ReportOf;
use plimsoll_model::Rate;
use plimsoll_report::{Column, Document, Ink, Role, Table, connections_of, requests, time_us};
use std::time::Duration;

pub(super) fn document<'a>(
    report: &'a ReportOf<'a, FixedRate>,
    seconds: &[SecondOf],
) -> Document<'a> {
    let found = report.findings;
    let mut out = Document::of_run(report, 1, "rates");
    if found.intended == 0 {
        out.answer(Ink::Red, "Nothing was measured.".to_owned());
        return out;
    }
    out.answer(ink(found), answer(found));
    let doubts = doubts(found);
    out.say(
        Role::Doubt,
        doubts.into_iter().map(|text| Ink::Yellow.says(text)),
    );
    let note =
        "One trial: no interval. plimsoll sweep, or several runs, show how much figures vary.";
    out.say(Role::Note, [Ink::Dim.says(note)]);
    let is_one = found.requests.is_empty();
    if is_one && found.body_bytes.is_some_and(BodyFound::varies) {
        let note =
            "Bodies of answers differ in length: errors sent with a good status count as answers.";
        out.say(Role::Note, [Ink::Yellow.says(note)]);
    }
    out.table(times(found));
    out.table(counts(found));
    if !found.requests.is_empty() {
        out.table(requests::table("Each request", &found.requests));
    }
    if !found.phases.is_empty() {
        out.table(phases(&found.phases));
    }
    out.charts(charts::all(seconds, !found.phases.is_empty()));
    out
}

/// The parts of a rate that changes.
fn phases(found: &[PhaseFound]) -> Table {
    let rate = |rps: f64| format!("{rps:.1}");
    let time = |p: &PhaseFound, us: Option<f64>| requests::at_least(us, p.unfinished);
    let time_of = |us: Option<f64>| us.map_or("-".to_owned(), time_us);
    let columns = vec![
        Column::words("from", "s", 0, found, |p| format!("{:.1}", p.from_s)),
        Column::words("asked", "1/s", 0, found, |p| rate(p.asked_rps)),
        Column::words("answered", "1/s", 0, found, |p| rate(p.answered_rps)),
        Column::words("failed", "", 2, found, |p| p.failed.to_string()),
        Column::words("no answer", "", 2, found, |p| p.unfinished.to_string()),
        Column::words("p50", "", 1, found, |p| time(p, p.p50_us)),
        Column::words("p99", "", 0, found, |p| time(p, p.p99_us)),
        Column::words("slip p99", "", 1, found, |p| time_of(p.slip_p99_us)),
    ];
    let explained = [
        ("from", "when this part of the time began"),
        (
            "answered",
            "good answers to the requests of this part, whenever they came; arrivals vary around what was asked for",
        ),
        (
            ">",
            "at least: requests without an answer count with the time that they had waited",
        ),
        (
            "slip p99",
            "how late the generator itself was, which is part of the latency",
        ),
    ];
    Table::of(columns)
        .explained("Phases", &explained)
        .on_page("phases")
        .wide()
}

fn ink(found: &FixedFindings) -> Ink {
    match found.failed + found.unfinished {
        0 if found.valid => Ink::Green,
        _ if found.completed == 0 => Ink::Red,
        _ => Ink::Yellow,
    }
}

/// `1,998/s answered of 2,000/s for 10s; p50 410us, p99 1.2ms`
fn answer(found: &FixedFindings) -> String {
    // Of a request without an answer only the least is known.
    let least = if found.unfinished > 0 {
        "at least "
    } else {
        ""
    };
    let of =
        |name: &str, value: Option<f64>| value.map(|us| format!("{name} {least}{}", time_us(us)));
    let latency = &found.latency_us;
    let times = [
        of("p50", latency.p50),
        of("p99", latency.p99),
        of("max", latency.max),
    ];
    let times: Vec<String> = times.into_iter().flatten().collect();
    let measured = Duration::from_secs_f64(found.measured_s);
    format!(
        "{} answered of {}{} for {}; {}",
        per_second(found.served_rps),
        per_second(found.asked_rps),
        if found.phases.is_empty() {
            ""
        } else {
            " on average"
        },
        plimsoll_model::human_duration(measured),
        match times.is_empty() {
            true => "no latency".to_owned(),
            false => times.join(", "),
        }
    )
}

fn per_second(rps: f64) -> String {
    Rate::per_second(rps).unwrap_or(Rate::ZERO).to_string()
}

/// Where so many requests waited for a connection, they may be why fewer were answered.
const LIMIT_PCT: f64 = 50.0;
/// Where so many did, they are seen in a p99.
const SEEN_PCT: f64 = 1.0;

/// A figure that pauses of the generator may have raised by this factor is doubted.
const RAISED: f64 = 1.25;

pub(super) fn doubts(found: &FixedFindings) -> Vec<String> {
    let mut doubts = Vec::new();
    let kinds = found.errors.by_kind().into_iter();
    let kinds: Vec<String> = kinds
        .filter(|(_, n)| *n > 0)
        .map(|(kind, n)| format!("{n} {kind}"))
        .collect();
    if !kinds.is_empty() {
        let share = 100.0 * found.failed as f64 / found.intended as f64;
        doubts.push(format!(
            "{} requests failed ({share:.2} %): {}.",
            found.failed,
            kinds.join(", ")
        ));
    }
    if found.unfinished > 0 {
        doubts.push(format!(
            "{} requests had no answer at the end; they count with the time that they had waited.{}",
            found.unfinished,
            match found.completed + found.failed + found.unfinished > found.intended {
                true => " Answers in the window are also to requests that were due before it.",
                false => "",
            }
        ));
    }
    doubts.extend(found.latency_changed.map(latency_changed));
    doubts.extend(pauses(found));
    let waited = found.connections.filter(|used| used.waited_pct >= SEEN_PCT);
    doubts.extend(waited.map(waited_for_connections));
    if found.slow_seconds > 0 {
        doubts.push(format!(
            "In {} of the seconds fewer than 90 % of the requests were answered: {}.",
            found.slow_seconds,
            why_slow(found)
        ));
    }
    doubts
}

fn pauses(found: &FixedFindings) -> Option<String> {
    let (stated, without) = (&found.latency_us, found.pauses?);
    let figures = [
        ("mean", stated.mean, Some(without.mean_us)),
        ("p99", stated.p99, without.p99_us),
        ("p99.9", stated.p999, without.p999_us),
    ];
    let raised = figures.into_iter().filter_map(|(name, stated, without)| {
        let (stated, without) = (stated?, without?);
        (stated >= RAISED * without)
            .then(|| format!("{name} from {} to {}", time_us(without), time_us(stated)))
    });
    let raised: Vec<String> = raised.collect();
    if raised.is_empty() {
        return None;
    }
    Some(format!(
        "Pauses of the generator, of up to {}, and the queues that they left at the service may have raised latencies, \
         at most so: {}. Run it again when the machine is quieter, or at a lower rate.",
        time_us(found.slip_us.max?),
        raised.join(", ")
    ))
}

fn latency_changed(found: LatencyChange) -> String {
    let why = match found.is_fall {
        true => {
            "the service compiles or caches as it runs, or something slowed its beginning. --warm-up 30s, or more, loads it before it is measured."
        }
        false => "a queue grew, or the service got slower. A longer run shows whether it stays so.",
    };
    let mean = |us: f64, is_least: bool| match is_least {
        true => format!("at least {}", time_us(us)),
        false => time_us(us),
    };
    format!(
        "Mean latency was {} for the first {}, and {} after that: {why}",
        mean(found.before_us, found.before_is_least),
        plimsoll_model::human_duration(Duration::from_secs_f64(found.after_s)),
        mean(found.then_us, found.then_is_least)
    )
}

fn why_slow(found: &FixedFindings) -> String {
    let used = found.connections;
    match used.filter(|used| used.waited_pct >= LIMIT_PCT) {
        _ if found.latency_changed.is_some_and(|change| change.is_fall) => {
            "while it was slow, the service did not carry this rate".to_owned()
        }
        None => "the service does not carry this rate, its answers take so long, or something else used its CPUs".to_owned(),
        Some(_) => "no connection was free".to_owned(),
    }
}

fn waited_for_connections(used: ConnectionsFound) -> String {
    format!(
        "{:.0} % of the requests waited because the client's {} were in use, which is part of their latency: these are too few for this rate, or wait for the service. A run with more of them (-c {}) shows which.",
        used.waited_pct,
        connections_of(used.connections, used.streams),
        used.connections.saturating_mul(MORE)
    )
}

/// A row for each quantile, so that it fits any terminal.
fn times(found: &FixedFindings) -> Table {
    type Of = fn(&Quantiles) -> Option<f64>;
    let rows: [(&str, Of); 8] = [
        ("mean", |q| q.mean),
        ("p50", |q| q.p50),
        ("p75", |q| q.p75),
        ("p90", |q| q.p90),
        ("p95", |q| q.p95),
        ("p99", |q| q.p99),
        ("p99.9", |q| q.p999),
        ("max", |q| q.max),
    ];
    let written = |value: Option<f64>| value.map_or("-".to_owned(), time_us);
    let columns = vec![
        Column::words("of requests", "", 0, &rows, |(name, _)| (*name).to_owned()),
        Column::words("latency", "", 0, &rows, |(_, of)| {
            written(of(&found.latency_us))
        }),
        Column::words("slip", "", 1, &rows, |(_, of)| written(of(&found.slip_us))),
    ];
    let explained = [
        (
            "latency",
            "from the time at which a request was due to the last byte of its answer; of one without an answer, how long it had waited at the end",
        ),
        (
            "slip",
            "how late the generator itself was, which is part of the latency",
        ),
    ];
    Table::of(columns)
        .explained("Times", &explained)
        .on_page("times")
}

/// `51`, or `22 to 51, mean 32`
fn body(sizes: Option<BodyFound>) -> String {
    match sizes {
        None => "-".to_owned(),
        Some(sizes) if sizes.least == sizes.most => sizes.least.to_string(),
        Some(BodyFound { least, most, mean }) => format!("{least} to {most}, mean {mean:.0}"),
    }
}

/// A row for each figure, so that it fits any width.
fn counts(found: &FixedFindings) -> Table {
    let figure = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
    let connections = found.connections.map(|used| match used.streams {
        1 => used.connections.to_string(),
        streams => format!("{}, {streams} streams each", used.connections),
    });
    let rows = [
        ("requests due", found.intended.to_string()),
        ("connections", connections.unwrap_or("-".to_owned())),
        ("answers in the window", found.completed.to_string()),
        ("body of an answer, B", body(found.body_bytes)),
        ("failed", found.failed.to_string()),
        ("unanswered at the end", found.unfinished.to_string()),
        ("CPU use of the service's CPUs, %", figure(found.cpu_pct)),
        (
            "CPU time of the service, us per answer",
            figure(found.cpu_us_per_request),
        ),
        (
            "CPU time of the generator, us per answer",
            figure(found.generator_us_per_request),
        ),
    ];
    let columns = vec![
        Column::words("figure", "", 0, &rows, |(name, _)| (*name).to_owned()),
        Column::words("value", "", 0, &rows, |(_, value)| value.clone()),
    ];
    Table::of(columns).on_page("requests")
}
