//! `plimsoll rig`: every part on a real machine, in every form. What is asserted no noise
//! can change.

use crate::common::{Folder, LOUD, has, keeps_to_schema};
use serde_json::Value;
use std::fs;

/// Every part on the control scheduler, as short as it gets.
const ALL: &str = "rig peak grain break steady --scheduler central-queue --grain 0,100us \
                   --passes 1 -z 100ms --seed 1 -o run.plimsoll";

fn run(more: &str) -> (Folder, Value) {
    let folder = Folder::new();
    let loud = LOUD.join(" ");
    let ended = folder.run(format!("{ALL} {loud} --format json {more}"));
    ended.says(0, &[]);
    let found = ended.json();
    (folder, found)
}

#[test]
fn every_part_has_findings_in_every_form() {
    let (folder, found) = run("--save-graph graph.dot --trace trace.json");
    let schema = include_str!("../../../../docs/schema/rig.schema.json");
    keeps_to_schema(&found, schema);
    let findings = &found["findings"];
    assert_eq!(findings["proof"]["violations"], 0);
    assert!(findings["proof"]["nodes_checked"].as_u64().unwrap() > 10_000);
    assert_eq!(findings["failed"], Value::Array(Vec::new()));
    let rows = |name: &str| findings[name].as_array().unwrap().len();
    let rows = ["peak", "grain", "break", "steady", "idle", "graphs"].map(rows);
    assert_eq!(rows, [1, 2, 2, 1, 1, 2]);
    // Work cannot take less than no time, whatever the machine does.
    assert!(findings["peak"][0]["average_concurrency"]["value"].as_f64() > Some(0.0));

    let text = folder.run(["report", "run.plimsoll"]).stdout;
    has(&text, &["violations", "central-queue", "load-bursts"]);
    let page = folder.read("run.html");
    has(
        &page,
        &[
            "Efficiency by length of the jobs",
            "data:image/svg+xml,%3Csvg",
        ],
    );
    let plots = folder.run("export run.plimsoll --plots plots").stdout;
    has(
        &plots,
        &[
            "plots/efficiency-1.gp",
            "plots/peaks.gp",
            "plots/breaking.gp",
        ],
    );

    let graph = folder.read("graph.dot");
    assert!(graph.starts_with("digraph"), "{graph}");
    let trace: Value = serde_json::from_str(&folder.read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(events.iter().filter(|event| event["ph"] == "X").count() >= 64);
}

/// Two workers cannot both have a job in a chain.
#[test]
fn the_own_schedulers_trace_has_its_workers_between_jobs() {
    let folder = Folder::new();
    let loud = LOUD.join(" ");
    fs::write(folder.path("chain.dot"), "digraph {\n0 -> 1 -> 2 -> 3\n}\n").unwrap();
    let line = format!(
        "rig peak --grain 20us --scheduler plimsoll --passes 1 -z 100ms --graph chain.dot \
         --trace trace.json --no-html -o run.plimsoll {loud}"
    );
    folder.run(line).says(0, &[]);
    let trace: Value = serde_json::from_str(&folder.read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |category: &str| events.iter().filter(|e| e["cat"] == category).count();
    assert_eq!(of("job"), 4);
    assert!(of("scheduler") > 0, "{trace}");
}

#[test]
fn a_graph_is_read_back_as_it_was_written() {
    let folder = Folder::new();
    let loud = LOUD.join(" ");
    let of = |graph: &str, saved: &str| {
        let line = format!(
            "rig peak --grain 20us --scheduler central-queue --passes 1 -z 100ms \
             --graph {graph} --save-graph {saved} --no-html -o {saved}.plimsoll {loud}"
        );
        folder.run(line).says(0, &[]);
        folder.read(saved)
    };
    let first = of("load-bursts", "first.dot");
    assert_eq!(of("first.dot", "second.dot"), first);
    fs::write(folder.path("bad.dot"), "digraph {\n0 -> }\n").unwrap();
    let bad = folder.run("rig break --graph bad.dot");
    bad.says(2, &["--graph bad.dot", "line 2"]);
    folder
        .run("rig peak --save-graph first.dot")
        .says(2, &["--save-graph first.dot", "exists"]);
}

#[test]
fn waiting_has_findings_chart_and_recommendation() {
    let folder = Folder::new();
    let loud = LOUD.join(" ");
    let wait =
        "rig wait --policies park,spin,rayon --patterns fixed --gaps 1ms --passes 1 --seed 1";
    let ended = folder.run(format!("{wait} {loud} --format json -o run.plimsoll"));
    ended.says(0, &[]);
    let findings = &ended.json()["findings"];
    let rows = findings["waiting"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|r| r["policy"].as_str().unwrap()).collect();
    assert_eq!(names, ["park", "spin", "rayon"]);
    for row in rows {
        assert!(
            row["latency_us"]["p99"]["value"].as_f64() > Some(0.0),
            "{row}"
        );
        assert!(row["burn_pct"]["value"].as_f64() > Some(0.0), "{row}");
        assert_eq!(
            (row["trials"].as_u64(), &row["gaps"]),
            (Some(1), &"fixed".into())
        );
    }
    // One pass has no interval.
    assert_eq!(findings["waiting_recommended"]["because"], "inconclusive");
    let mut narrow = folder.command("report run.plimsoll");
    let text = narrow.env("COLUMNS", "80").output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    has(&text, &["Inconclusive", "rayon", "burn"]);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    has(
        &folder.read("run.html"),
        &["Wake-up latency by burn while waiting"],
    );

    let refuse = |flags: &str, why: &str| {
        folder.run(flags).says(2, &[why]);
    };
    refuse("rig wait --policies sleep", "'sleep' is no waiting policy");
    refuse("rig wait --budget cpu<5%", "such as p99<20us");
    refuse("rig wait --burn 5", "percent of a core");
    refuse("rig wait --gaps 2s", "above 1s");
    refuse("rig wait --cpus 0", "wait needs 2 CPUs");
}
