//! `plimsoll service`: its lines, its control socket, and what it refuses.

use crate::common::{Folder, send, wait};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

fn ask(path: &Path, line: &str) -> serde_json::Value {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(line.as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

#[test]
fn a_load_is_offered_and_summed_up() {
    let folder = Folder::new();
    let ended = folder.run("service --rated 2000 --rate 40 --arrivals constant -z 2s");
    ended.says(0, &["as given"]);
    assert!(
        ended.stdout.contains("40 requests/s for 2"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("p99 "), "{}", ended.stdout);
}

#[test]
fn a_message_changes_the_load_and_garbage_does_not() {
    let folder = Folder::new();
    let path = folder.path("control");
    let child = folder.spawn("service --rated 2000 --rate 1 --json --control control");
    wait("the socket", || path.exists());
    assert!(ask(&path, "faster, please\n")["error"].is_string());
    assert!(ask(&path, "{\"load\": 1e9}\n")["error"].is_string());
    let changed = ask(&path, "{\"rate\": 30}\n");
    assert_eq!(changed["ok"], true);
    assert!(changed["effective_in_ms"].as_u64().unwrap() <= 200);
    wait("the new load", || {
        let status = ask(&path, "{\"status\": true}\n");
        // Null in the first second.
        status["asked_rps"].as_f64().is_some_and(|rate| rate > 29.0)
    });
    send(&child, &[Signal::INT]);
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success());
    let printed = String::from_utf8(ended.stdout).unwrap();
    let lines = printed.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["asked_rps"].as_f64().unwrap()
    });
    let asked: Vec<f64> = lines.collect();
    assert!(
        asked.iter().all(|rate| (0.0..=30.1).contains(rate)),
        "{asked:?}"
    );
    assert!(!path.exists(), "the socket is removed");
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    let folder = Folder::new();
    std::fs::write(folder.path("file"), "precious").unwrap();
    for (args, word) in [
        ("--load 60 --rate 5", "--rate"),
        ("--load 0", "0.1 and 200"),
        ("--until errors<1%", "p95<75ms"),
        ("--until p95<2x", "p95<75ms"),
        ("--cpus 4000", "4000"),
        ("--listen 192.0.2.1:80", "--listen 192.0.2.1:80"),
        ("--listen 8080", "--listen"),
        ("--control file", "no socket"),
        ("--control none/below", "--control"),
    ] {
        let ended = folder.run(format!("service -z 1s --rated 100 {args}"));
        ended.says(2, &[word]);
    }
    assert_eq!(std::fs::read(folder.path("file")).unwrap(), b"precious");
}
