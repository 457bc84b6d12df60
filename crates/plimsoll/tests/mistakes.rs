//! Bad input: one clear sentence with the way out, the right exit code, and
//! nothing lost that was measured.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod common;

use common::{Ended, Folder, has, short, table};
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
fn a_goal_that_cannot_be_read_shows_one_that_can() {
    let folder = Folder::new();
    for (goal, why) in [
        ("p99", "no '<'"),
        ("p99<10", "unit"),
        ("p99<-1ms", "unit"),
        ("latency<1ms", "left side"),
        ("errors<200%", "between 0 and 100"),
        ("p99<0.5x", "above 1"),
        ("cpu<80", "not in percent"),
        ("cpu<80x", "not in percent"),
        ("cpu<800%", "between 0 and 100"),
    ] {
        let sweep = format!("sweep --goal {goal}");
        folder.run(sweep).says(2, &[goal, why, "p99<10ms"]);
    }
}

#[test]
fn values_that_make_no_sense_are_refused_before_anything_runs() {
    let folder = Folder::new();
    for (flag, words) in [
        ("--rated=0", "requests per second"),
        ("--rated=-5", "requests per second"),
        ("--rated -5", "--rated"),
        ("--rated=NaN", "requests per second"),
        ("--rated=1e30", "requests per second"),
        ("--duration=0s", "100ms and 1h"),
        ("--duration=-1s", "100ms and 1h"),
        ("--duration -5", "100ms and 1h"),
        ("--duration=1000h", "100ms and 1h"),
        ("--duration=5", "with its unit"),
        ("--levels=0", "load level"),
        ("--levels=10,-5", "load level"),
        ("--levels=NaN", "load level"),
        ("--levels=1000", "load level"),
        ("--trials=0", "--trials"),
        ("--cpus=0-99999999", "0-3,8"),
        ("--cpus 8000", "CPU 8000"),
        ("--max-slip -5", "above 0"),
        ("--precision=0%", "between 0.5% and 50%, such as 2%"),
        ("--precision=-1%", "between 0.5% and 50%, such as 2%"),
        ("--precision -5", "between 0.5% and 50%, such as 2%"),
        ("--precision=NaN%", "between 0.5% and 50%, such as 2%"),
        ("--precision=60%", "between 0.5% and 50%, such as 2%"),
        ("--precision=2", "between 0.5% and 50%, such as 2%"),
        ("--precision=abc", "between 0.5% and 50%, such as 2%"),
        ("localhost:8080", "http://"),
        ("ftp://localhost/", "http://"),
        ("http://", "http://"),
        ("'http://a b/'", "http://"),
        ("http://127.0.0.1:1/ -d @nofile", "'nofile' cannot be read"),
        ("http://127.0.0.1:1/ -d @nofile", "leave out the @"),
    ] {
        let refused = folder.run(format!("sweep {flag}"));
        refused.says(2, &[words]);
        let name = flag.split(['=', ' ']).next().unwrap();
        if flag.starts_with("--") {
            has(&refused.stderr, &[name]);
        }
        // What clap advises against a value that looks like a flag.
        assert!(!refused.stderr.contains("-- -5"), "{}", refused.stderr);
    }
    assert!(
        !folder.path("plimsoll-runs").exists(),
        "no record was begun"
    );
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
    for (behaviour, code, words) in [
        (Behaviour::Garbage, 1, &["HTTP/1.1"][..]),
        (Behaviour::CloseAtOnce, 1, &["closed"]),
        (Behaviour::DieInBody, 1, &["closed"]),
        (
            Behaviour::Large { bytes: 10 << 30 },
            1,
            &["1s", "--timeout"],
        ),
        (Behaviour::Silent, 1, &["1s", "--timeout"]),
        (Behaviour::Status(503), 1, &["503", "--expect-status"]),
        // A mistake in the URL.
        (Behaviour::Status(404), 2, &["404", "--expect-status"]),
        (Behaviour::Redirect(elsewhere.into()), 2, &[elsewhere]),
    ] {
        let server = KnownServer::start(behaviour).unwrap();
        let folder = Folder::new();
        let sweep = format!("sweep --quick --timeout 1s http://{}/", server.addr());
        folder.run(sweep).says(code, words);
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
fn a_process_that_does_not_exist_is_a_mistake() {
    let server = server();
    let sweep = format!(
        "sweep --quick --service-pid 4194305 http://{}/",
        server.addr()
    );
    Folder::new().run(sweep).says(2, &["no process 4194305"]);
}

#[test]
fn flags_that_do_not_go_together_are_refused() {
    let folder = Folder::new();
    let usage = "Usage: plimsoll copies";
    for (args, words) in [
        (
            "sweep --copies http://x/ -- true",
            &["'http://x/'", usage][..],
        ),
        ("sweep --copies -k http://x/ -- true", &["'-k'", usage]),
        ("sweep --copies", &["-- <CMD>"]),
        ("sweep -H 'A: b'", &["required", "URL"]),
        ("yield -H 'A: b'", &["required", "URL"]),
    ] {
        folder.run(args).says(2, words);
    }
}

#[test]
fn more_connections_than_descriptors_are_refused_with_the_number_that_fits() {
    let server = server();
    let ended = in_shell(&format!(
        "ulimit -n 64; exec {} sweep --quick -c 5000 http://{}/",
        env!("CARGO_BIN_EXE_plimsoll"),
        server.addr()
    ));
    ended.says(2, &["5000", "--connections"]);
}

#[test]
fn commands_that_cannot_be_copied_say_why() {
    let folder = Folder::new();
    for (args, code, words) in [
        ("-- no-such-command", 2, &["no-such-command"][..]),
        ("-- sh -c 'echo broken >&2; exit 3'", 1, &["3", "broken"]),
        ("--timeout 300ms -- sleep 1000", 1, &["300ms", "--timeout"]),
    ] {
        let copies = format!("sweep --quick --levels 1 --copies {args}");
        folder.run(copies).says(code, words);
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
fn a_record_that_cannot_be_made_says_where_and_why() {
    let folder = Folder::new();
    folder.write("file", "");
    for (output, words) in [
        ("/proc/x", ["/proc/x: No such file", "cannot be created"]),
        ("no/such/x", ["there is no folder no/such", "-o"]),
        ("file/x", ["file/x: Not a directory", "cannot be created"]),
        (".", ["is a directory", "give a file"]),
    ] {
        let sweep = short(&format!("--rated 100 -o {output}"));
        folder.run(sweep).says(2, &words);
    }
    assert!(!folder.path("no").exists(), "folders are not made");
    // Asked for before the server is, and not left behind when that fails.
    let sweep = "sweep -o mine http://no-such-host.invalid/";
    folder.run(sweep).says(1, &["no-such-host.invalid"]);
    assert!(!folder.path("mine").exists());
}

#[test]
fn a_rated_rate_out_of_reach_is_warned_of() {
    let ended = Folder::new().run(short("--levels 5 --rated 99999999"));
    has(
        &common::unwrapped(&ended.stdout),
        &[
            "99,999,999/s",
            "far more than the service carries",
            "Leave --rated out",
        ],
    );
}

#[test]
fn files_that_are_no_records_are_refused() {
    let folder = Folder::new();
    folder.write("text", "hello");
    folder.write("empty", "");
    for file in ["none", "text", "empty", "."] {
        for command in ["report", "sweep --resume", "export --hdr out"] {
            folder.run(format!("{command} {file}")).says(2, &[file]);
        }
    }
}

#[test]
fn an_existing_record_is_never_written_over() {
    let folder = Folder::new();
    folder.write("mine", "precious");
    let sweep = short("-o mine --rated 100");
    folder.run(sweep).says(2, &["mine", "--resume"]);
    assert_eq!(folder.read("mine"), "precious");
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
fn a_record_of_another_kind_is_a_mistake_in_every_command() {
    let folder = Folder::new();
    let csv = table("graviton3-compile");
    for name in ["a", "b"] {
        folder.run(["import", &csv, "-o", name]).says(0, &[]);
    }
    for args in [
        "plan a --peak 5",
        "compare a b",
        "export a --hdr out",
        "report a --goal p99<10ms",
        "sweep --resume a",
    ] {
        let ended = folder.run(args);
        ended.says(2, &["a"]);
        assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{ended:#?}");
    }
}
