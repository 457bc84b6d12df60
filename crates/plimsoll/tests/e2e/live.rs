//! A run that somebody watches, at a real pseudo-terminal.

use crate::common::{Folder, has, send, trials_in, unignoring, unwrapped};
use crate::pty::Pty;
use rustix::process::Signal;
use std::process::{Child, Stdio};

/// A sweep of the hash service that takes long enough to be watched.
const SWEEP: &str = "sweep --quick --rated 100 --levels 20,40 --trials 50 --duration 200ms \
                     --seed 1 --cpus 0 --max-slip 10s --max-steal 100% --max-other 100% \
                     -o run.plimsoll";

fn watched(folder: &Folder, pty: &Pty, stdout: Stdio) -> Child {
    let mut command = folder.command(SWEEP);
    command
        .env("TERM", "xterm-256color")
        .env("LC_ALL", "C.UTF-8")
        .stdin(pty.stdio())
        .stdout(stdout)
        .stderr(pty.stdio());
    command.spawn().unwrap()
}

#[test]
fn a_watched_run_is_paused_goes_on_and_is_ended_by_keys() {
    let folder = Folder::new();
    let record = folder.path("run.plimsoll");
    let mut pty = Pty::open();
    let child = watched(&folder, &pty, Stdio::piped());
    pty.wait_for("Plan, about");
    pty.wait_for("CPU use (%) by offered/s");
    pty.press("?");
    pty.wait_for("Keys and signs");
    pty.press("?");
    pty.wait_until("without help", |screen| !screen.contains("Keys and signs"));

    pty.press("p");
    // Which second is seen depends on what else the machine does.
    pty.wait_for("paused for ");
    let held_at = trials_in(&record);
    let seconds = |n| format!("paused for {n} s");
    pty.wait_until("paused for longer", |screen| {
        screen.contains("paused for ") && !(0..2).any(|n| screen.contains(&seconds(n)))
    });
    assert_eq!(trials_in(&record), held_at);
    assert!(pty.shown().contains("paused,"), "{}", pty.shown());
    pty.press("p");
    pty.wait_until("going on", |_| trials_in(&record) > held_at);

    pty.press("q");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    pty.is_given_back();
    let findings = String::from_utf8(output.stdout).unwrap();
    assert!(findings.contains("Record: run.plimsoll"), "{findings}");
    assert!(
        !findings.contains('\u{1b}'),
        "it is no terminal: {findings}"
    );
    let resume = "plimsoll sweep --resume run.plimsoll";
    has(&unwrapped(&findings), &[resume]);

    let db = rusqlite::Connection::open(&record).unwrap();
    let one = |sql: &str| {
        db.query_row(sql, [], |row| row.get::<_, String>(0))
            .unwrap()
    };
    assert_eq!(one("SELECT ended FROM run"), "interrupted");
    let unseen = "SELECT count(*) || '' FROM trial
                  WHERE json_extract(machine_json, '$.view_cpu_ns') IS NULL";
    assert_eq!(one(unseen), "0", "what drawing cost is in the record");
}

#[test]
fn a_watched_run_that_is_terminated_gives_the_terminal_back_before_it_concludes() {
    let folder = Folder::new();
    let pty = Pty::open();
    let mut child = watched(&folder, &pty, pty.stdio());
    pty.wait_for("last");
    send(&child, &[Signal::TERM]);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    pty.wait_until("concluded", |_| pty.written().contains("--resume"));
    pty.is_given_back();
    let written = pty.written();
    let (_, after) = written.rsplit_once("\u{1b}[?1049l").unwrap();
    assert!(after.contains("Record:"), "{after}");
}

#[test]
fn a_second_ctrl_c_ends_a_watched_run_at_once_and_gives_the_terminal_back() {
    let folder = Folder::new();
    let mut pty = Pty::open();
    let mut child = watched(&folder, &pty, Stdio::null());
    pty.wait_for("last");
    pty.press("\u{3}\u{3}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    // What was written last may not have been read yet.
    pty.wait_until("given back", |_| pty.written().contains("\u{1b}[?1049l"));
    pty.is_given_back();
}

#[test]
fn plain_progress_leaves_the_terminal_as_it_is() {
    let folder = Folder::new();
    let pty = Pty::open();
    let mut command = folder.command(SWEEP);
    command.arg("--plain");
    let mut command = unignoring("INT", &command);
    command.stdin(pty.stdio()).stderr(pty.stdio());
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    pty.wait_until("a line", |_| pty.written().contains("left] load"));
    send(&child, &[Signal::INT]);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!pty.written().contains("\u{1b}[?1049h"));
}
