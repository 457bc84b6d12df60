//! Which CPU use leaves which part of the capacity free: a table, and what it
//! comes to.

use crate::capacity::Subject;
use crate::document::Table;
use crate::number::{self, Written};
use crate::sentence::{Sentence, words_if, words_of};
use crate::table::{Cell, Column, ColumnsOf, Ink, known};
use plimsoll_model::{Doubt, Estimate, Findings, ThresholdFinding};

/// The headroom that the sentence is about: a usual one.
const USUAL_PCT: f64 = 20.0;

/// Below this headroom, twice the capacity, figures are not written out.
const MOST_OVERLOADED_PCT: f64 = -100.0;

pub(super) fn table(findings: &Findings) -> Table {
    let of = findings.thresholds_of_rps.map_or_else(
        || "the capacity".to_owned(),
        |of| Written::rate(of).value + "/s",
    );
    Table {
        id: Some("thresholds"),
        heading: Some(format!(
            "Scale-out threshold (CPU %) by headroom, the part of {of} left free"
        )),
        hint: Some(
            "Act at: below this CPU use the headroom is certain; own time is the same of the service's \
             own CPU time, which a HorizontalPodAutoscaler sees. Linear: the threshold of the rule \
             \"80 % CPU use leaves 20 %\", and the headroom that it really leaves.",
        ),
        ..Table::of(columns(&findings.thresholds))
    }
}

/// The columns of the table, with their ranks in a narrow terminal. Columns
/// about intervals are there only if there is one.
///
/// Rows without a CPU use are left out: they say nothing to act on.
fn columns(rows: &[ThresholdFinding]) -> Vec<Column> {
    let rows: Vec<&ThresholdFinding> = rows.iter().filter(|r| r.cpu_pct.is_some()).collect();
    let of = ColumnsOf(&rows);
    let text = |text: String| text;
    let cpu = |row: &ThresholdFinding| row.cpu_pct.map(Written::pct);
    let left = |row: &ThresholdFinding| row.linear_headroom_pct.map(Written::pct);
    let left_ends = |row: &ThresholdFinding| left_ends(row.linear_headroom_pct?, 1);
    let has_low = rows
        .iter()
        .any(|row| row.cpu_pct.is_some_and(|c| c.low.is_some()));
    let has_own = rows.iter().any(|row| row.own_millicores.is_some());
    let has_left = rows.iter().any(|row| left_ends(row).is_some());
    let value_rank = if has_low { 2 } else { 0 };
    let columns = [
        Some(of.column("headroom", "%", |r| number::trimmed_pct(r.headroom_pct))),
        // Below its lower end there is surely so much headroom.
        has_low.then(|| {
            let low = |r: &ThresholdFinding| cpu(r)?.low;
            of.column("act at", "CPU %", |r| inked(low(r), Ink::Green))
        }),
        Some(of.ranked("CPU use", "%", value_rank, |r| {
            known(cpu(r), |cpu| cpu.value)
        })),
        has_low.then(|| {
            let ends = |r: &ThresholdFinding| cpu(r)?.ends();
            of.ranked("interval", "%", 3, |r| known(ends(r), text))
        }),
        has_own.then(|| {
            let own = |r: &ThresholdFinding| r.own_millicores.map(own_least);
            of.ranked("own time", "mCPU", 4, |r| known(own(r), text))
        }),
        Some(of.ranked("linear", "CPU %", 1, |r| number::pct(r.linear_cpu_pct))),
        Some(of.ranked("leaves", "%", 1, |r| known(left(r), |left| left.value))),
        has_left.then(|| of.ranked("interval", "%", 5, |r| known(left_ends(r), text))),
        Some(of.ranked("error", "points", 4, |r| error(r))),
    ];
    columns.into_iter().flatten().collect()
}

/// The lower end, as for the CPU use to act at.
fn own_least(millicores: Estimate) -> String {
    number::grouped(millicores.low.unwrap_or(millicores.value).floor(), 0)
}

