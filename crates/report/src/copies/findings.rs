//! What was found, as a table and as sentences.

use crate::number::{self, counted, for_count};
use crate::sentence::Sentence;
use crate::smt;
use crate::table::{Column, ColumnsOf, Ink, known, trials};
use plimsoll_model::{CopiesFinding, CopiesFindings};

pub(super) fn columns(findings: &CopiesFindings, is_table: bool) -> Vec<Column> {
    let (rows, smt) = (&findings.copies[..], &findings.smt);
    let of = ColumnsOf(rows);
    let counted = if is_table { "rows" } else { "trials" };
    let ratio = |ratio: f64| format!("{ratio:.2}");
    let columns = [
        Some(of.column("copies", "", |r| r.copies.to_string())),
        Some(of.column("time", "s", |r| number::short(r.seconds))),
        Some(of.ranked("slowest", "s", 2, |r| number::short(r.slowest_seconds))),
        Some(of.column("CPU", "%", |r| known(r.cpu_pct, number::pct))),
        // Beside the CPU use that it corrects.
        smt::column(smt, rows),
        Some(of.column("efficiency", "ratio", |r| known(r.efficiency_ratio, ratio))),
        Some(of.ranked(counted, "", 1, |r| trials(r.trials, r.invalid_trials))),
    ];
    columns.into_iter().flatten().collect()
}

pub(super) fn sentences(rows: &[CopiesFinding]) -> Vec<Sentence> {
    let Some(most) = rows.iter().rfind(|r| r.trials > 0) else {
        let none = "There is no valid trial, so how much copies slow each other down is not known.";
        return vec![Ink::Yellow.says(none)];
    };
    let copies = f64::from(most.copies);
    let work = match most.efficiency_ratio {
        _ if most.copies == 1 => Ink::Plain.says(format!(
            "One copy alone takes {} s.",
            number::short(most.seconds)
        )),
        Some(ratio) => Ink::Green.says(format!(
            "With {} copies at once, each runs at {:.0} % of the speed of one alone: \
                 together they do the work of {} copies that do not disturb each other.",
            most.copies,
            100.0 * ratio,
            number::short(copies * ratio),
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

/// Whether a row shows invalid trials, for want of others.
pub(super) fn is_disturbed(row: &CopiesFinding) -> bool {
    row.trials == 0
}
