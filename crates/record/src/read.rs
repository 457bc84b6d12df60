//! Conversion of rows to a run and its trials.

use crate::cell::{
    MachineCell, count_in, has, json, ns_in, optional_json, optional_level, optional_ns,
    optional_share, optional_time, ordinal_in, parsed, text, window_in, wrong,
};
use crate::run::Run;
use crate::{RecordError, histogram, legacy, slots};
use plimsoll_model::{
    CpuTime, Errors, Histogram, Invalid, Phase, RunEnd, Second, Trial, TrialSpec, Verdict, Waited,
    WarmUp, Work,
};
use rusqlite::types::Type;
use rusqlite::{Connection, Result, Row};
use serde::de::DeserializeOwned;
use std::path::Path;

pub(crate) fn run(conn: &Connection, path: &Path) -> std::result::Result<Run, RecordError> {
    conn.query_row("SELECT * FROM run WHERE id = 1", [], |row| {
        Ok(Run {
            experiment: match has(row, "experiment") {
                true => row.get("experiment")?,
                false => legacy::experiment(&json(row, "plan_json")?).to_owned(),
            },
            workload: row.get("workload")?,
            seed: seed_of(row)?.to_string(),
            plan_json: row.get("plan_json")?,
            folder: match has(row, "folder") {
                true => row.get("folder")?,
                false => None,
            },
            provenance: json(row, "provenance_json")?,
            requirements: json(row, "requirements_json")?,
            command_line: json(row, "command_line_json")?,
            created_unix_ms: count_in(row, "created_unix_ms")?,
            end: end(row)?,
        })
    })
    .map_err(|e| RecordError::from_sqlite(path, e, 0))
}

fn end(row: &Row<'_>) -> Result<Option<RunEnd>> {
    let ended: Option<String> = row.get("ended")?;
    let failure: Option<String> = row.get("failure")?;
    match (ended.as_deref(), failure) {
        (None, _) => Ok(None),
        (Some("complete"), _) => Ok(Some(RunEnd::Complete)),
        (Some("interrupted"), _) => Ok(Some(RunEnd::Interrupted)),
        (Some("failed"), Some(why)) => Ok(Some(RunEnd::Failed(why))),
        _ => Err(wrong("run.ended")),
    }
}

/// The number of trials. They are numbered from 1 without gaps.
pub(crate) fn count(conn: &Connection, path: &Path) -> std::result::Result<u64, RecordError> {
    let sql = "SELECT coalesce(max(id), 0) AS trials FROM trial";
    conn.query_row(sql, [], |row| count_in(row, "trials"))
        .map_err(|e| RecordError::from_sqlite(path, e, 0))
}

/// Trial `number`.
pub(crate) fn trial<S: DeserializeOwned, O: DeserializeOwned>(
    conn: &Connection,
    path: &Path,
    experiment: &str,
    number: u64,
) -> std::result::Result<Trial<S, O>, RecordError> {
    let read = || {
        let trial = untyped(conn, experiment, i64::try_from(number).unwrap_or(i64::MAX))?;
        let setting = parsed(&trial.spec.setting, "setting_json")?;
        let outcome = parsed(&trial.outcome, "outcome_json")?;
        Ok(trial.with(setting, outcome))
    };
    read().map_err(|error| damaged(path, number, error))
}

fn damaged(path: &Path, trial: u64, error: rusqlite::Error) -> RecordError {
    let mut error = RecordError::from_sqlite(path, error, 0);
    if let RecordError::Damaged { detail, .. } = &mut error {
        detail.insert_str(0, &format!("trial {trial}: "));
    }
    error
}

/// A trial whose setting and outcome are JSON. All experiments share this, which is most of the work.
fn untyped(conn: &Connection, experiment: &str, id: i64) -> Result<Trial<String, String>> {
    let latency = histogram_of(conn, id, "latency")?;
    let slip = histogram_of(conn, id, "slip")?;
    let seconds = seconds_of(conn, id)?;
    conn.query_row("SELECT * FROM trial WHERE id = ?", [id], |row| {
        let cell: MachineCell<'_> = json(row, "machine_json")?;
        Ok(Trial {
            spec: spec(row)?,
            started_unix_ms: count_in(row, "started_unix_ms")?,
            took: ns_in(row, "took_ns")?,
            warm_up: ns_in(row, "warm_up_ns")?,
            steady: row.get("steady")?,
            window: window_in(row, "window_ns")?,
            work: Work {
                steps: slots::of_trial(conn, id)?,
                connections: cell.connections,
                bodies: cell.bodies,
                kinds: cell.kinds.into_owned(),
                ..work(row, latency, slip)?
            },
            outcome: match has(row, "outcome_json") {
                true => text(row, "outcome_json")?,
                false => legacy::outcome(row, experiment)?.to_string(),
            },
            generator_cpu: optional_ns(row, "generator_cpu_ns")?.map(CpuTime),
            machine: cell.machine.into_owned(),
            service: optional_json(row, "service_json")?,
            seconds,
            verdict: verdict(row)?,
        })
    })
}

