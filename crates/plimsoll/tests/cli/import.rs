//! Tables of other people's measurements: the published ones give what their
//! publishers found, and bad ones one clear sentence with the way out.

use crate::common::{Ended, Folder, has, table, trials_in};
use serde_json::Value;

/// Imports a published table into the record `out`.
fn import(folder: &Folder, name: &str, flags: &str) -> Ended {
    folder.run(format!("import '{}' -o out {flags}", table(name)))
}

/// Imports a published table, and reads the findings from the record again.
fn findings(name: &str) -> Value {
    let folder = Folder::new();
    let flags = format!("--name {name} --cpus 8 --format json");
    let printed = import(&folder, name, &flags).json();
    let again = folder.run("report out --format json").json();
    assert_eq!(
        printed["findings"], again["findings"],
        "the record is whole"
    );
    assert_eq!(again["plan"]["workload"]["kind"], "imported");
    assert_eq!(again["provenance"]["hostname"], name);
    assert_eq!(again["record"]["invalid_trials"], 0);
    again["findings"].clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn the_published_servers_do_not_reach_twice_their_latency_within_their_tables() {
    for (name, levels, light_us, highest) in [
        ("graviton3-netty", 15, 1181.0, 736_860.0),
        ("intel-smt-netty", 12, 1005.0, 591_411.0),
    ] {
        let found = findings(name);
        assert_eq!(found["levels"].as_array().unwrap().len(), levels);
        assert_eq!(found["capacity"][0]["goal"], "p99<2x");
        assert_eq!(found["capacity"][0]["status"], "not_reached", "{name}");
        let light = number(&found["light_load"]["p99_us"]);
        assert!((light / light_us - 1.0).abs() < 1e-3, "{light}");
        let last = found["levels"].as_array().unwrap().last().unwrap();
        assert!((number(&last["achieved_rps"]) / highest - 1.0).abs() < 1e-6);
    }
}

#[test]
fn the_published_compile_times_give_the_published_efficiency() {
    for (name, efficiency) in [("graviton3-compile", 0.964), ("intel-smt-compile", 0.630)] {
        let found = findings(name);
        let last = found["copies"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["copies"], 8);
        assert!(
            (number(&last["efficiency_ratio"]["value"]) - efficiency).abs() < 0.0006,
            "{name}"
        );
    }
}

#[test]
fn the_published_compile_times_give_the_published_speedup_by_smt() {
    let folder = Folder::new();
    let flags = "--cpus 8 --threads-per-core 2";
    import(&folder, "intel-smt-compile", flags).says(0, &[]);
    let found = folder.run("report out --format json").json();
    let smt = &found["findings"]["smt"];
    let speedup = number(&smt["speedup_ratio"]["value"]);
    assert!(
        (speedup - 1.27).abs() < 0.005,
        "8/354 against 4/225: {speedup}"
    );
    assert_eq!(found["provenance"]["topology"]["cores"], 4);
    // Four of eight threads are half of the CPU use and 79 % of the work.
    let four = &smt["copies"][3];
    assert_eq!(four["copies"], 4);
    assert!((number(&four["work_pct"]) - 78.65).abs() < 0.05, "{four}");
    has(
        &folder.run("report out").text(),
        &[
            "do 1.27 (no interval: too few rows) times the work of one",
            "CPU work efficiency",
        ],
    );
}

#[test]
fn the_report_says_how_it_reads_the_table() {
    let folder = Folder::new();
    let note = "Netty, from a headroom study";
    let ended = import(&folder, "graviton3-netty", &format!("--note '{note}'"));
    has(
        &ended.text(),
        &[
            "graviton3-netty",
            note,
            "Imported from a table of 15 rows",
            "mean or a percentile",
            "147,919/s (23.0 % taken as 22.5 %), 197,237/s (22.0 % taken as 22.5 %).",
            "197,237 22.0 1,178",
        ],
    );
}

#[test]
fn an_import_cannot_be_resumed() {
    let folder = Folder::new();
    import(&folder, "intel-smt-netty", "").says(0, &[]);
    let resumed = folder.run("sweep --resume out");
    resumed.says(2, &["(imported table)", "start a new run"]);
    assert_eq!(trials_in(&folder.path("out")), 12);
}

#[test]
fn a_table_as_a_spreadsheet_saves_it_is_taken_in_any_order() {
    let folder = Folder::new();
    let rows = "\u{feff}latency_us,rate_rps,cpu_pct\r\n950.5,4000,41\r\n800,1000,12\r\n\r\n\
                2100,8000,83\r\n951,4000,43\r\n";
    folder.write("t.csv", rows);
    let json = folder.run("import t.csv -o out --format json").json();
    let levels = json["findings"]["levels"].as_array().unwrap().clone();
    let of = |key: &str| -> Vec<f64> { levels.iter().map(|l| number(&l[key])).collect() };
    assert_eq!(
        of("trials"),
        [1.0, 2.0, 1.0],
        "the rate that is there twice"
    );
    let given = levels.iter().map(|l| number(&l["latency_us"]["max"]));
    let given: Vec<f64> = given.collect();
    assert_eq!(given, [800.0, 951.0, 2100.0], "as they stand in the table");
    has(&folder.run("report out").stdout, &[" 2,100 "]);
}
