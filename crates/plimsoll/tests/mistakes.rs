//! Bad input: one clear sentence with the way out, the right exit code, and
//! nothing lost that was measured.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod common;

use common::{Folder, short};
use plimsoll_load::known::{Behaviour, KnownServer};
use std::net::TcpListener;
use std::time::Duration;

#[test]
fn a_precision_that_makes_no_sense_shows_one_that_does() {
    for precision in ["0%", "-1%", "NaN%", "60%", "2", "abc"] {
        let arg = format!("--precision={precision}");
        Folder::new()
            .run(&["sweep", &arg])
            .says(2, &["--precision", "between 0.5% and 50%, such as 2%"]);
    }
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
        folder
            .run(&["sweep", "--goal", goal])
            .says(2, &[goal, why, "p99<10ms"]);
    }
}

#[test]
fn numbers_that_make_no_sense_are_refused_before_anything_runs() {
    let folder = Folder::new();
    let cases: [(&[&str], &str); 14] = [
        (&["--rated", "0"], "requests per second"),
        (&["--rated", "-5"], "requests per second"),
        (&["--rated", "NaN"], "requests per second"),
        (&["--rated", "1e30"], "requests per second"),
        (&["--duration", "0s"], "100ms and 1h"),
        (&["--duration", "-1s"], "100ms and 1h"),
        (&["--duration", "1000h"], "100ms and 1h"),
        (&["--duration", "5"], "with its unit"),
        (&["--levels", "0"], "load level"),
        (&["--levels", "10,-5"], "load level"),
        (&["--levels", "NaN"], "load level"),
        (&["--levels", "1000"], "load level"),
        (&["--trials", "0"], "--trials"),
        (&["--cpus", "0-99999999"], "0-3,8"),
    ];
    for (flags, words) in cases {
        let joined: Vec<String> = match flags {
            [flag, value] => vec![format!("{flag}={value}")],
            _ => unreachable!("pairs only"),
        };
        let args: Vec<&str> = std::iter::once("sweep")
            .chain(joined.iter().map(String::as_str))
            .collect();
        folder.run(&args).says(2, &[words]);
    }
    assert!(
        !folder.path("plimsoll-runs").exists(),
        "no record was begun"
    );
}

#[test]
fn a_cpu_that_is_not_there_is_named() {
    Folder::new()
        .run(&["sweep", "--cpus", "8000"])
        .says(2, &["CPU 8000", "--cpus"]);
}

#[test]
fn a_target_that_cannot_be_reached_fails_the_run_whatever_the_reason() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    for (host, words) in [
        (&*address, [&*address, "nothing listens"]),
        (
            "no-such-host.invalid",
            ["no-such-host.invalid", "cannot be resolved"],
        ),
    ] {
        for command in ["sweep", "yield"] {
            let url = format!("http://{host}/");
            Folder::new().run(&[command, &url]).says(1, &words);
        }
    }
}

#[test]
fn an_address_that_is_no_url_is_a_mistake() {
    let folder = Folder::new();
    for url in [
        "localhost:8080",
        "ftp://localhost/",
        "http://",
        "http://a b/",
    ] {
        folder.run(&["sweep", url]).says(2, &["http://"]);
    }
}

/// What a sweep of a server that behaves like this says before it begins.
#[track_caller]
fn preflight(behaviour: Behaviour, code: i32, words: &[&str]) {
    let server = KnownServer::start(behaviour).unwrap();
    let url = format!("http://{}/", server.addr());
    let folder = Folder::new();
    folder
        .run(&["sweep", "--quick", "--timeout", "1s", &url])
        .says(code, words);
    assert!(
        !folder.path("plimsoll-runs").exists(),
        "no record was begun"
    );
}

#[test]
fn a_port_that_speaks_something_else_is_recognised() {
    preflight(Behaviour::Garbage, 1, &["HTTP/1.1"]);
}

#[test]
fn a_server_that_closes_every_connection_is_recognised() {
    preflight(Behaviour::CloseAtOnce, 1, &["closed"]);
}

#[test]
fn a_server_that_dies_in_its_answer_is_recognised() {
    preflight(Behaviour::DieInBody, 1, &["closed"]);
}

#[test]
fn a_body_without_end_is_recognised() {
    preflight(
        Behaviour::Large { bytes: 10 << 30 },
        1,
        &["1s", "--timeout"],
    );
}

