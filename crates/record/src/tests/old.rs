//! Records of versions 1 to 3, made with the SQL that those versions had.

use super::sample::create_for;
use plimsoll_model::{Bytes, CpuTime, Share};
use plimsoll_model::{
    CopiesOutcome, CopiesSetting, HashService, JobWork, Plan, Setting, Trial, TrialSetting,
    Workload, YieldOutcome, YieldSetting,
};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// As they were when each version was written first (1 and 2) and last (3).
const SCHEMAS: [&str; 3] = [
    include_str!("schema-1.sql"),
    include_str!("schema-2.sql"),
    include_str!("schema-3.sql"),
];

/// A column of the old trial table, and what it holds.
pub(super) type Cell = (&'static str, Value);

fn ns(d: Duration) -> i64 {
    i64::try_from(d.as_nanos()).unwrap()
}

/// A setting in the columns that all the old versions had for it.
fn common(kind: &str, rate: Option<f64>, copies: Option<u32>) -> Vec<Cell> {
    vec![
        ("setting", kind.to_owned().into()),
        ("asked_rps", rate.into()),
        ("copies", copies.into()),
    ]
}

/// What old versions had columns for.
pub(super) trait Old {
    fn cells(&self) -> Vec<Cell>;
}

impl Old for Setting {
    fn cells(&self) -> Vec<Cell> {
        match self {
            Setting::Idle => common("idle", None, None),
            Setting::Offer { rate } => common("offer", Some(rate.get()), None),
        }
    }
}

impl Old for CopiesSetting {
    fn cells(&self) -> Vec<Cell> {
        match self {
            CopiesSetting::Idle => common("idle", None, None),
            CopiesSetting::Copies { copies } => common("copies", None, Some(*copies)),
        }
    }
}

impl Old for YieldSetting {
    fn cells(&self) -> Vec<Cell> {
        match self {
            YieldSetting::Offer { rate } => common("offer", Some(rate.get()), None),
            YieldSetting::Beside {
                rate,
                arm,
                allowed,
                headroom,
            } => {
                let mut cells = common("beside", Some(rate.get()), None);
                cells.push(("arm", arm.name().to_owned().into()));
                cells.push(("allowed_share", allowed.map(Share::get).into()));
                cells.push(("headroom_share", headroom.map(Share::get).into()));
                cells
            }
        }
    }
}

fn copy_times(times: &[Duration]) -> Cell {
    let times: Vec<i64> = times.iter().map(|d| ns(*d)).collect();
    let text = serde_json::to_string(&times).unwrap();
    ("copy_times_ns_json", text.into())
}

impl Old for () {
    fn cells(&self) -> Vec<Cell> {
        vec![copy_times(&[])]
    }
}

impl Old for CopiesOutcome {
    fn cells(&self) -> Vec<Cell> {
        vec![copy_times(&self.copy_times)]
    }
}

impl Old for YieldOutcome {
    fn cells(&self) -> Vec<Cell> {
        let job = self.job;
        let number = |of: fn(JobWork) -> i64| Value::from(job.map(of));
        let share =
            |of: fn(JobWork) -> Option<Share>| Value::from(job.and_then(of).map(Share::get));
        vec![
            copy_times(&[]),
            ("job_done", number(|j| j.done as i64)),
            ("job_over_ns", number(|j| ns(j.over))),
            (
                "job_cpu_ns",
                job.and_then(|j| j.cpu).map(|c| ns(c.0)).into(),
            ),
            ("job_allowed_share", share(|j| j.held.allowed)),
            ("job_frozen_share", share(|j| j.held.frozen)),
            ("job_throttled_share", share(|j| j.held.throttled)),
        ]
    }
}

/// What a trial had in columns of its own experiment.
pub(super) fn cells<S: Old, O: Old>(trial: &Trial<S, O>) -> Vec<Cell> {
    let mut cells = trial.spec.setting.cells();
    cells.extend(trial.outcome.cells());
    cells
}

/// A plan as old versions wrote it: one structure for all experiments.
fn old_plan<P: Serialize>(version: usize, plan: &P) -> String {
    let workload = Workload::Hash(HashService {
        mean_block: Bytes(1),
        deviation_share: 0.0,
        request_cpu: CpuTime::default(),
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
pub(super) fn write<P, S, O>(path: &Path, version: usize, plan: &P, trials: &[Trial<S, O>])
where
    P: Serialize,
    S: TrialSetting + Serialize + Old,
    O: Serialize + Old,
{
    let new = path.with_extension("new");
    let mut record = create_for(&new, "", plan).unwrap();
    for trial in trials {
        record.append(trial).unwrap();
    }
    drop(record);

    let conn = Connection::open(path).unwrap();
    conn.execute_batch(SCHEMAS[version - 1]).unwrap();
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
        let (names, mut values): (Vec<&str>, Vec<Value>) = cells(trial).into_iter().unzip();
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
