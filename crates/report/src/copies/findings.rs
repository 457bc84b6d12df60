//! What was found, as a table and as sentences.

use crate::number::{self, MISSING, Written, counted, for_count};
use crate::sentence::Sentence;
use crate::smt;
use crate::table::{Column, ColumnsOf, Ink, known, trials};
use plimsoll_model::{CopiesFinding, CopiesFindings, Estimate};

pub(super) fn columns(findings: &CopiesFindings, is_table: bool) -> Vec<Column> {
    let (rows, smt) = (&findings.copies[..], &findings.smt);
    let of = ColumnsOf(rows);
    let counted = if is_table { "rows" } else { "trials" };
    let ratio = |ratio| Written::of(ratio, 2);
    let columns = [
        Some(of.column("copies", "", |r| r.copies.to_string())),
        Some(of.column("time", "s", |r| number::short(r.seconds))),
        Some(of.ranked("slowest", "s", 2, |r| number::short(r.slowest_seconds))),
        Some(of.column("CPU", "%", |r| known(r.cpu_pct, number::pct))),
        // Beside the CPU use that it corrects.
        smt::column(smt, rows),
        Some(of.column("efficiency", "ratio", |r| {
            known(r.efficiency_ratio, |e| ratio(e).value)
        })),
        Some(of.ranked("interval", "95 %", 1, |r| match r.copies {
            // What the others are measured by.
            1 => MISSING.to_owned().into(),
            _ => known(r.efficiency_ratio, |e| interval(r, e, is_table)),
        })),
        Some(of.ranked(counted, "", 1, |r| trials(r.trials, r.invalid_trials))),
    ];
    columns.into_iter().flatten().collect()
}

/// `0.94 to 0.97`, or why there is none.
fn interval(row: &CopiesFinding, efficiency: Estimate, is_table: bool) -> String {
    let ends = Written::of(efficiency, 2).ends();
    ends.unwrap_or_else(|| format!("none: {}", few(row, is_table)))
}

/// What is too few for an interval: `one trial`.
fn few(row: &CopiesFinding, is_table: bool) -> String {
    let (one, many) = match is_table {
        true => ("one row", "rows"),
        false => ("one trial", "trials"),
    };
    match row.trials {
        1 => one.to_owned(),
        n => format!("{n} {many}"),
    }
}

/// The speed of each copy in percent of that of one alone, with its interval or why there is none:
/// `96 % (94 to 97)`.
pub(super) fn speed(row: &CopiesFinding, efficiency: Estimate, is_table: bool) -> String {
    let pct = Written::of(efficiency.map_rising(|ratio| 100.0 * ratio), 0);
    let ends = pct.ends();
    let ends = ends.unwrap_or_else(|| format!("no interval: {}", few(row, is_table)));
    format!("{} % ({ends})", pct.value)
}

pub(super) fn sentences(rows: &[CopiesFinding], is_table: bool) -> Vec<Sentence> {
    let Some(most) = rows.iter().rfind(|r| r.trials > 0) else {
        let none = "There is no valid trial, so how much copies slow each other down is not known.";
        return vec![Ink::Yellow.says(none)];
    };
    let copies = f64::from(most.copies);
    let work = match most.efficiency_ratio {
        _ if most.copies == 1 => Ink::Plain.says(format!(
            "One copy alone takes {} s (mean of {}).",
            number::short(most.seconds),
            few(most, is_table)
        )),
        Some(ratio) => sure(ratio).says(format!(
            "With {} copies at once, each runs at {} of the speed of one alone: \
                 together they do the work of {} copies that do not disturb each other.",
            most.copies,
            speed(most, ratio, is_table),
            number::short(copies * ratio.value),
        )),
        None => Ink::Yellow.says(format!(
            "With {} copies at once, each takes {} s; no valid trial of one copy alone, so how \
                 much they slow each other down is not known.",
            most.copies,
            number::short(most.seconds),
        )),
    };
    let cpu = match most.cpu_pct {
        Some(cpu) => format!("CPU use is then {} %.", number::pct(cpu)),
        None => "CPU use is not known.".to_owned(),
    };
    let mut out = vec![work, Ink::Plain.says(cpu)];
    let disturbed = rows.iter().filter(|r| is_disturbed(r));
    out.extend(disturbed.map(|r| {
        Ink::Red.says(format!(
            "No valid trial with {}; its row shows the disturbed {}.",
            counted(r.copies, "copy", "copies"),
            for_count(r.invalid_trials, "one", "ones"),
        ))
    }));
    out
}

/// Copies speed each other up by no more than noise.
const FASTER: f64 = 1.05;

/// Copies that were faster together than one alone.
pub(super) fn faster(rows: &[CopiesFinding]) -> Option<Sentence> {
    let ratio = |row: &CopiesFinding| {
        row.efficiency_ratio
            .map(|ratio| ratio.low.unwrap_or(ratio.value))
    };
    let row = rows
        .iter()
        .rfind(|row| row.copies > 1 && ratio(row) > Some(FASTER))?;
    Some(Ink::Yellow.says(format!(
        "{} copies at once were faster than one alone: something else slowed that one down, such as a cold cache, or the command is too short to time. More --trials, or a longer command, show which.",
        row.copies
    )))
}

/// Copies that ended before the kernel could count who used the CPUs.
pub(super) fn too_short(rows: &[CopiesFinding]) -> Option<Sentence> {
    let least = CopiesFinding::SHORTEST;
    let row = rows.iter().find(|row| row.seconds < least.as_secs_f64())?;
    Some(Ink::Yellow.says(format!(
        "A trial takes {} s: the kernel counts idle time, and CPU time of what runs, in ticks of up to 10 ms, so in less than {} s CPU use is not known, and other processes may have disturbed a valid trial unseen. Give a command that takes longer.",
        number::short(row.seconds),
        number::short(least.as_secs_f64()),
    )))
}

/// The colour of an answer: green is for what has an interval that is not wide.
fn sure(ratio: Estimate) -> Ink {
    match (ratio.interval(), ratio.wide()) {
        (Some(_), None) => Ink::Green,
        _ => Ink::Yellow,
    }
}

/// Whether a row shows invalid trials, for want of others.
pub(super) fn is_disturbed(row: &CopiesFinding) -> bool {
    row.trials == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubted(efficiency: Estimate) -> bool {
        let row = CopiesFinding {
            copies: 2,
            seconds: 1.0,
            slowest_seconds: 1.0,
            cpu_pct: None,
            efficiency_ratio: Some(efficiency),
            trials: 1,
            invalid_trials: 0,
        };
        faster(&[row]).is_some()
    }

    #[test]
    fn copies_that_are_faster_than_one_alone_are_doubted() {
        let bare = |value| Estimate {
            value,
            low: None,
            high: None,
        };
        assert!(doubted(bare(1.3)) && !doubted(bare(0.9)));
        assert!(!doubted(Estimate::within(1.3, 0.9, 1.7)));
        assert!(doubted(Estimate::within(1.3, 1.2, 1.4)));
    }
}