#[test]
fn a_server_that_never_answers_is_recognised() {
    preflight(Behaviour::Silent, 1, &["1s", "--timeout"]);
}

#[test]
fn a_status_that_was_not_expected_is_shown() {
    preflight(Behaviour::Status(503), 1, &["503", "--expect-status"]);
}

#[test]
fn a_page_that_is_not_there_is_a_mistake_in_the_url() {
    preflight(Behaviour::Status(404), 2, &["404", "--expect-status"]);
}

#[test]
fn a_process_that_is_not_there_is_a_mistake() {
    let server = KnownServer::start(Behaviour::Answer {
        after: Duration::ZERO,
    })
    .unwrap();
    let url = format!("http://{}/", server.addr());
    Folder::new()
        .run(&["sweep", "--quick", "--service-pid", "4194305", &url])
        .says(2, &["no process 4194305"]);
}

#[test]
fn copies_of_a_command_and_a_url_at_once_are_told_apart() {
    let both = ["sweep", "--copies", "http://x/", "--", "true"];
    Folder::new()
        .run(&both)
        .says(2, &["'http://x/'", "Usage: plimsoll copies", "-- <CMD>"]);
    let flag = ["sweep", "--copies", "-k", "http://x/", "--", "true"];
    Folder::new()
        .run(&flag)
        .says(2, &["'-k'", "Usage: plimsoll copies", "-- <CMD>"]);
    for command in ["sweep", "yield"] {
        Folder::new()
            .run(&[command, "-H", "A: b"])
            .says(2, &["required", "URL"]);
    }
}

#[test]
fn a_negative_number_after_a_blank_is_refused_for_what_it_is() {
    for (flag, words) in [
        ("--rated", "requests per second"),
        ("--duration", "100ms and 1h"),
        ("--precision", "0.5% and 50%"),
        ("--max-slip", "above 0"),
    ] {
        let refused = Folder::new().run(&["sweep", flag, "-5"]);
        refused.says(2, &[flag, words]);
        assert!(!refused.stderr.contains("-- -5"), "{}", refused.stderr);
    }
}

#[test]
fn a_body_that_cannot_be_read_says_what_to_do() {
    let args = ["sweep", "http://127.0.0.1:1/", "-d", "@nofile"];
    Folder::new()
        .run(&args)
        .says(2, &["'nofile' cannot be read", "leave out the @"]);
}

#[test]
fn a_redirect_is_an_error_and_shows_where_to() {
    preflight(
        Behaviour::Redirect("http://elsewhere.invalid/".into()),
        2,
        &["http://elsewhere.invalid/"],
    );
}

#[test]
fn a_server_that_speaks_no_tls_is_recognised() {
    let server = KnownServer::start(Behaviour::Answer {
        after: Duration::ZERO,
    })
    .unwrap();
    Folder::new()
        .run(&["sweep", &format!("https://{}/", server.addr())])
        .says(1, &["TLS"]);
}

#[test]
fn more_connections_than_descriptors_are_refused_with_the_number_that_fits() {
    let server = KnownServer::start(Behaviour::Answer {
        after: Duration::ZERO,
    })
    .unwrap();
    let folder = Folder::new();
    let script = format!(
        "ulimit -n 64; exec {} sweep --quick -c 5000 http://{}/",
        env!("CARGO_BIN_EXE_plimsoll"),
        server.addr()
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.0.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("5000") && stderr.contains("--connections"),
        "{stderr}"
    );
}

#[test]
fn commands_that_cannot_be_copied_say_why() {
    let folder = Folder::new();
    let copies = |rest: &[&str]| {
        let mut args = vec!["sweep", "--quick", "--levels", "1", "--copies"];
        args.extend_from_slice(rest);
        folder.run(&args)
    };
    copies(&["--", "no-such-command"]).says(2, &["no-such-command"]);
    copies(&["--", "sh", "-c", "echo broken >&2; exit 3"]).says(1, &["3", "broken"]);
    copies(&["--timeout", "300ms", "--", "sleep", "1000"]).says(1, &["300ms", "--timeout"]);
    folder.run(&["sweep", "--copies"]).says(2, &["CMD"]);
}

