//! The table of load levels.

use crate::number::{self, TimeUnit};
use crate::sentence::Sentence;
use crate::table::{Cell, Column, Ink, trials};

pub(crate) use crate::table::known;

use plimsoll_model::{LatencySummary, LevelFinding};

/// The columns of the level table, with their ranks in a narrow terminal.
///
/// The rows of an imported table have one latency, of which it is not known
/// what it is, and nothing about a generator or errors.
pub(crate) fn columns(levels: &[LevelFinding], imported: bool) -> Vec<Column> {
    let every = |name, unit, rank, show: &dyn Fn(&LevelFinding) -> Cell| {
        Column::new(name, unit, rank, levels.iter().map(show))
    };
    let load = Column::new("load", "%", 0, loads(levels));
    let rate = |name| every(name, "/s", 0, &|l| known(l.achieved_rps, number::rate));
    let cpu = every("CPU", "%", 0, &|l| known(l.cpu_pct, number::pct));
    let cpu_time = every("CPU", "us/req", 7, &|l| {
        known(l.cpu_us_per_request, number::short)
    });
    let count = |name| every(name, "", 1, &|l| trials(l.trials, l.invalid_trials));
    if imported {
        // In microseconds, as it was given; of repeated rows the worst, for that
        // is what a goal is held against.
        let latency = every("latency", "us", 0, &|l| {
            known(l.latency_us.as_ref().map(|s| s.p99), number::short)
        });
        let mut columns = vec![load, rate("rate"), cpu];
        if levels.iter().any(|l| l.cpu_us_per_request.is_some()) {
            columns.push(cpu_time);
        }
        columns.extend([latency, count("rows")]);
        return columns;
    }
    vec![
        load,
        every("offered", "/s", 2, &|l| number::rate(l.offered_rps).into()),
        rate("achieved"),
        cpu,
        cpu_time,
        every("wait", "us/req", 9, &|l| {
            known(l.run_delay_us_per_request, number::short)
        }),
        latency(levels, "p50", 3, |s| s.p50),
        latency(levels, "p90", 8, |s| s.p90),
        latency(levels, "p99", 0, |s| s.p99),
        latency(levels, "p99.9", 5, |s| s.p999),
        latency(levels, "max", 6, |s| s.max),
        every("slip p99", "us", 10, &|l| {
            known(l.slip_us.as_ref().map(|s| s.p99), number::short)
        }),
        every("errors", "%", 4, &errors),
        every("generator", "CPU %", 11, &|l| {
            known(l.generator_cpu_pct, number::pct)
        }),
        count("trials"),
    ]
}

/// Of so many levels it is said why no trial counts; of more the reasons are much
/// the same.
const MOST_REASONS: usize = 3;

/// Why there are dashes: a sentence per level without a valid trial, and one for
/// the rest of them.
pub(super) fn reasons(levels: &[LevelFinding]) -> Vec<Sentence> {
    if levels.is_empty() {
        return vec![Sentence::new(Ink::Yellow, "No load level was measured.")];
    }
    let without = levels.iter().filter(|l| l.trials == 0);
    let sentences = without.map(|level| {
        let load = number::trimmed_pct(level.load_pct);
        let why = match level.invalid_trials {
            0 => "none was made".to_owned(),
            _ => level.invalid_reasons.join("; "),
        };
        Sentence::new(Ink::Red, format!("No valid trial at {load} % load: {why}."))
    });
    let mut sentences: Vec<Sentence> = sentences.collect();
    if sentences.len() > MOST_REASONS + 1 {
        let more = sentences.len() - MOST_REASONS;
        sentences.truncate(MOST_REASONS);
        let text = format!("No valid trials at {more} more levels, for similar reasons.");
        sentences.push(Sentence::new(Ink::Red, text));
    }
    sentences
}

/// The load that a level really was, in percent of the rated rate: what it
/// achieved, where that and the rated rate are known.
pub(crate) fn achieved_pct(level: &LevelFinding, rated_rps: Option<f64>) -> f64 {
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

/// A column of latencies in one unit.
fn latency(
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
