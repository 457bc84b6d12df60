//! `plimsoll side` in trouble: commands that get away or pour out, guards that are
//! wrong, vanish or talk nonsense. The real binary, on whatever cgroups there are.

use crate::common::server::{self, Server};
use crate::common::side_folder::{SideFolder, is_root, lives};
use crate::common::{Ended, wait};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

#[test]
fn a_gigabyte_into_a_slow_pipe_that_closes_ends_the_command() {
    let place = SideFolder::new();
    let script = "echo ready; exec dd if=/dev/zero bs=65536 count=16384";
    let mut running = place.running("-q", script);
    let mut some = vec![0; 1 << 16];
    // Read in pieces: between them the pipe is full and the command waits.
    for _ in 0..16 {
        running.stdout.read_exact(&mut some).unwrap();
    }
    drop(running.stdout);
    assert_eq!(running.child.wait().unwrap().code(), Some(128 + 13));
    assert_eq!(place.journals(), 0);
}

#[test]
fn without_a_cgroup_orphans_are_restricted_counted_and_ended() {
    let place = SideFolder::new();
    if !is_root() {
        return;
    }
    // An orphan in a session of its own, which works and then stays.
    let work = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; echo $$ >done; sleep 1000";
    let script = format!("setsid sh -c '({work}) &'; until [ -s done ]; do sleep 0.05; done");
    let ended = Ended::of(place.of_nobody(["--period", "10s", "--", "sh", "-c", &script]));
    ended.says(0, &["are held and ended; if Plimsoll is killed"]);
    let orphan = fs::read_to_string(place.folder.path("done")).unwrap();
    assert!(!lives(orphan.trim()), "{ended:?}");
    let used = ended.stderr.split("got ").nth(1).unwrap();
    let used: f64 = used.split(' ').next().unwrap().parse().unwrap();
    assert!(used > 0.01, "its work is counted: {ended:?}");
}

#[test]
fn without_a_cgroup_orphans_that_end_are_waited_for() {
    let place = SideFolder::new();
    if !is_root() {
        return;
    }
    let script = "setsid sh -c 'sh -c \"echo \\$\\$\" &'; while :; do sleep 0.05; done";
    let running = place.spawned(place.of_nobody(["--period", "10s", "--", "sh", "-c", script]));
    let orphan = Path::new("/proc").join(&running.line);
    // Nobody else would ask for it: its entry would stay as long as Plimsoll.
    wait("the orphan's number to be free", || !orphan.exists());
    running.signal("-TERM");
    running.end().says(143, &[]);
}

#[test]
fn a_command_that_is_over_at_once_is_no_trouble() {
    let place = SideFolder::new();
    for mechanism in ["weight", "idle"] {
        let flags = ["--mechanism", mechanism, "--period", "10s", "--", "true"];
        place.side(flags).says(0, &["never frozen"]);
    }
    assert_eq!(place.journals(), 0);
}

#[test]
fn a_guard_on_a_process_that_has_ended_is_a_mistake() {
    let place = SideFolder::new();
    let mut ended = Command::new("true").spawn().unwrap();
    let stat = format!("/proc/{}/stat", ended.id());
    wait("the process to end", || {
        fs::read_to_string(&stat).unwrap().contains(") Z ")
    });
    // Its number is still taken, but nobody is there to wait for a CPU.
    let guard = format!("run-delay pid {}", ended.id());
    let refused = place.side(["--guard", &guard, "--", "touch", "ran"]);
    refused.says(2, &["a guard cannot be asked", "no process"]);
    ended.wait().unwrap();
    assert!(!place.folder.path("ran").exists());
}

/// Two guards that ask `url`.
fn guards(url: &str) -> [String; 2] {
    let http = format!("--guard 'http {url}/ p99<10s'");
    [http, format!("--guard 'prometheus {url} up<1'")]
}

/// What the guards say of a server that accepts and never answers, and not while they wait for its first
/// answer.
const SILENT: &str = "did not complete its answer";

const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>";

#[test]
fn a_server_that_no_longer_answers_as_it_should_stops_the_command() {
    let no_json = "up could not be read in the end (the answer is not JSON";
    for (answer, why, words) in [
        ("garbage\r\n\r\n", "requests failed", "p99_ms of"),
        (PAGE, "not JSON", no_json),
        // Accepts, and never answers.
        ("", SILENT, "could not be read"),
    ] {
        let (place, server) = (SideFolder::new(), Server::start(server::ZERO));
        let running = place.logged("log", guards(&server.url()).join(" "));
        place.wait_for_log("log", "\"state\":\"fine\"");
        server.answers(answer);
        place.wait_for_log("log", why);
        place.wait_for_log("log", "\"action\":\"frozen\"");
        running.signal("-TERM");
        running.end().says(143, &[words]);
    }
}

#[test]
fn a_guard_that_cannot_be_read_at_the_start_is_refused() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = format!("http://{}", port.local_addr().unwrap());
    drop(port);
    let (page, silent) = (Server::start(PAGE), Server::start(""));
    let [http, prometheus] = guards(&nowhere);
    for (guard, words) in [
        (http, "nothing listens"),
        (prometheus, "nothing listens"),
        (guards(&page.url())[1].clone(), "not JSON"),
        (
            guards(&silent.url())[1].clone(),
            "the guard up cannot be read",
        ),
    ] {
        let place = SideFolder::new();
        let words_of = format!("{guard} -- touch ran");
        place.side(words_of).says(1, &[words]);
        assert!(!place.folder.path("ran").exists(), "{guard}");
        assert_eq!(place.journals(), 0);
    }
}

#[test]
fn a_server_that_vanishes_in_the_middle_stops_the_command() {
    let place = SideFolder::new();
    let server = Server::start(server::ZERO);
    let guard = format!("prometheus {} up<1", server.url());
    let running = place.logged("log", ["--guard", &guard]);
    place.wait_for_log("log", "\"state\":\"fine\"");
    drop(server);
    let path = place.folder.path("log");
    wait("it to stand still because of that", || {
        let text = fs::read_to_string(&path).unwrap();
        let last = text.lines().last().unwrap_or_default();
        last.contains("\"state\":\"unknown\"") && last.contains("\"action\":\"frozen\"")
    });
    running.signal("-TERM");
    running.end().says(143, &["up could not be read"]);
}

#[test]
fn a_command_that_wants_the_terminal_is_reported_and_can_be_ended() {
    for (signal, does) in [("TTIN", "reads from the terminal"), ("TTOU", "writes to")] {
        let place = SideFolder::new();
        // What the kernel sends, so that this needs no terminal.
        let stops = format!("kill -{signal} $$; while :; do sleep 0.05; done");
        let script = format!("trap 'echo heard; exit 9' TERM; echo ready; {stops}");
        let running = place.running("-q --as sysload", &script);
        running.wait_until_it_says(does);
        running.signal("-TERM");
        let ended = running.end();
        // It would be killed after 10 s, or be left as it is.
        assert_eq!(ended.code, Some(9), "{ended:?}");
        assert_eq!(ended.stderr.matches("has stopped").count(), 1, "{ended:?}");
    }
}
