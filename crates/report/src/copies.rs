//! A run of copies: its table and its sentences.

use crate::TrialTally;
use crate::levels::{known, trials};
use crate::number::{self, counted, for_count};
use crate::sentence::Sentence;
use crate::smt;
use crate::table::{Column, Ink};
use plimsoll_model::{CopiesFinding, SmtFinding};

/// The columns of the slow-down table.
pub(crate) fn columns(rows: &[CopiesFinding], smt: &SmtFinding) -> Vec<Column> {
    let ratio = |ratio: f64| format!("{ratio:.2}");
    let mut columns = vec![
        Column::new("copies", "", 0, rows.iter().map(|r| r.copies.to_string())),
        Column::new(
            "time",
            "s",
            0,
            rows.iter().map(|r| number::short(r.seconds)),
        ),
        Column::new(
            "slowest",
            "s",
            2,
            rows.iter().map(|r| number::short(r.slowest_seconds)),
        ),
        Column::new(
            "CPU",
            "%",
            0,
            rows.iter().map(|r| known(r.cpu_pct, number::pct)),
        ),
        Column::new(
            "efficiency",
            "ratio",
            0,
            rows.iter().map(|r| known(r.efficiency_ratio, ratio)),
        ),
        Column::new(
            "trials",
            "",
            1,
            rows.iter().map(|r| trials(r.trials, r.invalid_trials)),
        ),
    ];
    // Beside the CPU use that it corrects.
    if let Some(work) = smt::column(smt, rows) {
        columns.insert(AFTER_CPU, work);
    }
    columns
}

/// Where a column stands that follows CPU use.
const AFTER_CPU: usize = 4;

/// What the row with the most copies says.
pub(crate) fn sentences(rows: &[CopiesFinding]) -> Vec<Sentence> {
    let Some(most) = rows.iter().rfind(|r| r.trials > 0) else {
        let none = "No trial counts, so how much copies slow each other down is not known.";
        return vec![Sentence::new(Ink::Yellow, none)];
    };
    let copies = f64::from(most.copies);
    let work = match most.efficiency_ratio {
        _ if most.copies == 1 => Sentence::new(
            Ink::Plain,
            format!("One copy alone takes {} s.", number::short(most.seconds)),
        ),
        Some(ratio) => Sentence::new(
            Ink::Green,
            format!(
                "With {} copies at once, each runs at {:.0} % of the speed of one alone: \
                 together they do the work of {} copies that do not disturb each other.",
                most.copies,
                100.0 * ratio,
                number::short(copies * ratio),
            ),
        ),
        None => Sentence::new(
            Ink::Yellow,
            format!(
                "With {} copies at once, each takes {} s; of one copy alone no trial counts, \
                 so how much they slow each other down is not known.",
                most.copies,
                number::short(most.seconds),
            ),
        ),
    };
    let cpu = match most.cpu_pct {
        Some(cpu) => format!("CPU use is then {} %.", number::pct(cpu)),
        None => "CPU use meanwhile is not known.".to_owned(),
    };
    let mut out = vec![work, Sentence::new(Ink::Plain, cpu)];
    let disturbed = rows.iter().filter(|r| is_disturbed(r));
    out.extend(disturbed.map(|r| {
        let text = format!(
            "No trial with {} counts; its row shows the disturbed {}.",
            counted(r.copies, "copy", "copies"),
            for_count(r.invalid_trials, "one", "ones"),
        );
        Sentence::new(Ink::Red, text)
    }));
    out
}

/// Whether a row shows trials that do not count, for want of others.
pub(crate) fn is_disturbed(row: &CopiesFinding) -> bool {
    row.trials == 0
}

/// Why rows are disturbed, and what to do; `None` where none is.
pub(crate) fn remedy(rows: &[CopiesFinding], trials: &TrialTally) -> Option<Sentence> {
    rows.iter().find(|r| is_disturbed(r))?;
    let why = trials.commonest_reason()?;
    let text = format!(
        "Trials were disturbed, most often because {why}. {}",
        crate::sentences::QUIETER
    );
    Some(Sentence::new(Ink::Yellow, text))
}
