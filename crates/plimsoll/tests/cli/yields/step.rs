//! A load that steps up beside a job: the real binary, the hash service.

use super::{jobs, tiny};
use crate::common::{Folder, has};
use std::collections::BTreeMap;
use std::path::Path;

/// What a record says of the slots after each step: arm, requests.
fn slots(record: &Path) -> BTreeMap<String, Vec<(i64, i64, i64)>> {
    let db = rusqlite::Connection::open(record).unwrap();
    let sql = "SELECT setting_json ->> '$.beside.arm', step, number, requests
               FROM slot JOIN trial ON trial.id = slot.trial
               ORDER BY trial.id, step, number";
    let mut statement = db.prepare(sql).unwrap();
    let slot = |row: &rusqlite::Row<'_>| {
        let arm: String = row.get(0)?;
        Ok((arm, (row.get(1)?, row.get(2)?, row.get(3)?)))
    };
    let mut slots: BTreeMap<String, Vec<(i64, i64, i64)>> = BTreeMap::new();
    for (arm, slot) in statement.query_map([], slot).unwrap().map(Result::unwrap) {
        slots.entry(arm).or_default().push(slot);
    }
    slots
}

#[test]
fn after_a_step_every_arm_has_had_the_same_requests_in_every_slot() {
    let folder = Folder::new();
    let args = tiny("--step --arms nice -o run.plimsoll --format json");
    let output = folder.run(args).json();
    let slots = slots(&folder.path("run.plimsoll"));
    let arms: Vec<&str> = slots.keys().map(String::as_str).collect();
    assert_eq!(arms, ["nice", "service-again", "service-alone"]);
    // 150 ms after one step, in slots of 50 ms.
    assert_eq!(slots["nice"].len(), 3);
    assert!(slots["nice"].iter().any(|(_, _, requests)| *requests > 0));
    assert_eq!(slots["nice"], slots["service-alone"]);
    assert_eq!(slots["service-again"], slots["service-alone"]);
    let step = &output["findings"]["step"];
    assert_eq!(step[1]["arm"], "nice");
    assert_eq!(step[1]["status"], "cannot_tell", "of a single step");
    assert_eq!(output["plan"]["step"]["low_pct"], 20.0);
    let jobs = jobs(&folder.path("run.plimsoll"));
    assert!(jobs["nice"].done.is_some(), "a job was there: {jobs:?}");
    let text = folder.run("report run.plimsoll").text();
    has(&text, &["back after", "inconclusive"]);
    let page = folder.read("run.html");
    assert!(page.contains("<section id=\"step\""), "its table");
    assert!(page.contains("There is no chart of work gained"));
}
