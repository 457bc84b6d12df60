//! From a run and its trials to rows.

use crate::cell::{int, ns};
use crate::run::Run;
use crate::{RecordError, histogram, slots};
use plimsoll_model::{Histogram, Phase, RunEnd, Second, Trial, TrialSetting, Verdict};
use rusqlite::{Connection, Transaction, TransactionBehavior, named_params, params};
use serde::Serialize;
use std::path::Path;

fn json<T: Serialize>(value: &T, what: &'static str, path: &Path) -> Result<String, RecordError> {
    serde_json::to_string(value).map_err(|e| RecordError::Unwritable {
        path: path.to_owned(),
        what,
        detail: e.to_string(),
    })
}

/// The row of `run`, with all that could fail without a disk done.
pub(crate) struct RunRow<'a> {
    run: &'a Run,
    provenance: String,
    requirements: String,
    command_line: String,
}

impl<'a> RunRow<'a> {
    pub(crate) fn new(run: &'a Run, path: &Path) -> Result<RunRow<'a>, RecordError> {
        Ok(RunRow {
            run,
            provenance: json(&run.provenance, "the description of the machine", path)?,
            requirements: json(&run.requirements, "the list of requirements", path)?,
            command_line: json(&run.command_line, "the command line", path)?,
        })
    }

    pub(crate) fn insert(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.execute(
            "INSERT INTO run (id, experiment, created_unix_ms, plimsoll_version, workload, seed,
                 command_line_json, plan_json, provenance_json, requirements_json)
             VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                self.run.experiment,
                int(self.run.created_unix_ms),
                self.run.provenance.plimsoll_version,
                self.run.workload,
                self.run.seed,
                self.command_line,
                self.run.plan_json,
                self.provenance,
                self.requirements,
            ],
        )?;
        Ok(())
    }
}

/// Says how the run ended.
pub(crate) fn end(conn: &Connection, end: &RunEnd, now_unix_ms: u64) -> rusqlite::Result<()> {
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

/// Writes trial `number`, the histograms and the seconds of it, or nothing.
pub(crate) fn trial<S, O>(
    conn: &mut Connection,
    path: &Path,
    number: u64,
    trial: &Trial<S, O>,
) -> Result<(), RecordError>
where
    S: TrialSetting + Serialize,
    O: Serialize,
{
    let row = TrialRow::new(trial, path)?;
    let written = (|| {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        row.insert(&tx, int(number))?;
        // A run that goes on has not ended, whatever it said before.
        tx.execute(
            "UPDATE run SET ended = NULL, ended_unix_ms = NULL, failure = NULL
             WHERE ended IS NOT NULL",
            [],
        )?;
        tx.commit()
    })();
    written.map_err(|e| match e.sqlite_error().map(|said| said.code) {
        // Somebody else has written a trial with our number.
        Some(rusqlite::ErrorCode::ConstraintViolation) => RecordError::BeingWritten {
            path: path.to_owned(),
        },
        _ => RecordError::from_sqlite(path, e, number - 1),
    })
}

/// A trial with all that could fail without a disk done.
struct TrialRow<'a, S, O> {
    trial: &'a Trial<S, O>,
    setting: String,
    outcome: String,
    machine: String,
    service: Option<String>,
    verdict: &'static str,
    reasons: String,
    latency: Vec<u8>,
    slip: Vec<u8>,
}

