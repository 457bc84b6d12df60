//! `plimsoll sweep --load-command`: the load is another program's.

use crate::common::side_folder::lives;
use crate::common::{Arguments, Folder, LOUD};
use std::fs;
use std::net::TcpListener;

/// A generator whose service answers at most 500/s, at 4 ms up to there: it prints what `{rate}`
/// leads to.
const LIMITED: &str = r#"sleep {duration}; awk 'BEGIN { r = {rate} + 0; c = r < 500 ? r : 500; ms = r > 500 ? 400 : 4; printf "{\"seconds\": %d, \"completed\": %d, \"failed\": 0, \"latency_counts_ms\": [[%d, %d]]}\n", {duration}, c * {duration}, ms, c * {duration} }'"#;

/// A sweep of `url` with trials of a second.
fn sweep(url: &str, command: &str, more: &[&str]) -> Vec<String> {
    let words = [
        "sweep",
        url,
        "--quick",
        "--plain",
        "-z",
        "200ms",
        "--load-command",
    ];
    let loud = LOUD.iter().copied();
    let words = words.into_iter().chain([command]).chain(loud);
    words
        .chain(more.iter().copied())
        .map(String::from)
        .collect()
}

#[test]
fn a_capacity_is_found_with_the_load_of_another_program() {
    let (folder, listener) = (Folder::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    let more =
        "--goal p99<50ms --rated 600 --trials 1 --levels 50,100 -o run.plimsoll --format json";
    let json = folder
        .run(sweep(
            &url,
            LIMITED,
            &more.words().iter().map(String::as_str).collect::<Vec<_>>(),
        ))
        .json();
    let rate = &json["findings"]["capacity"][0]["rate_rps"];
    let (low, high) = (rate["low"].as_f64(), rate["high"].as_f64());
    assert!(low <= Some(500.0) && Some(500.0) <= high, "{rate}");
    let workload = &json["plan"]["workload"];
    assert_eq!(
        (&workload["kind"], &workload["format"]),
        (&"command".into(), &"json".into())
    );
    let text = folder.run("report run.plimsoll");
    assert!(
        text.stdout.contains("slip: the load command does not say"),
        "{text:?}"
    );
}

#[test]
fn a_generator_without_a_rate_is_refused() {
    let (folder, listener) = (Folder::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    for (command, words) in [
        (
            "/usr/bin/wrk -d {duration} {url}; : {rate}",
            "wrk offers no rate",
        ),
        (
            "redis-benchmark -n {rate}0 {duration}",
            "redis-benchmark offers no rate",
        ),
    ] {
        folder.run(sweep(&url, command, &[])).says(2, &[words]);
    }
}

#[test]
fn a_command_that_fails_or_lacks_something_ends_the_run_with_what_it_says() {
    let (folder, listener) = (Folder::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    let run = |command: &str, more: &[&str]| folder.run(sweep(&url, command, more));
    for (command, code, words) in [
        ("sleep {duration}", 2, "has no {rate}"),
        (
            "k6 run -e R={rate} -e D={duration} x.js",
            2,
            "--summary-export {out}",
        ),
        (
            "echo {rate} {duration}; echo away >&2; exit 3",
            1,
            "it says: away",
        ),
        (
            "sleep {duration}; echo {rate}",
            1,
            "could not be read as that of json",
        ),
        (
            r#"sleep {duration}; : {rate}; echo '{"seconds": {duration}, "completed": 90, "latency_ms": {"50": 1, "99": 1, "99.9": 1, "101": 2}}'"#,
            1,
            "'101' is no percentile",
        ),
        (
            r#"sleep {duration}; : {rate}; echo '{"seconds": {duration}, "completed": 90, "latency_ms": {"50": 1, "99": 1, "99.9": 1, "100": 2}}'; exit 1"#,
            1,
            "ended (exit status: 1), so that its output may lack something",
        ),
        (
            r#"sleep {duration}; : {rate}; echo '{"seconds": 1, "completed": 9, "latency_ms": {"99": 1, "100": 2}}'"#,
            2,
            "does not have the p50",
        ),
        (
            r#"sleep {duration}; : {rate}; echo '{"seconds": {duration}, "completed": 900, "latency_ms": {"50": 1, "99": 1, "99.9": 1, "100": 2}}'"#,
            2,
            "several",
        ),
        (
            r#"sleep {duration}; : {rate}; echo '{"seconds": 0.1, "completed": 9, "latency_ms": {"50": 1, "99": 1, "99.9": 1, "100": 2}}'"#,
            2,
            "says that it sent for 0.100 s",
        ),
    ] {
        run(command, &["--rated", "100"]).says(code, &[words]);
    }
    run(LIMITED, &["-X", "POST"]).says(2, &["cannot be used with"]);
    folder
        .run(sweep("tcp://127.0.0.1:1", LIMITED, &[]))
        .says(1, &["nothing takes connections"]);
    folder
        .run(sweep("localhost", LIMITED, &[]))
        .says(2, &["write it like tcp://"]);
}

#[test]
fn secrets_of_the_url_are_neither_recorded_nor_shown() {
    let (folder, listener) = (Folder::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    let url = format!("tcp://u:hunter%32@127.0.0.1:{port}/db?key=hunter3");
    // As it is, and as a generator decodes it.
    let command = "echo {rate} '{url}' $(printf hun%s ter2); sleep {duration}";
    let ended = folder.run(sweep(
        &url,
        command,
        &["--rated", "100", "-o", "run.plimsoll"],
    ));
    ended.says(1, &["it says: ", "tcp://(hidden)@127"]);
    let shown = format!("{}{}", ended.stdout, ended.stderr);
    let record = fs::read(folder.path("run.plimsoll")).unwrap();
    let record = String::from_utf8_lossy(&record).into_owned();
    assert!(
        !shown.contains("hunter") && !record.contains("hunter"),
        "{shown}"
    );
    folder
        .run("sweep --resume run.plimsoll")
        .says(2, &["leaves out what may be secret", "VALUE"]);
}

#[test]
fn what_a_command_detaches_ends_with_its_trial() {
    let (folder, listener) = (Folder::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    let path = folder.path("detached");
    let detach = format!(
        "setsid -f env -i sh -c 'echo $$ >>\"$0\"; exec sleep 1000' {}",
        path.display()
    );
    let command = format!("{detach}; echo {{rate}}; sleep {{duration}}");
    folder
        .run(sweep(&url, &command, &["--rated", "100"]))
        .says(1, &["could not be read as that of json"]);
    let detached = fs::read_to_string(path).unwrap();
    assert!(detached.lines().count() > 0);
    assert!(!detached.lines().any(lives), "{detached}");
}

#[test]
fn the_window_waits_for_a_command_that_starts_slowly() {
    let (folder, listener) = (Folder::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    let slow = format!("sleep 2; {LIMITED}");
    let more = "--goal p99<50ms --rated 200 --trials 1 --levels 50,100 -o run.plimsoll";
    let more = more.words();
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    folder.run(sweep(&url, &slow, &more)).says(0, &[]);
    let db = rusqlite::Connection::open(folder.path("run.plimsoll")).unwrap();
    let sql = "SELECT count(*), min(warm_up_ns) FROM trial WHERE asked_rps > 0";
    let (trials, shortest): (i64, i64) = db
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert!(
        trials >= 2 && shortest >= 2_000_000_000,
        "{trials} {shortest}"
    );
}
