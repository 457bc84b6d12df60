//! `plimsoll versus` for real, on two servers of known delay: what is asserted is what noise cannot
//! change.

use crate::common::{Folder, LOUD, has, keeps_to_schema};
use plimsoll_load::known::{Behaviour, Discipline, KnownServer};
use std::thread::sleep;
use std::time::Duration;

fn server(after_ms: u64) -> KnownServer {
    let after = Duration::from_millis(after_ms);
    KnownServer::start(Behaviour::Answer { after }).unwrap()
}

/// 8 passes of 40 requests to each.
fn versus(new: &KnownServer, base: &KnownServer, more: &str) -> String {
    let loud = LOUD.join(" ");
    format!(
        "versus http://{}/ --against http://{}/ --rate 200 -z 200ms --passes 8 -c 8 --arrivals constant --seed 1 -o run.plimsoll --no-html {loud} {more}",
        new.addr(),
        base.addr()
    )
}

#[test]
fn a_slower_service_breaks_a_condition_and_the_json_keeps_to_its_schema() {
    let (new, base) = (server(10), server(2));
    let folder = Folder::new();
    let more = "--format json --require 'change of p50<100%'";
    let run = folder.run(versus(&new, &base, more));
    run.says(3, &["change of p50<100%: broken"]);
    let found = folder.run("report run.plimsoll --format json").json();
    let schema = include_str!("../../../../docs/schema/versus.schema.json");
    keeps_to_schema(&found, schema);
    assert_eq!(found["findings"]["passes"], 8);
    assert_eq!(found["findings"]["is_itself"], false);
    let text = folder.run("report run.plimsoll").stdout;
    has(&text, &["New against base", "p50", "longer"]);
    // The other way round, less time is no change for the worse.
    let run = folder.run(
        versus(&base, &new, "--require 'change of p50<0%'")
            .replace("run.plimsoll", "back.plimsoll"),
    );
    run.says(0, &["change of p50<0%: kept"]);
}

#[test]
fn a_condition_on_anything_else_is_refused_before_the_run() {
    let (new, base) = (server(2), server(2));
    let folder = Folder::new();
    for (required, words) in [
        ("p99<10ms", "does not answer --require 'p99<10ms'"),
        ("change of rss<3%", "there is no 'rss' here"),
        // A trial has 40 requests.
        ("change of p99<3%", "there is no 'p99' here"),
    ] {
        let run = folder.run(versus(&new, &base, &format!("--require '{required}'")));
        run.says(2, &[words]);
        assert!(!folder.path("run.plimsoll").exists());
    }
}

#[test]
fn a_service_that_fails_decides_nothing() {
    let base = server(2);
    // It refuses every second request.
    let discipline = Discipline::TokenBucket {
        per_second: 100,
        burst: 10,
    };
    let limited = KnownServer::start(Behaviour::Queue(discipline)).unwrap();
    // The bucket starts empty, and the first request is not to be refused.
    sleep(Duration::from_millis(100));
    let folder = Folder::new();
    let run = folder.run(versus(&limited, &base, "--require 'change of p50<900%'"));
    run.says(4, &["undecided"]);
    has(&run.stdout, &["The new service failed"]);
}
