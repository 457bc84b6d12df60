//! Services, commands and records that cannot be measured: one sentence with the way
//! out, the right exit code, and nothing lost that was measured.

use crate::common::{Ended, Folder, LOUD, has, short, unwrapped};
use plimsoll_load::known::{Behaviour, KnownServer};
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

/// A server that answers at once.
fn server() -> KnownServer {
    let after = Duration::ZERO;
    KnownServer::start(Behaviour::Answer { after }).unwrap()
}

/// What a shell makes of a script in a folder of its own.
fn in_shell(script: &str) -> Ended {
    let folder = Folder::new();
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(folder.0.path());
    Ended::of(shell)
}

#[test]
fn a_target_that_cannot_be_reached_fails_the_run_whatever_the_reason() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    for (host, words) in [
        (&*address, "nothing listens"),
        ("no-such-host.invalid", "cannot be resolved"),
    ] {
        for command in ["sweep", "yield"] {
            let ended = Folder::new().run(format!("{command} http://{host}/"));
            ended.says(1, &[host, words]);
        }
    }
}

#[test]
fn a_server_that_does_not_answer_as_expected_is_recognised_before_the_run() {
    let elsewhere = "http://elsewhere.invalid/";
    for (behaviour, words) in [
        (Behaviour::Garbage, &["HTTP/1.1"][..]),
        (Behaviour::CloseAtOnce, &["closed"]),
        (Behaviour::DieInBody, &["closed"]),
        (Behaviour::Large { bytes: 10 << 30 }, &["1s", "--timeout"]),
        (Behaviour::Silent, &["1s", "--timeout"]),
        (Behaviour::Status(503), &["503", "--expect-status"]),
        (Behaviour::Status(404), &["404", "--expect-status"]),
        (Behaviour::Redirect(elsewhere.into()), &[elsewhere]),
    ] {
        let server = KnownServer::start(behaviour).unwrap();
        let folder = Folder::new();
        let sweep = format!("sweep --quick --timeout 1s http://{}/", server.addr());
        folder.run(sweep).says(1, words);
        assert!(!folder.path("plimsoll-runs").exists(), "{words:?}");
    }
}

#[test]
fn a_server_that_speaks_no_tls_is_recognised() {
    let server = server();
    let sweep = format!("sweep https://{}/", server.addr());
    Folder::new().run(sweep).says(1, &["TLS"]);
}

#[test]
fn a_service_that_does_not_exist_is_refused_before_the_run() {
    let server = server();
    let folder = Folder::new();
    for (flag, words) in [
        ("--service-pid 4194305", "no process 4194305"),
        ("--service-cgroup no/such", "no cgroup 'no/such'"),
    ] {
        let sweep = format!("sweep --quick {flag} http://{}/", server.addr());
        folder.run(sweep).says(2, &[words]);
        assert!(!folder.path("plimsoll-runs").exists(), "{flag}");
    }
}

#[test]
fn more_connections_than_descriptors_are_refused_with_the_number_that_fits() {
    let server = server();
    let ended = in_shell(&format!(
        "ulimit -n 100; exec {} sweep --quick -c 5000 http://{}/",
        env!("CARGO_BIN_EXE_plimsoll"),
        server.addr()
    ));
    ended.says(2, &["5000", "--connections", "ulimit -n 5"]);
}

#[test]
fn the_soft_limit_on_open_files_is_raised_and_too_few_are_refused() {
    let server = server();
    let program = env!("CARGO_BIN_EXE_plimsoll");
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    // 80 files are too few for 60 connections, unless the hard limit is used.
    let sweep = short(&format!("-c 60 http://{}/", server.addr()));
    let sweep = format!("{sweep} --no-html --plain -o {}", record.display());
    in_shell(&format!("ulimit -S -n 80; exec {program} {sweep}")).says(0, &[]);
    for command in [
        "sweep --quick",
        "yield --quick",
        "copies -- true",
        "selftest",
    ] {
        let ended = in_shell(&format!("ulimit -n 20; exec {program} {command}"));
        ended.says(2, &["only 20 files", "ulimit -n 32"]);
    }
}

