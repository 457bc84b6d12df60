//! Text from outside: names of files and processes, answers of servers, tables and records
//! of others. Whatever it holds, it neither drives the terminal nor passes for our words.

use crate::common::{Ended, Folder};
use plimsoll_load::known::{Behaviour, KnownServer};
use plimsoll_model::is_unsafe;
use std::process::Command;

/// Clears the screen in two ways, turns the direction of writing, hides, and begins a line.
const HOSTILE: &str = "a\u{1b}[2J\u{9b}2J\u{202e}\u{200b}\u{7f}\nplimsoll: forged";

#[track_caller]
fn is_safe(text: &str) {
    let lines = text.replace("\r\n", "\n").replace('\n', " ");
    assert!(!lines.contains(is_unsafe), "{text:?}");
    let forged = |line: &str| line.starts_with("plimsoll: forged");
    assert!(!text.lines().any(forged), "{text:?}");
}

/// Asserts that both are safe, and have what is hostile spelt out.
#[track_caller]
fn spells_it_out(ended: &Ended) {
    is_safe(&ended.stdout);
    is_safe(&ended.stderr);
    let both = ended.stdout.clone() + &ended.stderr;
    let escapes = ["\\u{1b}", "\\u001b"];
    assert!(
        escapes.iter().any(|escape| both.contains(escape)),
        "{ended:?}"
    );
}

#[test]
fn a_record_is_shown_safely_in_every_form() {
    let folder = Folder::new();
    folder.write(
        "t.csv",
        "rate_rps,cpu_pct,latency_us\n1000,12,800\n4000,41,950\n",
    );
    for name in ["run", "other"] {
        let import = format!("import t.csv -o {name}.plimsoll --name box --note note");
        folder.run(import).says(0, &[]);
        let in_sql = "'a'||char(27)||'[2J'||char(155)||'2J'||char(8238)||char(8203)||char(127)\
             ||char(10)||'plimsoll: forged'";
        let sql = format!(
            "UPDATE run SET plan_json = json_set(plan_json, '$.workload.name', {in_sql}), \
             provenance_json = json_set(provenance_json, '$.hostname', {in_sql}), \
             ended = 'failed', failure = {in_sql}"
        );
        folder.change(&format!("{name}.plimsoll"), &sql);
    }
    for format in ["text", "json", "html"] {
        let ended = folder.run(format!("report run.plimsoll --format {format}"));
        spells_it_out(ended.says(0, &[]));
        assert!(ended.stdout.contains("forged"), "{format}: {ended:?}");
    }
    for other in [
        "report run.plimsoll --format csv",
        "compare run.plimsoll other.plimsoll",
        "compare run.plimsoll other.plimsoll --format csv",
        "plan run.plimsoll --peak 5000",
        "sweep --resume run.plimsoll",
    ] {
        let ended = folder.run(other);
        is_safe(&ended.stdout);
        is_safe(&ended.stderr);
    }
}

#[test]
fn a_table_and_the_names_of_files_are_quoted_safely() {
    let folder = Folder::new();
    folder.write("t.csv", format!("{HOSTILE},cpu_pct\n1,2\n"));
    let ended = folder.run("import t.csv -o run.plimsoll");
    is_safe(ended.says(2, &[]).stderr.as_str());
    for args in [
        vec!["report", HOSTILE],
        vec!["replay", HOSTILE],
        vec!["export", HOSTILE, "--hdr", "logs"],
        vec!["import", HOSTILE, "-o", "a.plimsoll"],
        // A shell's `*` may have found it.
        vec!["doctor", HOSTILE],
        vec!["sweep", "--levels", HOSTILE],
        vec!["sweep", "--quick", "-o", HOSTILE, "--resume", HOSTILE],
        vec!["side", "--", HOSTILE],
    ] {
        let ended = folder.run(&args);
        assert_ne!(ended.code, Some(0), "{ended:?}");
        is_safe(&ended.stderr);
    }
}

#[test]
fn what_a_server_and_a_process_are_called_is_quoted_safely() {
    let folder = Folder::new();
    let elsewhere = "http://h/\u{9b}2J\u{202e}".to_owned();
    let server = KnownServer::start(Behaviour::Redirect(elsewhere)).unwrap();
    let ended = folder.run(format!("sweep --quick http://{}/", server.addr()));
    is_safe(
        &ended
            .says(1, &["redirects to", "\\u{9b}2J\\u{202e}"])
            .stderr,
    );
    // A process has the first 15 bytes of its program's name.
    let name = "\u{1b}[2J\nplimsoll:";
    std::fs::copy("/bin/sleep", folder.path(name)).unwrap();
    let mut process = Command::new(folder.path(name)).arg("100").spawn().unwrap();
    let server = KnownServer::start(Behaviour::Status(200)).unwrap();
    let pid = process.id();
    let run = format!(
        "yield --job /none --service-pid {pid} http://{}/",
        server.addr()
    );
    let ended = folder.run(run);
    process.kill().unwrap();
    process.wait().unwrap();
    is_safe(&ended.stderr);
}
