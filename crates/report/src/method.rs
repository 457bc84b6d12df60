//! How a run was measured: the facts that several experiments have.

use crate::sentence::Sentence;
use crate::table::Ink;
use plimsoll_model::{CpuPlan, CpuSet, ImportedTable, TableRows};

pub(crate) fn cpus(cpus: &CpuPlan) -> Option<String> {
    let of = |what: &str, set: &CpuSet| (!set.is_empty()).then(|| format!("{what} {set}"));
    let parts = [
        of("service", &cpus.service),
        of("generator", &cpus.generator),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

pub(crate) fn visits(passes: u32) -> String {
    format!("{passes}, in shuffled order and mirrored")
}

/// What a table that somebody else measured leaves open.
pub(crate) fn imported(table: &ImportedTable, rows: u64) -> Sentence {
    let open = match table.rows {
        TableRows::Rates => {
            " The table does not say whether latency is a mean or a percentile; goals on any \
             percentile are compared with it as it is."
        }
        TableRows::Copies => "",
    };
    Ink::Yellow.says(format!(
        "Imported from a table of {rows} rows with one number each.{open}"
    ))
}