#[test]
fn copies_that_fail_at_once_are_not_offered_to_be_resumed() {
    let folder = Folder::new();
    let failed = folder.run(&["sweep", "--quick", "--copies", "-o", "x", "--", "false"]);
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
    std::fs::write(folder.path("file"), "").unwrap();
    for (output, words) in [
        ("/proc/x", ["/proc/x: No such file", "cannot be created"]),
        ("no/such/x", ["there is no folder no/such", "-o"]),
        ("file/x", ["file/x: Not a directory", "cannot be created"]),
        (".", ["is a directory", "give a file"]),
    ] {
        let ended = folder.run(&short(&["--rated", "100", "-o", output]));
        ended.says(2, &words);
    }
    assert!(!folder.path("no").exists(), "folders are not made");
    // Asked for before the server is, and not left behind when that fails.
    folder
        .run(&["sweep", "-o", "mine", "http://no-such-host.invalid/"])
        .says(1, &["no-such-host.invalid"]);
    assert!(!folder.path("mine").exists());
}

#[test]
fn a_rated_rate_out_of_reach_is_warned_of() {
    let ended = Folder::new().run(&short(&["--levels", "5", "--rated", "99999999"]));
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>();
    let text = text.join(" ");
    for words in [
        "99,999,999/s",
        "far more than the service carries",
        "Leave --rated out",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn what_is_no_record_is_not_taken_for_one() {
    let folder = Folder::new();
    std::fs::write(folder.path("text"), "hello").unwrap();
    std::fs::write(folder.path("empty"), "").unwrap();
    for (file, words) in [
        ("none", "none"),
        ("text", "text"),
        ("empty", "empty"),
        (".", "."),
    ] {
        folder.run(&["report", file]).says(2, &[words]);
        folder.run(&["sweep", "--resume", file]).says(2, &[words]);
        folder
            .run(&["export", file, "--hdr", "out"])
            .says(2, &[words]);
    }
}

#[test]
fn an_existing_record_is_never_written_over() {
    let folder = Folder::new();
    std::fs::write(folder.path("mine"), "precious").unwrap();
    folder
        .run(&short(&["-o", "mine", "--rated", "100"]))
        .says(2, &["mine", "--resume"]);
    let kept = std::fs::read_to_string(folder.path("mine")).unwrap();
    assert_eq!(kept, "precious");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::new();
    let script = format!("{} doctor | true", env!("CARGO_BIN_EXE_plimsoll"));
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.0.path())
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}

#[test]
fn a_run_goes_on_with_another_clock_source_but_not_with_another_governor() {
    let folder = Folder::new();
    let sweep = short(&["--levels", "5", "--rated", "100", "-o", "run"]);
    assert_eq!(folder.run(&sweep).code, Some(0));
    folder.run(&["sweep", "--resume", "run"]).says(
        2,
        &["is complete", "plimsoll report run", "start a new run"],
    );
    let stop = || {
        let db = rusqlite::Connection::open(folder.path("run")).unwrap();
        let set = "UPDATE run SET ended = 'interrupted'";
        db.execute(set, []).unwrap();
    };
    stop();
    let change = |key: &str, value: &str| {
        let db = rusqlite::Connection::open(folder.path("run")).unwrap();
        let set = format!(
            "UPDATE run SET provenance_json = json_set(provenance_json, '$.{key}', '{value}')"
        );
        db.execute(&set, []).unwrap();
    };
    change("clock_source", "sundial");
    folder
        .run(&["sweep", "--resume", "run"])
        .says(0, &["note:", "against sundial"]);
    stop();
    change("governor", "whim");
    folder.run(&["sweep", "--resume", "run"]).says(
        2,
        &["frequency governor", "against whim", "start a new run"],
    );
}

#[test]
fn a_record_of_another_kind_is_a_mistake_whatever_was_asked_of_it() {
    let folder = Folder::new();
    let table = format!(
        "{}/tests/data/graviton3-compile.csv",
        env!("CARGO_MANIFEST_DIR")
    );
    for name in ["a", "b"] {
        let args = ["import", &table, "-o", name];
        assert_eq!(folder.run(&args).code, Some(0));
    }
    for args in [
        &["plan", "a", "--peak", "5"][..],
        &["compare", "a", "b"],
        &["export", "a", "--hdr", "out"],
        &["report", "a", "--goal", "p99<10ms"],
        &["sweep", "--resume", "a"],
    ] {
        let ended = folder.run(args);
        ended.says(2, &["a"]);
        assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{ended:#?}");
    }
}
