//! Conversion of rows to a run and its trials. An invalid value is an error: a
//! default would be an invented measurement.

use crate::cell::{count_in, wrong};
use crate::run::Run;
use crate::{RecordError, histogram, legacy, slots};
use plimsoll_model::{
    CpuTime, Errors, Histogram, Invalid, LoadLevel, Phase, RunEnd, Second, Share, Trial, TrialSpec,
    Verdict, WarmUp, Work,
};
use rusqlite::types::{FromSqlError, Type};
use rusqlite::{Connection, Result, Row};
use serde::de::DeserializeOwned;
use std::path::Path;
use std::time::Duration;

pub(crate) fn run(conn: &Connection, path: &Path) -> std::result::Result<Run, RecordError> {
    conn.query_row("SELECT * FROM run WHERE id = 1", [], |row| {
        Ok(Run {
            experiment: match has(row, "experiment") {
                true => row.get("experiment")?,
                false => legacy::experiment(&json(row, "plan_json")?).to_owned(),
            },
            workload: row.get("workload")?,
            seed: row.get("seed")?,
            plan_json: row.get("plan_json")?,
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
    let count = conn.query_row("SELECT coalesce(max(id), 0) FROM trial", [], |row| {
        row.get::<_, i64>(0)
    });
    let count = count.map_err(|e| RecordError::from_sqlite(path, e, 0))?;
    u64::try_from(count).map_err(|_| RecordError::damaged(path, "a trial has no number"))
}

/// Trial `number`.
pub(crate) fn trial<S: DeserializeOwned, O: DeserializeOwned>(
    conn: &Connection,
    path: &Path,
    experiment: &str,
    number: u64,
) -> std::result::Result<Trial<S, O>, RecordError> {
    let id = i64::try_from(number).unwrap_or(i64::MAX);
    let read = || {
        let latency = histogram_of(conn, id, "latency")?;
        let slip = histogram_of(conn, id, "slip")?;
        let seconds = seconds_of(conn, id)?;
        conn.query_row("SELECT * FROM trial WHERE id = ?", [id], |row| {
            Ok(Trial {
                spec: spec(row)?,
                started_unix_ms: count_in(row, "started_unix_ms")?,
                took: ns(row, "took_ns")?,
                warm_up: ns(row, "warm_up_ns")?,
                steady: row.get("steady")?,
                window: ns(row, "window_ns")?,
                work: Work {
                    steps: slots::of_trial(conn, id)?,
                    ..work(row, latency, slip)?
                },
                outcome: match has(row, "outcome_json") {
                    true => json(row, "outcome_json")?,
                    false => from_value(legacy::outcome(row, experiment)?, "outcome")?,
                },
                generator_cpu: optional_ns(row, "generator_cpu_ns")?.map(CpuTime),
                machine: json(row, "machine_json")?,
                service: optional_json(row, "service_json")?,
                seconds,
                verdict: verdict(row)?,
            })
        })
    };
    read().map_err(|e| match RecordError::from_sqlite(path, e, 0) {
        RecordError::Damaged { path, detail } => RecordError::Damaged {
            path,
            detail: format!("trial {number}: {detail}"),
        },
        other => other,
    })
}

fn spec<S: DeserializeOwned>(row: &Row<'_>) -> Result<TrialSpec<S>> {
    let phase: String = row.get("phase")?;
    let phase = match phase.as_str() {
        "idle" => Phase::Idle,
        "calibration" => Phase::Calibration,
        "level" => Phase::Level { level: level(row)? },
        "search" => Phase::Search,
        "confirmation" => Phase::Confirmation,
        "one_thread_per_core" => Phase::OneThreadPerCore,
        "two_threads_per_core" => Phase::TwoThreadsPerCore,
        _ => return Err(wrong("phase")),
    };
    let setting = match has(row, "setting_json") {
        true => json(row, "setting_json")?,
        false => from_value(legacy::setting(row)?, "setting")?,
    };
    let seed: String = row.get("seed")?;
    Ok(TrialSpec {
        phase,
        setting,
        pass: row.get("pass")?,
        attempt: row.get("attempt")?,
        warm_up: WarmUp {
            min: ns(row, "warm_up_min_ns")?,
            max: ns(row, "warm_up_max_ns")?,
        },
        window: ns(row, "asked_window_ns")?,
        limit: limit(row)?,
        seed: seed.parse().map_err(|_| wrong("seed"))?,
    })
}

/// Records of version 1 do not have it.
fn limit(row: &Row<'_>) -> Result<Option<Duration>> {
    match has(row, "limit_ns") {
        true => optional_ns(row, "limit_ns"),
        false => Ok(None),
    }
}

pub(crate) fn has(row: &Row<'_>, column: &str) -> bool {
    row.as_ref().column_index(column).is_ok()
}

fn level(row: &Row<'_>) -> Result<Option<LoadLevel>> {
    let pct: Option<f64> = row.get("load_pct")?;
    pct.map(|pct| LoadLevel::percent(pct).ok_or_else(|| wrong("load_pct")))
        .transpose()
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
            at: ns(row, "at_ns")?,
            length: ns(row, "length_ns")?,
            measured: row.get("measured")?,
            sent: count_in(row, "sent")?,
            completed: count_in(row, "completed")?,
            errors: count_in(row, "errors")?,
            in_flight: count_in(row, "in_flight")?,
            p50: optional_ns(row, "p50_ns")?,
            p99: optional_ns(row, "p99_ns")?,
            cpu: optional_share(row, "cpu_share")?,
            steal: optional_share(row, "steal_share")?,
        })
    })?;
    rows.collect()
}

pub(crate) fn ns(row: &Row<'_>, column: &'static str) -> Result<Duration> {
    count_in(row, column).map(Duration::from_nanos)
}

pub(crate) fn optional_ns(row: &Row<'_>, column: &'static str) -> Result<Option<Duration>> {
    let n: Option<i64> = row.get(column)?;
    n.map(|n| {
        u64::try_from(n)
            .map(Duration::from_nanos)
            .map_err(|_| wrong(column))
    })
    .transpose()
}

pub(crate) fn optional_share(row: &Row<'_>, column: &'static str) -> Result<Option<Share>> {
    let x: Option<f64> = row.get(column)?;
    x.map(|x| Share::new(x).ok_or_else(|| wrong(column)))
        .transpose()
}

pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &'static str) -> Result<T> {
    optional_json(row, column)?.ok_or_else(|| wrong(column))
}

fn optional_json<T: DeserializeOwned>(row: &Row<'_>, column: &'static str) -> Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| {
        serde_json::from_str(&text)
            .map_err(|e| FromSqlError::Other(format!("{column}: {e}").into()).into())
    })
    .transpose()
}

fn from_value<T: DeserializeOwned>(value: serde_json::Value, column: &'static str) -> Result<T> {
    serde_json::from_value(value)
        .map_err(|e| FromSqlError::Other(format!("{column}: {e}").into()).into())
}
