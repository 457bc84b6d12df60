//! `--require`: exit codes for pipelines.

use crate::common::{Folder, has};
use plimsoll_load::known::{Behaviour, Discipline, KnownServer};
use std::fs;
use std::time::Duration;

const NGINX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/nginx.plimsoll");

#[test]
fn a_record_is_judged_by_its_intervals_and_the_worst_decides() {
    let folder = Folder::new();
    let judged = |conditions: &str| folder.run(format!("report {NGINX} --no-charts {conditions}"));
    judged("--require capacity>5").says(0, &["capacity>5: kept", "95 % interval"]);
    judged("--require capacity>122000").says(4, &["undecided"]);
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
    judged("errors<50%").says(
        0,
        &[
            "errors<50%: kept; 0 of",
            "rarer than one in 333ms may be unseen",
        ],
    );
    judged("p50<1us").says(3, &["p50<1us: broken"]);
    judged("capacity>5").says(2, &["plimsoll run does not answer", "'p99<10ms'"]);
    judged("cost<5%").says(2, &["plimsoll run does not answer"]);
}

#[test]
fn figures_of_arms_are_judged_by_their_intervals() {
    let folder = Folder::new();
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/yield.plimsoll");
    let judged = |condition: &str| {
        folder.run(format!(
            "report {record} --no-charts --require '{condition}'"
        ))
    };
    judged("gain of plimsoll>1%").says(
        0,
        &["gain of plimsoll>1%: kept; plimsoll: ", "95 % interval"],
    );
    judged("gain of plimsoll>100%").says(3, &["broken"]);
    judged("gain of nobody>1%").says(2, &["there is no 'nobody' here; choose from"]);
    judged("metg50<1us").says(
        2,
        &["plimsoll yield does not answer", "'gain of plimsoll>30%'"],
    );
}

#[test]
fn conditions_are_written_for_pipelines() {
    let folder = Folder::new();
    let report = |more: &str| folder.run(format!("report {NGINX} --no-charts {more}"));
    report("--format junit").says(2, &["give a --require"]);
    let broken = report("--format junit --require capacity>5 --require capacity>200000");
    has(
        &broken.says(3, &["broken"]).stdout,
        &["tests=\"2\" failures=\"1\"", "<failure"],
    );
    let kept = report("--format github --require capacity>5");
    has(
        &kept.says(0, &["kept"]).stdout,
        &["::notice title=plimsoll sweep of GET http%3A"],
    );
    let summary = report("--format markdown --require capacity>5");
    let summary = &summary.says(0, &[]).stdout;
    has(
        summary,
        &[
            "| required |  | figures |",
            "| capacity>5 | kept |",
            "### ",
            "---:",
        ],
    );
}

#[test]
fn a_comparison_is_judged_by_its_ratio() {
    let folder = Folder::new();
    let example = |name: &str| {
        format!(
            "{}/../../examples/{name}.plimsoll",
            env!("CARGO_MANIFEST_DIR")
        )
    };
    let (first, other) = (example("intel-smt"), example("graviton3"));
    let judged = |required: &str| {
        folder.run(format!(
            "compare {first} {other} --no-charts --require '{required}'"
        ))
    };
    judged("no worse than x").says(2, &["'no worse by 5%'"]);
    judged("no worse by 5%").says(4, &["no worse by 5.0 %: undecided"]);
    // The same run, as if it were another: with pauses of the generator, which may have lowered the first.
    fs::copy(NGINX, folder.path("other")).unwrap();
    folder.change(
        "other",
        "UPDATE run SET created_unix_ms = created_unix_ms + 1",
    );
    let paused = folder.run(format!("compare {NGINX} other --require 'no worse by 50%'"));
    paused.says(
        4,
        &[
            "undecided",
            "pauses of the generator may have lowered the capacity of",
            "nginx.plimsoll",
        ],
    );
}

#[test]
fn a_rate_is_a_multiple_of_a_known_capacity() {
    let folder = Folder::new();
    let bounds = "--max-other 100% --max-steal 100% --max-slip 10s --plain --no-html";
    let run = |rate: &str| folder.run(format!("run --rate '{rate}' -z 500ms {bounds}"));
    run(&format!("0.001x {NGINX}")).says(0, &["note: the rate is", "0.001 times", "95 % interval"]);
    run("0.8x").says(2, &["as one word", "'0.8x FILE'"]);
    run("0.8x none").says(2, &["there is no file none"]);
    let yields = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/yield.plimsoll");
    run(&format!("0.8x {yields}")).says(2, &["has no capacity"]);
}

#[test]
fn requests_outside_all_phases_do_not_count() {
    let folder = Folder::new();
    let bounds = "--max-other 100% --max-steal 100% --max-slip 10s --plain --no-html";
    let ended = folder.run(format!(
        "run --pattern 100ms@500,2s@20 {bounds} --format json --require errors<90%"
    ));
    let json: serde_json::Value = serde_json::from_str(&ended.says(0, &[]).stdout).unwrap();
    let due = &json["findings"]["intended"];
    ended.says(0, &[&format!("kept; 0 of {due} requests")]);
    // About 50 and 40.
    assert!((40..180).contains(&due.as_u64().unwrap()), "{due}");
}

#[test]
fn requests_without_an_answer_keep_no_limit_that_they_have_not_waited_for() {
    let folder = Folder::new();
    let discipline = Discipline::Servers {
        each: Duration::from_millis(400),
        servers: 1,
    };
    let server = KnownServer::start(Behaviour::Queue(discipline)).unwrap();
    let bounds = "--max-other 100% --max-slip 10s --max-steal 100%";
    let run = format!("run http://{}/ --rate 50 -z 1s {bounds}", server.addr());
    let ended = folder.run(format!("{run} --require p50<30s"));
    ended.says(4, &["undecided", "no answer when the run ended"]);
}
