//! How a run was measured: the facts that several experiments have.

use crate::number;
use crate::sentence::{Sentence, words_of};
use crate::table::Ink;
use plimsoll_model::{
    CpuCapacity, CpuLimit, CpuPlan, CpuSet, ImportedTable, Millicores, TableRows,
};

pub(crate) fn cpus(cpus: &CpuPlan) -> Option<String> {
    let of = |what: &str, set: &CpuSet| (!set.is_empty()).then(|| format!("{what} {set}"));
    let service = of("service", &cpus.service).map(|service| {
        let usable = words_of(cpus.capacity, |usable| format!(" ({})", capacity(usable)));
        service + &usable
    });
    let parts = [service, of("generator", &cpus.generator)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// How many CPUs a service could use at once, and why no more.
pub(crate) fn capacity(capacity: CpuCapacity) -> String {
    let amount = amount(capacity.millicores);
    match capacity.limited_by {
        CpuLimit::Quota => format!("{amount} by the quota of its cgroup"),
        CpuLimit::Affinity => format!("{amount} by affinity"),
        CpuLimit::Online => format!("{amount}, all online"),
    }
}

/// `1 CPU`, `0.5 CPUs`.
pub(crate) fn amount(millicores: Millicores) -> String {
    let unit = if millicores.0 == 1000 { "CPU" } else { "CPUs" };
    format!("{} {unit}", number::trimmed(millicores.cpus()))
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
