//! Conversion of a run and its trials to rows.

use crate::cell::{Json, MachineCell, insert, int, ns};
use crate::run::Run;
use crate::{RecordError, histogram, slots};
use plimsoll_model::{Histogram, Phase, Requirement, RunEnd, Second, Trial, TrialSetting, Verdict};
use rusqlite::{Connection, Error, Result, ToSql, Transaction, TransactionBehavior, params};
use serde::Serialize;
use std::path::Path;

pub(crate) fn run(conn: &Connection, run: &Run) -> Result<()> {
    let row: &[(&str, &dyn ToSql)] = &[
        ("id", &1),
        ("experiment", &run.experiment),
        ("created_unix_ms", &int(run.created_unix_ms)),
        ("plimsoll_version", &run.provenance.plimsoll_version),
        ("workload", &run.workload),
        ("seed", &run.seed),
        ("command_line_json", &Json(&run.command_line)),
        ("folder", &run.folder),
        ("plan_json", &run.plan_json),
        ("provenance_json", &Json(&run.provenance)),
        ("requirements_json", &Json(&run.requirements)),
    ];
    insert(conn, "run", row)
}

/// Replaces what is known of the run's requirements.
pub(crate) fn requirements(conn: &Connection, all: &[Requirement]) -> Result<()> {
    conn.execute("UPDATE run SET requirements_json = ?", params![Json(&all)])?;
    Ok(())
}

/// Records how the run ended.
pub(crate) fn end(conn: &Connection, end: &RunEnd, now_unix_ms: u64) -> Result<()> {
    let (ended, failure) = match end {
        RunEnd::Complete => ("complete", None),
        RunEnd::Interrupted => ("interrupted", None),
        RunEnd::Failed(why) => ("failed", Some(why)),
    };
    conn.execute(
        "UPDATE run SET ended = ?, ended_unix_ms = ?, failure = ?",
        params![ended, int(now_unix_ms), failure],
    )?;
    Ok(())
}

/// Writes trial `number` with its histograms, seconds and slots, or nothing, as when
/// `check` refuses what would be written.
pub(crate) fn trial<S, O>(
    conn: &mut Connection,
    path: &Path,
    number: u64,
    trial: &Trial<S, O>,
    check: impl FnOnce(&Connection) -> std::result::Result<(), RecordError>,
) -> std::result::Result<(), RecordError>
where
    S: TrialSetting + Serialize,
    O: Serialize,
{
    let failed = |e: Error| match e.sqlite_error_code() {
        // Another process has written a trial with our number.
        Some(rusqlite::ErrorCode::ConstraintViolation) => {
            RecordError::BeingWritten { path: path.into() }
        }
        _ => RecordError::from_sqlite(path, e, number - 1),
    };
    let tx = begin_trial(conn, int(number), trial).map_err(failed)?;
    // Dropped without a commit, a transaction is rolled back.
    check(&tx)?;
    tx.commit().map_err(failed)
}

/// A transaction with the trial in it.
fn begin_trial<'c, S, O>(
    conn: &'c mut Connection,
    id: i64,
    trial: &Trial<S, O>,
) -> Result<Transaction<'c>>
where
    S: TrialSetting + Serialize,
    O: Serialize,
{
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    insert_trial(&tx, id, trial)?;
    // A resumed run has no end.
    tx.execute(
        "UPDATE run SET ended = NULL, ended_unix_ms = NULL, failure = NULL
         WHERE ended IS NOT NULL",
        [],
    )?;
    Ok(tx)
}