fn spec(row: &Row<'_>) -> Result<TrialSpec<String>> {
    let phase: String = row.get("phase")?;
    let phase = match phase.as_str() {
        "idle" => Phase::Idle,
        "warm_up" => Phase::WarmUp,
        "calibration" => Phase::Calibration,
        "level" => Phase::Level {
            level: optional_level(row, "load_pct")?,
        },
        "search" => Phase::Search,
        "confirmation" => Phase::Confirmation,
        "one_thread_per_core" => Phase::OneThreadPerCore,
        "two_threads_per_core" => Phase::TwoThreadsPerCore,
        _ => return Err(wrong("phase")),
    };
    let setting = match has(row, "setting_json") {
        true => text(row, "setting_json")?,
        false => legacy::setting(row)?.to_string(),
    };
    Ok(TrialSpec {
        phase,
        setting,
        pass: ordinal_in(row, "pass")?,
        attempt: ordinal_in(row, "attempt")?,
        warm_up: WarmUp {
            min: ns_in(row, "warm_up_min_ns")?,
            max: ns_in(row, "warm_up_max_ns")?,
        },
        window: window_in(row, "asked_window_ns")?,
        limit: match has(row, "limit_ns") {
            true => optional_time(row, "limit_ns")?,
            false => None, // version 1
        },
        seed: seed_of(row)?,
    })
}

/// Written as text, because SQLite's integers are signed.
fn seed_of(row: &Row<'_>) -> Result<u64> {
    let seed: String = row.get("seed")?;
    seed.parse().map_err(|_| wrong("seed"))
}

fn work(row: &Row<'_>, latency: Histogram, slip: Histogram) -> Result<Work> {
    Ok(Work {
        intended: count_in(row, "intended")?,
        sent: count_in(row, "sent")?,
        completed: count_in(row, "completed")?,
        errors: Errors {
            connect: count_in(row, "errors_connect")?,
            tls: count_in(row, "errors_tls")?,
            timeout: count_in(row, "errors_timeout")?,
            status: count_in(row, "errors_status")?,
            protocol: count_in(row, "errors_protocol")?,
            reset: count_in(row, "errors_reset")?,
        },
        unfinished: count_in(row, "unfinished")?,
        latency,
        slip,
        steps: Vec::new(),
        phases: Vec::new(),
        connections: None,
        bodies: None,
        kinds: Vec::new(),
        waited: Waited::default(),
    })
}

fn verdict(row: &Row<'_>) -> Result<Verdict> {
    let verdict: String = row.get("verdict")?;
    let reasons: Vec<Invalid> = json(row, "reasons_json")?;
    match verdict.as_str() {
        "valid" if reasons.is_empty() => Ok(Verdict::Valid),
        "invalid" => Ok(Verdict::Invalid(reasons)),
        _ => Err(wrong("verdict")),
    }
}

fn histogram_of(conn: &Connection, trial: i64, kind: &str) -> Result<Histogram> {
    let sql = "SELECT count, v2 FROM histogram WHERE trial = ? AND kind = ?";
    conn.query_row(sql, (trial, kind), |row| {
        let blob: Vec<u8> = row.get("v2")?;
        histogram::decode(&blob, count_in(row, "count")?)
            .map_err(|why| rusqlite::Error::FromSqlConversionFailure(1, Type::Blob, why.into()))
    })
}

fn seconds_of(conn: &Connection, trial: i64) -> Result<Vec<Second>> {
    let mut statement = conn.prepare("SELECT * FROM second WHERE trial = ? ORDER BY number")?;
    let rows = statement.query_map([trial], |row| {
        Ok(Second {
            at: ns_in(row, "at_ns")?,
            length: ns_in(row, "length_ns")?,
            measured: row.get("measured")?,
            sent: count_in(row, "sent")?,
            completed: count_in(row, "completed")?,
            errors: count_in(row, "errors")?,
            in_flight: count_in(row, "in_flight")?,
            p50: optional_time(row, "p50_ns")?,
            p99: optional_time(row, "p99_ns")?,
            cpu: optional_share(row, "cpu_share")?,
            steal: optional_share(row, "steal_share")?,
        })
    })?;
    rows.collect()
}