impl<'a, S: TrialSetting + Serialize, O: Serialize> TrialRow<'a, S, O> {
    fn new(trial: &'a Trial<S, O>, path: &Path) -> Result<TrialRow<'a, S, O>, RecordError> {
        let (verdict, reasons) = match &trial.verdict {
            Verdict::Valid => ("valid", "[]".to_owned()),
            Verdict::Invalid(reasons) => ("invalid", json(reasons, "a trial's verdict", path)?),
        };
        let service = trial.service.as_ref();
        let blob = |h| {
            histogram::encode(h).map_err(|detail| RecordError::Unwritable {
                path: path.to_owned(),
                what: "a histogram",
                detail,
            })
        };
        Ok(TrialRow {
            trial,
            setting: json(&trial.spec.setting, "a trial's setting", path)?,
            outcome: json(&trial.outcome, "a trial's outcome", path)?,
            machine: json(&trial.machine, "the use of the machine", path)?,
            service: service
                .map(|s| json(s, "the use of the service", path))
                .transpose()?,
            verdict,
            reasons,
            latency: blob(&trial.work.latency)?,
            slip: blob(&trial.work.slip)?,
        })
    }

    fn insert(&self, tx: &Transaction<'_>, id: i64) -> rusqlite::Result<()> {
        self.insert_trial(tx, id)?;
        let work = &self.trial.work;
        insert_histogram(tx, id, "latency", &work.latency, &self.latency)?;
        insert_histogram(tx, id, "slip", &work.slip, &self.slip)?;
        for (number, second) in (1..).zip(&self.trial.seconds) {
            insert_second(tx, id, number, second)?;
        }
        slots::insert(tx, id, &work.steps)
    }

    fn insert_trial(&self, tx: &Transaction<'_>, id: i64) -> rusqlite::Result<()> {
        let t = self.trial;
        let (spec, work, errors) = (&t.spec, &t.work, &t.work.errors);
        let (phase, load_pct) = match spec.phase {
            Phase::Idle => ("idle", None),
            Phase::Calibration => ("calibration", None),
            Phase::Level { level } => ("level", level.map(|l| l.pct())),
            Phase::Search => ("search", None),
            Phase::Confirmation => ("confirmation", None),
            Phase::OneThreadPerCore => ("one_thread_per_core", None),
            Phase::TwoThreadsPerCore => ("two_threads_per_core", None),
        };
        tx.execute(
            INSERT_TRIAL,
            named_params! {
                ":id": id, ":phase": phase, ":load_pct": load_pct,
                ":setting": self.setting, ":outcome": self.outcome,
                ":asked_rps": spec.setting.rate().map(|rate| rate.get()),
                ":pass": spec.pass, ":attempt": spec.attempt, ":seed": spec.seed.to_string(),
                ":warm_up_min_ns": ns(spec.warm_up.min), ":warm_up_max_ns": ns(spec.warm_up.max),
                ":asked_window_ns": ns(spec.window), ":limit_ns": spec.limit.map(ns),
                ":started_unix_ms": int(t.started_unix_ms), ":took_ns": ns(t.took),
                ":warm_up_ns": ns(t.warm_up), ":steady": t.steady, ":window_ns": ns(t.window),
                ":intended": int(work.intended), ":sent": int(work.sent),
                ":completed": int(work.completed),
                ":errors_connect": int(errors.connect), ":errors_tls": int(errors.tls),
                ":errors_timeout": int(errors.timeout), ":errors_status": int(errors.status),
                ":errors_protocol": int(errors.protocol), ":errors_reset": int(errors.reset),
                ":unfinished": int(work.unfinished),
                ":generator_cpu_ns": t.generator_cpu.map(|c| ns(c.0)),
                ":machine": self.machine, ":service": self.service,
                ":verdict": self.verdict, ":reasons": self.reasons,
            },
        )?;
        Ok(())
    }
}

const INSERT_TRIAL: &str = "INSERT INTO trial (
    id, phase, load_pct, asked_rps, setting_json, pass, attempt, seed,
    warm_up_min_ns, warm_up_max_ns, asked_window_ns, limit_ns,
    started_unix_ms, took_ns, warm_up_ns, steady, window_ns,
    intended, sent, completed,
    errors_connect, errors_tls, errors_timeout, errors_status, errors_protocol, errors_reset,
    unfinished, outcome_json, generator_cpu_ns, machine_json, service_json,
    verdict, reasons_json
) VALUES (
    :id, :phase, :load_pct, :asked_rps, :setting, :pass, :attempt, :seed,
    :warm_up_min_ns, :warm_up_max_ns, :asked_window_ns, :limit_ns,
    :started_unix_ms, :took_ns, :warm_up_ns, :steady, :window_ns,
    :intended, :sent, :completed,
    :errors_connect, :errors_tls, :errors_timeout, :errors_status, :errors_protocol, :errors_reset,
    :unfinished, :outcome, :generator_cpu_ns, :machine, :service,
    :verdict, :reasons
)";

fn insert_histogram(
    tx: &Transaction<'_>,
    trial: i64,
    kind: &str,
    histogram: &Histogram,
    blob: &[u8],
) -> rusqlite::Result<()> {
    let quantile = |q| histogram.quantile(q).map(ns);
    tx.execute(
        "INSERT INTO histogram (trial, kind, count, p50_ns, p90_ns, p99_ns, p999_ns, max_ns, v2)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            trial,
            kind,
            int(histogram.count()),
            quantile(0.5),
            quantile(0.9),
            quantile(0.99),
            quantile(0.999),
            histogram.max().map(ns),
            blob,
        ],
    )?;
    Ok(())
}

fn insert_second(
    tx: &Transaction<'_>,
    trial: i64,
    number: i64,
    s: &Second,
) -> rusqlite::Result<()> {
    tx.execute(
        "INSERT INTO second (trial, number, at_ns, length_ns, measured, sent, completed, errors,
             in_flight, p50_ns, p99_ns, cpu_share, steal_share)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            trial,
            number,
            ns(s.at),
            ns(s.length),
            s.measured,
            int(s.sent),
            int(s.completed),
            int(s.errors),
            int(s.in_flight),
            s.p50.map(ns),
            s.p99.map(ns),
            s.cpu.map(|c| c.get()),
            s.steal.map(|c| c.get()),
        ],
    )?;
    Ok(())
}
