//! What threads that share a core mean for CPU use: a sentence, and a column
//! of the copies table.

use crate::capacity::Subject;
use crate::number;
use crate::sentence::Sentence;
use crate::table::{Column, Ink, known};
use crate::{CopiesReport, Report};
use plimsoll_model::{
    CopiesFinding, CpuPlan, CpuSet, Estimate, ImportedTable, NoSpeedup, SmtFinding, Speedup,
    TableRows,
};

struct Context<'a> {
    subject: Subject,
    cpus: &'a CpuPlan,
    threads_per_core: Option<u32>,
    table: Option<&'a ImportedTable>,
    is_copies: bool,
}

pub(crate) fn of_sweep(report: &Report<'_>) -> Option<Sentence> {
    let context = Context {
        subject: Subject::of(&report.plan.workload),
        cpus: &report.plan.run.cpus,
        threads_per_core: report.provenance.topology.threads_per_core,
        table: report.table(),
        is_copies: false,
    };
    sentence(&report.findings.smt, &context)
}

pub(crate) fn of_copies(report: &CopiesReport<'_>) -> Option<Sentence> {
    let table = report.table();
    let context = Context {
        subject: match table {
            Some(_) => Subject::MACHINE_OF_TABLE,
            None => Subject::THIS_MACHINE,
        },
        cpus: &report.plan.run.cpus,
        threads_per_core: report.provenance.topology.threads_per_core,
        table,
        is_copies: true,
    };
    sentence(&report.findings.smt, &context)
}

fn sentence(smt: &SmtFinding, context: &Context<'_>) -> Option<Sentence> {
    match smt.speedup {
        Ok(speedup) => Some(Ink::Plain.says(adds(context.subject, &speedup))),
        Err(why) => unknown(context, why).map(|text| Ink::Dim.says(text)),
    }
}

/// The share of the work that is done with all threads busy, where it is
/// known: CPU use corrected for SMT.
pub(crate) fn column(smt: &SmtFinding, rows: &[CopiesFinding]) -> Option<Column> {
    smt.speedup.ok()?;
    let work = |row: &CopiesFinding| {
        let known = smt.copies.iter().find(|work| work.copies == row.copies);
        known.map(|work| work.work_pct)
    };
    let cells = rows.iter().map(|row| known(work(row), number::pct));
    Some(Column::new("work", "%", 0, cells))
}

fn adds(subject: Subject, speedup: &Speedup) -> String {
    let mut text = format!(
        "The two threads of a core together do {} times the work of one",
        ratio(subject, &speedup.ratio),
    );
    let is_1 = |(low, high)| low <= 1.0 && 1.0 <= high;
    text += &match speedup.ratio {
        ratio if ratio.interval().is_some_and(is_1) => {
            ", not significantly different from 1.".to_owned()
        }
        ratio if ratio.value <= 1.0 => ", so the second one adds nothing.".to_owned(),
        ratio => format!(
            ": at 50 % CPU use, with one busy thread on each core, {:.0} % of the work is done.",
            100.0 / ratio.value
        ),
    };
    if let (Some(clock), Some(equal)) = (speedup.clock_ratio, speedup.at_equal_clock_ratio) {
        let change = 100.0 * (clock.value - 1.0);
        let verb = if change < 0.0 { "falls" } else { "rises" };
        text += &format!(
            " The clock {verb} by {:.1} % from one busy thread a core to two; at equal clock they \
             do {} times the work.",
            change.abs(),
            ratio(subject, &equal),
        );
    }
    text
}

/// `1.27 (1.25 to 1.30)`.
fn ratio(subject: Subject, estimate: &Estimate) -> String {
    match estimate.interval() {
        Some((low, high)) => format!("{:.2} ({low:.2} to {high:.2})", estimate.value),
        None => format!("{:.2} ({})", estimate.value, subject.no_interval()),
    }
}

fn unknown(context: &Context<'_>, why: NoSpeedup) -> Option<String> {
    let cpus = context.cpus;
    if let Some(table) = context.table {
        // Of a table as a rule nothing is known of its cores.
        let (copies, cores) = (table.rows == TableRows::Copies, cpus.cores.len());
        return (copies && why == NoSpeedup::LevelMissing).then(|| {
            format!(
                "The speedup by SMT is not known: that takes rows with {cores} and with {} copies.",
                2 * cores
            )
        });
    }
    // Of a service on another host neither.
    if cpus.service.is_empty() {
        return None;
    }
    let threads = match context.threads_per_core? {
        1 => return Some("One thread per core here: CPU use needs no correction for SMT.".into()),
        n => n,
    };
    if why == NoSpeedup::Quota {
        return None;
    }
    if why == NoSpeedup::OneThreadUsed {
        return Some(
            "Only one thread of each core is used here: CPU use needs no correction for SMT, as \
             long as the others are idle."
                .to_owned(),
        );
    }
    let lags = format!(
        "{threads} threads per core here: a core with one busy thread does more than 1/{threads} of \
         what it can, so CPU use lags behind work and catches up at the end."
    );
    Some(lags + &way_out(context, why))
}

fn way_out(context: &Context<'_>, why: NoSpeedup) -> String {
    let (cpus, is_copies) = (context.cpus, context.is_copies);
    match why {
        NoSpeedup::NotOurs if !cpus.cores.is_empty() => {
            let one: CpuSet = cpus.cores.iter().filter_map(|c| c.iter().next()).collect();
            let both: CpuSet = cpus.cores.iter().flat_map(CpuSet::iter).collect();
            format!(
                " To see by how much, run the server on one thread of each core (taskset -c {one}) \
                 and then on both (taskset -c {both}), and `plimsoll compare` the two runs."
            )
        }
        NoSpeedup::LevelMissing if is_copies => {
            let cores = cpus.cores.len();
            format!(
                " By how much takes valid trials at {cores} and at {} copies.",
                2 * cores
            )
        }
        NoSpeedup::LevelMissing => {
            " By how much is not known: no valid trial at full load on one thread of each core, or \
             none on both."
                .to_owned()
        }
        NoSpeedup::NotSaturated => {
            " By how much is not known: the service was not saturated; leave --rated out."
                .to_owned()
        }
        NoSpeedup::UnevenCores => {
            " By how much is not known: it has both threads of some cores and one of others; choose \
             --cpus so that it has both."
                .to_owned()
        }
        NoSpeedup::OneThreadPerCore
        | NoSpeedup::OneThreadUsed
        | NoSpeedup::CoresUnknown
        | NoSpeedup::Quota
        | NoSpeedup::NotOurs
        | NoSpeedup::MoreThanTwoThreads => String::new(),
    }
}
