//! `--require`: exit codes for pipelines.

use crate::common::Folder;

const NGINX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/nginx.plimsoll");

#[test]
fn a_record_is_judged_by_its_intervals_and_the_worst_decides() {
    let folder = Folder::new();
    let judged = |conditions: &str| folder.run(format!("report {NGINX} --no-charts {conditions}"));
    judged("--require capacity>5").says(0, &["capacity>5: kept", "95 % interval"]);
    judged("--require capacity>75000").says(4, &["undecided"]);
    judged("--require capacity>5 --require capacity>200000").says(3, &["kept", "broken"]);
    // By a goal that the run did not have.
    judged("--require 'p99<5ms at 10'").says(0, &["p99<5ms at 10: kept"]);
    judged("--require 'p99<5ms at ten'").says(2, &["capacity>5000"]);
}

#[test]
fn a_record_is_judged_by_another() {
    let folder = Folder::new();
    let example = |name: &str| {
        format!(
            "{}/../../examples/{name}.plimsoll",
            env!("CARGO_MANIFEST_DIR")
        )
    };
    let judged = |name: &str, than: &str| {
        folder.run(format!(
            "report {} --require 'no worse than {than}'",
            example(name)
        ))
    };
    // Of different programs, whose light load differs.
    judged("graviton3", &example("intel-smt")).says(4, &["undecided", "p99<2x"]);
    judged("nginx", "none").says(2, &["there is no file none"]);
    judged("nginx", &example("nginx")).says(2, &["records"]);
}

#[test]
fn a_run_is_judged_by_its_requests() {
    let folder = Folder::new();
    let bounds = "--max-other 100% --max-steal 100% --max-slip 10s --plain --no-html";
    let judged = |condition: &str| {
        folder.run(format!(
            "run --rate 50 -z 1s {bounds} --require {condition}"
        ))
    };
    judged("errors<50%").says(0, &["errors<50%: kept; 0 of"]);
    judged("p50<1us").says(3, &["p50<1us: broken"]);
    judged("capacity>5").says(2, &["plimsoll run does not answer", "'p99<10ms'"]);
}
