//! The table of load levels.

use crate::number::{self, TimeUnit};
use crate::sentence::Sentence;
use crate::table::{Cell, Column, ColumnsOf, Ink, known, trials};
use plimsoll_model::{Invalid, LatencySummary, LevelFinding};

/// The columns of the level table, with their ranks in a narrow terminal.
///
/// The rows of an imported table have one latency, of which it is not known
/// what it is, and nothing about a generator or errors.
pub(super) fn columns(levels: &[LevelFinding], imported: bool) -> Vec<Column> {
    let of = ColumnsOf(levels);
    let load = Column::new("load", "%", 0, loads(levels));
    let rate = |name| of.column(name, "/s", |l| known(l.achieved_rps, number::rate));
    let cpu = of.column("CPU", "%", |l| known(l.cpu_pct, number::pct));
    let per_request = |name, rank, us: fn(&LevelFinding) -> Option<f64>| {
        of.ranked(name, "us/req", rank, |l| known(us(l), number::short))
    };
    let cpu_time = per_request("CPU", 7, |l| l.cpu_us_per_request);
    let count = |name| of.ranked(name, "", 1, |l| trials(l.trials, l.invalid_trials));
    if imported {
        // In microseconds, as it was given; of repeated rows the worst, which is
        // what a goal is compared with.
        let latency = |l: &LevelFinding| l.latency_us.as_ref().map(|s| s.p99);
        let latency = of.column("latency", "us", |l| known(latency(l), number::short));
        let is_known = levels.iter().any(|l| l.cpu_us_per_request.is_some());
        let mut columns = vec![load, rate("rate"), cpu];
        columns.extend(is_known.then_some(cpu_time));
        columns.extend([latency, count("rows")]);
        return columns;
    }
    let slip = |l: &LevelFinding| l.slip_us.as_ref().map(|s| s.p99);
    vec![
        load,
        of.ranked("offered", "/s", 2, |l| number::rate(l.offered_rps)),
        rate("achieved"),
        cpu,
        cpu_time,
        per_request("wait", 9, |l| l.run_delay_us_per_request),
        latency_column(levels, "p50", 3, |s| s.p50),
        latency_column(levels, "p90", 8, |s| s.p90),
        latency_column(levels, "p99", 0, |s| s.p99),
        latency_column(levels, "p99.9", 5, |s| s.p999),
        latency_column(levels, "max", 6, |s| s.max),
        of.ranked("slip p99", "us", 10, |l| known(slip(l), number::short)),
        of.ranked("errors", "%", 4, errors),
        of.ranked("generator", "CPU %", 11, |l| {
            known(l.generator_cpu_pct, number::pct)
        }),
        count("trials"),
    ]
}

/// Of so many levels it is said why no trial is valid; of more the reasons are much
/// the same.
const MOST_REASONS: usize = 3;

/// Why trials of a level are invalid, in one line.
pub(super) fn why_invalid(level: &LevelFinding) -> String {
    let reasons: Vec<String> = level
        .invalid_reasons
        .iter()
        .map(Invalid::to_string)
        .collect();
    reasons.join("; ")
}

/// Why there are dashes: a sentence per level without a valid trial, and one for
/// the rest of them.
pub(super) fn reasons(levels: &[LevelFinding]) -> Vec<Sentence> {
    if levels.is_empty() {
        return vec![Ink::Yellow.says("No load level was measured.")];
    }
    let without = levels.iter().filter(|l| l.trials == 0);
    let sentences = without.map(|level| {
        let load = number::trimmed_pct(level.load_pct);
        let why = match level.invalid_trials {
            0 => "none was made".to_owned(),
            _ => why_invalid(level),
        };
        Ink::Red.says(format!("No valid trial at {load} % load: {why}."))
    });
    let mut sentences: Vec<Sentence> = sentences.collect();
    if sentences.len() > MOST_REASONS + 1 {
        let more = sentences.len() - MOST_REASONS;
        sentences.truncate(MOST_REASONS);
        let text = format!("No valid trials at {more} more levels, for similar reasons.");
        sentences.push(Ink::Red.says(text));
    }
    sentences
}

/// The load that a level really was, in percent of the rated rate: what it
/// achieved, where that and the rated rate are known.
pub(super) fn achieved_pct(level: &LevelFinding, rated_rps: Option<f64>) -> f64 {
    match (level.achieved_rps, rated_rps) {
        (Some(achieved), Some(rated)) => 100.0 * achieved / rated,
        _ => level.load_pct,
    }
}

/// With a decimal only if one of them needs it.
fn loads(levels: &[LevelFinding]) -> Vec<String> {
    let shown: Vec<String> = levels.iter().map(|l| number::pct(l.load_pct)).collect();
    if shown.iter().any(|load| !load.ends_with(".0")) {
        return shown;
    }
    let whole = |load: String| load.trim_end_matches(".0").to_owned();
    shown.into_iter().map(whole).collect()
}

pub(super) fn latency_column(
    levels: &[LevelFinding],
    name: &'static str,
    rank: u8,
    of: fn(&LatencySummary) -> f64,
) -> Column {
    let values = levels.iter().map(|l| l.latency_us.as_ref().map(of));
    let unit = TimeUnit::of(values.clone().flatten());
    let cells = values.map(|us| known(us, |us| unit.show(us)));
    Column::new(name, unit.name, rank, cells)
}

fn errors(level: &LevelFinding) -> Cell {
    let mut cell = known(level.error_pct, number::small_pct);
    if level.error_pct > Some(0.0) {
        cell.ink = Ink::Yellow;
    }
    cell
}