fn insert_trial<S, O>(tx: &Transaction<'_>, id: i64, trial: &Trial<S, O>) -> Result<()>
where
    S: TrialSetting + Serialize,
    O: Serialize,
{
    let work = &trial.work;
    insert_row(tx, id, trial)?;
    insert_histogram(tx, id, "latency", &work.latency)?;
    insert_histogram(tx, id, "slip", &work.slip)?;
    for (number, second) in (1..).zip(&trial.seconds) {
        insert_second(tx, id, number, second)?;
    }
    slots::write(tx, id, &work.steps)
}

fn insert_row<S, O>(tx: &Transaction<'_>, id: i64, trial: &Trial<S, O>) -> Result<()>
where
    S: TrialSetting + Serialize,
    O: Serialize,
{
    let Trial { spec, work, .. } = trial;
    let errors = &work.errors;
    let (phase, load_pct) = phase_cells(spec.phase);
    let (verdict, reasons) = match &trial.verdict {
        Verdict::Valid => ("valid", &[][..]),
        Verdict::Invalid(reasons) => ("invalid", &reasons[..]),
    };
    let row: &[(&str, &dyn ToSql)] = &[
        ("id", &id),
        ("phase", &phase),
        ("load_pct", &load_pct),
        ("asked_rps", &spec.setting.rate().map(|rate| rate.get())),
        ("setting_json", &Json(&spec.setting)),
        ("pass", &spec.pass),
        ("attempt", &spec.attempt),
        ("seed", &spec.seed.to_string()),
        ("warm_up_min_ns", &ns(spec.warm_up.min)),
        ("warm_up_max_ns", &ns(spec.warm_up.max)),
        ("asked_window_ns", &ns(spec.window)),
        ("limit_ns", &spec.limit.map(ns)),
        ("started_unix_ms", &int(trial.started_unix_ms)),
        ("took_ns", &ns(trial.took)),
        ("warm_up_ns", &ns(trial.warm_up)),
        ("steady", &trial.steady),
        ("window_ns", &ns(trial.window)),
        ("intended", &int(work.intended)),
        ("sent", &int(work.sent)),
        ("completed", &int(work.completed)),
        ("errors_connect", &int(errors.connect)),
        ("errors_tls", &int(errors.tls)),
        ("errors_timeout", &int(errors.timeout)),
        ("errors_status", &int(errors.status)),
        ("errors_protocol", &int(errors.protocol)),
        ("errors_reset", &int(errors.reset)),
        ("unfinished", &int(work.unfinished)),
        ("outcome_json", &Json(&trial.outcome)),
        ("generator_cpu_ns", &trial.generator_cpu.map(|c| ns(c.0))),
        ("machine_json", &Json(&MachineCell::of(trial))),
        ("service_json", &trial.service.as_ref().map(Json)),
        ("verdict", &verdict),
        ("reasons_json", &Json(&reasons)),
    ];
    insert(tx, "trial", row)
}

fn phase_cells(phase: Phase) -> (&'static str, Option<f64>) {
    match phase {
        Phase::Idle => ("idle", None),
        Phase::WarmUp => ("warm_up", None),
        Phase::Calibration => ("calibration", None),
        Phase::Level { level } => ("level", level.map(|l| l.pct())),
        Phase::Search => ("search", None),
        Phase::Confirmation => ("confirmation", None),
        Phase::OneThreadPerCore => ("one_thread_per_core", None),
        Phase::TwoThreadsPerCore => ("two_threads_per_core", None),
    }
}

fn insert_histogram(tx: &Transaction<'_>, trial: i64, kind: &str, h: &Histogram) -> Result<()> {
    let blob = histogram::encode(h).map_err(|e| Error::ToSqlConversionFailure(e.into()))?;
    let row: &[(&str, &dyn ToSql)] = &[
        ("trial", &trial),
        ("kind", &kind),
        ("count", &int(h.count())),
        ("p50_ns", &h.quantile(0.5).map(ns)),
        ("p90_ns", &h.quantile(0.9).map(ns)),
        ("p99_ns", &h.quantile(0.99).map(ns)),
        ("p999_ns", &h.quantile(0.999).map(ns)),
        ("max_ns", &h.max().map(ns)),
        ("v2", &blob),
    ];
    insert(tx, "histogram", row)
}

fn insert_second(tx: &Transaction<'_>, trial: i64, number: i64, s: &Second) -> Result<()> {
    let row: &[(&str, &dyn ToSql)] = &[
        ("trial", &trial),
        ("number", &number),
        ("at_ns", &ns(s.at)),
        ("length_ns", &ns(s.length)),
        ("measured", &s.measured),
        ("sent", &int(s.sent)),
        ("completed", &int(s.completed)),
        ("errors", &int(s.errors)),
        ("in_flight", &int(s.in_flight)),
        ("p50_ns", &s.p50.map(ns)),
        ("p99_ns", &s.p99.map(ns)),
        ("cpu_share", &s.cpu.map(|c| c.get())),
        ("steal_share", &s.steal.map(|c| c.get())),
    ];
    insert(tx, "second", row)
}
