//! Records of versions 1 to 3, in which the trial table had a column for each
//! quantity of each experiment: conversion of those columns to the JSON of version
//! 4, and migration of the file before a trial is added.

use crate::cell::{count_in, has, json, natural, ns, optional_ns, optional_share, wrong};
use crate::{RecordError, schema};
use plimsoll_model::{Rate, SCHEMA_VERSION, Share};
use rusqlite::{Connection, Result, Row, Transaction, TransactionBehavior, params};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json as value};
use std::path::Path;

/// The parts of a plan that tell which experiment made it.
#[derive(Deserialize)]
pub(crate) struct Parts {
    sideload: Option<IgnoredAny>,
    copies: Option<Vec<IgnoredAny>>,
}

pub(crate) fn experiment(plan: &Parts) -> &'static str {
    match (&plan.sideload, &plan.copies) {
        (Some(_), _) => "yield",
        (None, Some(numbers)) if !numbers.is_empty() => "copies",
        (None, _) => "sweep",
    }
}

/// The setting of a trial.
pub(crate) fn setting(row: &Row<'_>) -> Result<Value> {
    let setting: String = row.get("setting")?;
    let rate = || {
        let rate = Rate::per_second(row.get("asked_rps")?);
        rate.map(Rate::get).ok_or_else(|| wrong("asked_rps"))
    };
    Ok(match setting.as_str() {
        "idle" => value!("idle"),
        "offer" => value!({ "offer": { "rate_rps": rate()? } }),
        "copies" => value!({ "copies": { "copies": row.get::<_, u32>("copies")? } }),
        "beside" => value!({ "beside": {
            "rate_rps": rate()?,
            "arm": row.get::<_, String>("arm")?,
            "allowed_share": optional_share(row, "allowed_share")?.map(Share::get),
            "headroom_share": optional_share(row, "headroom_share")?.map(Share::get),
        } }),
        _ => return Err(wrong("setting")),
    })
}

/// What a trial of an experiment measured besides the common columns.
pub(crate) fn outcome(row: &Row<'_>, experiment: &str) -> Result<Value> {
    let times: Value = json(row, "copy_times_ns_json")?;
    Ok(match experiment {
        "yield" => value!({ "job": job(row)? }),
        "copies" => value!({ "copy_times_ns": times }),
        _ => Value::Null,
    })
}

/// Records of versions 1 and 2 have none.
fn job(row: &Row<'_>) -> Result<Value> {
    if !has(row, "job_done") || row.get::<_, Option<i64>>("job_done")?.is_none() {
        return Ok(Value::Null);
    }
    let share = |column| optional_share(row, column).map(|share| share.map(Share::get));
    Ok(value!({
        "done": count_in(row, "job_done")?,
        "over_ns": natural(row, "job_over_ns")?,
        "cpu_ns": optional_ns(row, "job_cpu_ns")?.map(ns),
        "held": {
            "allowed_share": share("job_allowed_share")?,
            "frozen_share": share("job_frozen_share")?,
            "throttled_share": share("job_throttled_share")?,
        },
    }))
}

/// Gives a file of an older version the layout of this one, so that trials can
/// be added.
pub(crate) fn bring_up_to_date(
    conn: &mut Connection,
    path: &Path,
) -> std::result::Result<(), RecordError> {
    let mut update = || -> Result<()> {
        if version(conn)? == SCHEMA_VERSION {
            return Ok(());
        }
        replace_tables(conn, true)?;
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        update(&tx)?;
        tx.commit()?;
        replace_tables(conn, false)
    };
    update().map_err(|e| RecordError::from_sqlite(path, e, 0))
}

fn version(conn: &Connection) -> Result<u32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whether a table may be renamed and dropped while others refer to its name.
/// Within a transaction this has no effect.
pub(crate) fn replace_tables(conn: &Connection, may: bool) -> Result<()> {
    conn.pragma_update(None, "foreign_keys", !may)?;
    conn.pragma_update(None, "legacy_alter_table", may)
}

/// The steps of [`bring_up_to_date`] that are one transaction.
pub(crate) fn update(tx: &Transaction<'_>) -> Result<()> {
    let version = version(tx)?;
    let experiment = update_run(tx)?;
    update_trials(tx, version, experiment)?;
    if version < 3 {
        tx.execute_batch(schema::SLOT_TABLE)?;
    }
    tx.pragma_update(None, "user_version", SCHEMA_VERSION)
}

fn update_run(tx: &Transaction<'_>) -> Result<&'static str> {
    let sql = "SELECT plan_json FROM run";
    let plan: Parts = tx.query_row(sql, [], |row| json(row, "plan_json"))?;
    tx.execute_batch(
        "ALTER TABLE run ADD COLUMN experiment TEXT NOT NULL DEFAULT '';
         ALTER TABLE run ADD COLUMN folder TEXT",
    )?;
    let experiment = experiment(&plan);
    tx.execute("UPDATE run SET experiment = ?", [experiment])?;
    Ok(experiment)
}

/// The columns that are the same in all versions. Version 1 lacks `limit_ns`.
const COMMON: &str = "id, phase, load_pct, pass, attempt, seed, warm_up_min_ns,
    warm_up_max_ns, asked_window_ns, started_unix_ms, took_ns, warm_up_ns, steady, window_ns,
    intended, sent, completed, errors_connect, errors_tls, errors_timeout, errors_status,
    errors_protocol, errors_reset, unfinished, generator_cpu_ns, machine_json, service_json,
    verdict, reasons_json";

fn update_trials(tx: &Transaction<'_>, version: u32, experiment: &str) -> Result<()> {
    let limit = if version < 2 { "NULL" } else { "limit_ns" };
    tx.execute_batch("DROP VIEW overview; ALTER TABLE trial RENAME TO old_trial")?;
    tx.execute_batch(schema::TRIAL_TABLE)?;
    let mut rows = tx.prepare("SELECT * FROM old_trial ORDER BY id")?;
    let mut rows = rows.query([])?;
    let copy = format!(
        "INSERT INTO trial ({COMMON}, limit_ns, asked_rps, setting_json, outcome_json)
         SELECT {COMMON}, {limit}, ?2, ?3, ?4 FROM old_trial WHERE id = ?1"
    );
    while let Some(row) = rows.next()? {
        let id: i64 = row.get("id")?;
        let (setting, outcome) = (setting(row)?, outcome(row, experiment)?);
        // Older versions have a rate of 0 for a job that runs alone.
        let offered: Option<f64> = match setting["beside"]["arm"] == "job-alone" {
            true => None,
            false => row.get("asked_rps")?,
        };
        let (setting, outcome) = (setting.to_string(), outcome.to_string());
        tx.execute(&copy, params![id, offered, setting, outcome])?;
    }
    tx.execute_batch("DROP TABLE old_trial")?;
    tx.execute_batch(schema::OVERVIEW)
}
