//! Records of versions 1 to 3, made with the SQL that those versions had.

use super::sample::create_for;
use plimsoll_model::{Bytes, CpuTime, HashService, Plan, Trial, TrialSetting, Workload};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::path::Path;

/// The tables of a version: the lines without a list of versions, or with it in theirs.
fn schema(version: u32) -> String {
    let is_in = |line: &&str| match line.rsplit_once("  -- ") {
        Some((_, versions)) => versions.contains(&version.to_string()),
        None => true,
    };
    let lines: Vec<&str> = include_str!("schema-old.sql")
        .lines()
        .filter(is_in)
        .collect();
    lines.join("\n")
}

fn real(json: &Json) -> Value {
    json.as_f64().into()
}

fn integer(json: &Json) -> Value {
    json.as_i64().into()
}

/// The cells of a trial in the columns that a version had for experiments.
pub(super) fn cells<S: Serialize, O: Serialize>(
    version: u32,
    trial: &Trial<S, O>,
) -> Vec<(&'static str, Value)> {
    let setting = serde_json::to_value(&trial.spec.setting).unwrap();
    let outcome = serde_json::to_value(&trial.outcome).unwrap();
    let idle = (&"idle".to_owned(), &Json::Null);
    let tagged = setting.as_object().and_then(|object| object.iter().next());
    let (kind, of) = tagged.unwrap_or(idle);
    let times = outcome.get("copy_times_ns").map(Json::to_string);
    let mut cells = vec![
        ("setting", kind.to_owned().into()),
        ("asked_rps", real(&of["rate_rps"])),
        ("copies", integer(&of["copies"])),
        (
            "copy_times_ns_json",
            times.unwrap_or("[]".to_owned()).into(),
        ),
    ];
    if version == 3 {
        let job = &outcome["job"];
        cells.extend([
            ("arm", of["arm"].as_str().map(str::to_owned).into()),
            ("allowed_share", real(&of["allowed_share"])),
            ("headroom_share", real(&of["headroom_share"])),
            ("job_done", integer(&job["done"])),
            ("job_over_ns", integer(&job["over_ns"])),
            ("job_cpu_ns", integer(&job["cpu_ns"])),
            ("job_allowed_share", real(&job["held"]["allowed_share"])),
            ("job_frozen_share", real(&job["held"]["frozen_share"])),
            ("job_throttled_share", real(&job["held"]["throttled_share"])),
        ]);
    }
    cells
}

/// A plan as old versions wrote it: one structure for all experiments.
fn old_plan<P: Serialize>(version: u32, plan: &P) -> String {
    let workload = Workload::Hash(HashService {
        mean_block: Bytes(1),
        deviation_share: 0.0,
        request_cpu: CpuTime::default(),
        waiting: None,
        memory: None,
        files: None,
    });
    let mut old = serde_json::to_value(Plan::blank(workload)).unwrap();
    let old = old.as_object_mut().unwrap();
    if version == 1 {
        for later in ["restart", "search", "smt"] {
            old.remove(later);
        }
    }
    old.insert("copies".to_owned(), Vec::<u32>::new().into());
    let plan = serde_json::to_value(plan).unwrap();
    for (key, value) in plan.as_object().unwrap() {
        if !value.is_null() {
            old.insert(key.clone(), value.clone());
        }
    }
    serde_json::to_string(old).unwrap()
}

/// Columns that a table has in the old file and in the new one.
fn shared(conn: &Connection, table: &str) -> String {
    let sql = "SELECT group_concat(name, ', ')
               FROM pragma_table_info(?1, 'main') JOIN pragma_table_info(?1, 'new') USING (name)
               WHERE name NOT IN ('asked_rps', 'plan_json')";
    conn.query_row(sql, [table], |row| row.get(0)).unwrap()
}

/// Makes a record of an old version. What is the same in all versions comes
/// from a record of this one.
pub(super) fn write<P, S, O>(path: &Path, version: u32, plan: &P, trials: &[Trial<S, O>])
where
    P: Serialize,
    S: TrialSetting + Serialize + DeserializeOwned,
    O: Serialize + DeserializeOwned,
{
    let new = path.with_extension("new");
    let mut record = create_for(&new, "", plan).unwrap();
    for trial in trials {
        record.append(trial).unwrap();
    }
    drop(record);

    let conn = Connection::open(path).unwrap();
    conn.execute_batch(&schema(version)).unwrap();
    conn.execute_batch(&format!(
        "PRAGMA application_id = 0x504c494d; PRAGMA user_version = {version}"
    ))
    .unwrap();
    conn.execute("ATTACH ? AS new", [new.to_str().unwrap()])
        .unwrap();
    let run = shared(&conn, "run");
    conn.execute(
        &format!("INSERT INTO run ({run}, plan_json) SELECT {run}, ? FROM new.run"),
        [old_plan(version, plan)],
    )
    .unwrap();
    let same = shared(&conn, "trial");
    for (id, trial) in (1i64..).zip(trials) {
        let (names, mut values): (Vec<&str>, Vec<Value>) =
            cells(version, trial).into_iter().unzip();
        let (names, marks) = (names.join(", "), vec!["?"; names.len()].join(", "));
        values.push(id.into());
        conn.execute(
            &format!(
                "INSERT INTO trial ({same}, {names}) SELECT {same}, {marks} FROM new.trial
                 WHERE id = ?"
            ),
            params_from_iter(values),
        )
        .unwrap();
    }
    for table in ["histogram", "second", "slot"] {
        if version == 3 || table != "slot" {
            conn.execute_batch(&format!("INSERT INTO {table} SELECT * FROM new.{table}"))
                .unwrap();
        }
    }
    drop(conn);
    std::fs::remove_file(new).unwrap();
}

#[test]
fn a_service_without_them_is_recorded_as_before_and_read_from_old_records() {
    let old =
        r#"{"kind":"hash","mean_block_bytes":4096,"deviation_share":0.25,"request_cpu_ns":1000}"#;
    let read: Workload = serde_json::from_str(old).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), old);
}