/// The interval of what the linear rule leaves. Below minus 100 the load is
/// more than twice the capacity, and how much more is nothing to act on.
fn left_ends(left: Estimate, most: i32) -> Option<String> {
    let (low, high) = match left.interval() {
        Some((low, high)) if low < MOST_OVERLOADED_PCT => (low, high),
        _ => return Written::of(left, most).ends(),
    };
    if high < MOST_OVERLOADED_PCT {
        return Some(format!("below {MOST_OVERLOADED_PCT}"));
    }
    let high = Written::of(Estimate::within(high, low, high), most).value;
    Some(format!("below {MOST_OVERLOADED_PCT} to {high}"))
}

/// A text, or a dash where it is not known.
fn inked(text: Option<String>, ink: Ink) -> Cell {
    match text {
        Some(text) => Cell { text, ink },
        None => known(None, |text: String| text),
    }
}

/// Less headroom than was wanted is unsafe; more only costs.
///
/// With the digits of what is left, so that the columns add up.
fn error(row: &ThresholdFinding) -> Cell {
    let points = row.linear_error_points;
    let is_unsafe = points.is_some_and(|points| points.high.unwrap_or(points.value) < 0.0);
    let ink = if is_unsafe { Ink::Red } else { Ink::Plain };
    let signed = points.zip(row.linear_headroom_pct).map(|(points, left)| {
        let shown = Written::at(points.value, left, 1);
        let sign = if points.value >= 0.05 { "+" } else { "" };
        format!("{sign}{shown}")
    });
    inked(signed, ink)
}

/// The row of a usual headroom, or the one nearest to it that was seen.
pub(super) fn usual(rows: &[ThresholdFinding]) -> Option<&ThresholdFinding> {
    let seen = |row: &&ThresholdFinding| row.cpu_pct.is_some();
    let away = |row: &ThresholdFinding| (row.headroom_pct - USUAL_PCT).abs();
    let rows = rows.iter().filter(seen);
    rows.min_by(|a, b| away(a).total_cmp(&away(b)))
}

pub(super) fn sentence(subject: Subject, findings: &Findings) -> Option<Sentence> {
    let of = Written::rate(findings.thresholds_of_rps?).value;
    // Said where the figures are doubted.
    if findings.doubts.iter().any(Doubt::leaves_no_threshold) {
        return None;
    }
    let Some((row, cpu)) = usual(&findings.thresholds).and_then(|row| Some((row, row.cpu_pct?)))
    else {
        return Some(
            Ink::Yellow
                .says("The scale-out threshold is not known: CPU use was not measured near it."),
        );
    };
    // As in the table.
    let at = Written::pct(cpu);
    let why = format!(" ({})", subject.no_interval());
    let why = words_if(cpu.low.is_none(), &why);
    Some(Ink::Green.says(format!(
        "Scale-out threshold for {} % headroom below {of}/s: {} % CPU use{why}; at {} % (linear \
         rule) {}.",
        number::trimmed_pct(row.headroom_pct),
        at.least(),
        number::trimmed_pct(row.linear_cpu_pct),
        leaves(row.linear_headroom_pct),
    )))
}

fn leaves(left: Option<Estimate>) -> String {
    match left {
        None => "the headroom is not known".to_owned(),
        Some(left) if left.value < MOST_OVERLOADED_PCT => {
            "the load is more than twice that rate".to_owned()
        }
        Some(left) if left.value < 0.0 => {
            let beyond = Estimate {
                value: -left.value,
                low: left.high.map(|high| -high),
                high: left.low.map(|low| -low),
            };
            let beyond = Written::of(beyond, 0).with_ends(" %");
            format!("the load is already {beyond} above that rate")
        }
        Some(left) => {
            let ends = words_of(left_ends(left, 0), |ends| format!(" ({ends})"));
            format!("the headroom is {} %{ends}", Written::of(left, 0).value)
        }
    }
}