#[test]
fn a_started_command_has_the_limit_on_open_files_that_it_had_before() {
    // As `yield` starts it: it stops, and goes on when it is told.
    let ended = in_shell(&format!(
        "{} --start-held 77 0 sh -c 'ulimit -S -n' & pid=$!; \
         until grep -q 'State:.T' /proc/$pid/status; do sleep 0.05; done; \
         kill -CONT $pid; wait $pid",
        env!("CARGO_BIN_EXE_plimsoll")
    ));
    assert_eq!(ended.says(0, &[]).stdout.trim(), "77");
}

#[test]
fn commands_whose_copies_fail_say_why() {
    let folder = Folder::new();
    for (args, words) in [
        ("-- sh -c 'echo broken >&2; exit 3'", ["3", "broken"]),
        ("--timeout 300ms -- sleep 1000", ["300ms", "--timeout"]),
    ] {
        let copies = format!("sweep --quick --levels 1 --copies {args}");
        folder.run(copies).says(1, &words);
    }
}

#[test]
fn copies_that_fail_at_once_are_not_offered_to_be_resumed() {
    let folder = Folder::new();
    let failed = folder.run("sweep --quick --copies -o x -- false");
    failed.says(1, &["`false`", "exit status: 1"]);
    let (_, ours) = failed.stderr.split_once("plimsoll: ").unwrap();
    let next = ours.lines().nth(1).unwrap();
    assert!(next.starts_with("plimsoll: x has only "), "{next}");
    assert!(
        next.ends_with("; mend the cause and start a new run"),
        "{next}"
    );
}

#[test]
fn a_record_is_not_left_behind_when_the_server_cannot_be_reached() {
    let folder = Folder::new();
    let sweep = "sweep -o mine http://no-such-host.invalid/";
    folder.run(sweep).says(1, &["no-such-host.invalid"]);
    assert!(!folder.path("mine").exists());
}

#[test]
fn a_rated_rate_out_of_reach_is_warned_of() {
    let ended = Folder::new().run(short("--levels 5 --rated 99999999"));
    has(
        &unwrapped(&ended.stdout),
        &[
            "99,999,999/s",
            "far more than the service carries",
            "Leave --rated out",
        ],
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let ended = in_shell(&format!("{} doctor | true", env!("CARGO_BIN_EXE_plimsoll")));
    assert!(!ended.stderr.contains("panicked"), "{ended:#?}");
}

#[test]
fn a_run_is_resumed_with_another_clock_source_but_not_with_another_governor() {
    let folder = Folder::new();
    let sweep = short("--levels 5 --rated 100 -o run");
    folder.run(sweep).says(0, &[]);
    let resume = "sweep --resume run";
    let complete = ["is complete", "plimsoll report run", "start a new run"];
    folder.run(resume).says(2, &complete);
    folder.change("run", "UPDATE run SET ended = 'interrupted'");
    let confirm = folder.run("sweep --resume run --confirm 30m");
    confirm.says(2, &["--confirm is 1800s and was"]);
    for (key, value, code, words) in [
        (
            "clock_source",
            "sundial",
            0,
            &["note:", "against sundial"][..],
        ),
        (
            "governor",
            "whim",
            2,
            &["frequency governor", "against whim", "start a new run"],
        ),
    ] {
        let set = format!(
            "UPDATE run SET ended = 'interrupted', \
             provenance_json = json_set(provenance_json, '$.{key}', '{value}')"
        );
        folder.change("run", &set);
        folder.run(resume).says(code, words);
    }
}

#[test]
fn a_named_process_that_does_not_listen_is_noted_and_in_the_report() {
    let server = server();
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    let folder = Folder::new();
    let run = |pid: u32| {
        let url = format!("http://{}/", server.addr());
        let loud = LOUD.join(" ");
        folder.run(format!(
            "run --rate 50 -z 200ms --service-pid {pid} {loud} --no-html -o {pid}.plimsoll {url}"
        ))
    };
    let apart = run(other.id());
    other.kill().unwrap();
    other.wait().unwrap();
    let words = "neither process";
    has(&unwrapped(&apart.stderr), &[words, "nor started by it"]);
    has(&unwrapped(&apart.text()), &[words]);
    let own = run(std::process::id());
    assert!(!own.stderr.contains(words), "{}", own.stderr);
}
