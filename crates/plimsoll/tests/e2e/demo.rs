//! The live lab at a real pseudo-terminal.

use crate::common::{Ended, Folder, send, wait};
use crate::pty::Pty;
use rustix::process::Signal;
use std::process::{Child, Stdio};

/// A lab that needs no calibration of the rating and little of the machine.
const LAB: &str = "demo --rated 100 --cpus 0 --page b";

/// A lab that ends with its test, also with one that fails.
struct Lab(Child);

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn lab(folder: &Folder, pty: &Pty) -> Lab {
    let mut command = folder.command(LAB);
    command
        .env("TERM", "xterm-256color")
        .env("LC_ALL", "C.UTF-8")
        .stdin(pty.stdio())
        .stdout(Stdio::null())
        .stderr(pty.stdio());
    Lab(command.spawn().unwrap())
}

/// Processes that run the job of a lab: their command lines name its program.
fn job_processes(lab: u32) -> usize {
    let program = format!("/proc/{lab}/exe");
    let entries = std::fs::read_dir("/proc").unwrap();
    let lines = entries.filter_map(|entry| {
        let path = entry.ok()?.path().join("cmdline");
        Some(String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned())
    });
    lines.filter(|line| line.contains(&program)).count()
}

#[test]
fn a_lab_takes_keys_runs_its_job_and_leaves_nothing_behind() {
    let folder = Folder::new();
    let mut pty = Pty::open();
    let mut child = lab(&folder, &pty);
    pty.wait_for("What does a batch job beside");
    pty.wait_for("Work done and CPU use");
    pty.press("j");
    pty.wait_for("burn: sideload");
    pty.wait_for("MiB/s");
    wait("the job runs", || job_processes(child.0.id()) > 0);
    pty.press("l");
    pty.wait_for("plimsoll: as a sideload");
    pty.press("l");
    pty.press("\u{1b}[C");
    pty.wait_for("65 %");
    pty.press("n");
    pty.wait_for("cost within");
    pty.press("s");
    pty.wait_for("scenario.json");
    pty.press("s");
    pty.wait_for("scenario-2.json");
    let saved = folder.read("scenario.json");
    assert!(saved.contains("\"load_pct\": 65"), "{saved}");

    let other = Pty::open();
    let mut second = folder.command(LAB);
    second.stdin(other.stdio()).stderr(other.stdio());
    assert_eq!(Ended::of(second).code, Some(2));
    other.wait_for("another lab runs here");

    pty.press("q");
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
    pty.wait_until("given back", |_| pty.written().contains("\u{1b}[?1049l"));
    pty.is_given_back();
    assert!(pty.written().contains("\u{1b}[?1000l"), "the mouse, too");
    assert_eq!(job_processes(child.0.id()), 0);
    assert_eq!(folder.journals(), 0);
}

#[test]
fn job_ends_with_a_lab_that_is_terminated_or_killed() {
    for (signal, code) in [(Signal::TERM, Some(0)), (Signal::KILL, None)] {
        let folder = Folder::new();
        let mut pty = Pty::open();
        let mut child = lab(&folder, &pty);
        pty.wait_for("Work done and CPU use");
        pty.press("J");
        pty.wait_for("MiB/s");
        wait("the job runs", || job_processes(child.0.id()) > 0);
        send(&child.0, &[signal]);
        assert_eq!(child.0.wait().unwrap().code(), code);
        wait("the job has ended", || job_processes(child.0.id()) == 0);
        if signal == Signal::TERM {
            pty.wait_until("given back", |_| pty.written().contains("\u{1b}[?1049l"));
            pty.is_given_back();
        }
    }
}

/// What a page asks, as its screen begins, and the keys of its jobs.
const PAGES: [(&str, &str); 7] = [
    ("Is CPU use work?", ""),
    ("What does a batch job beside", "J"),
    ("What does the same job cost", "j"),
    ("How much headroom is enough?", "j"),
    ("How much work does a job", "j"),
    ("Who pays when memory runs", ""),
    ("What does your own scenario", "j"),
];

#[test]
fn each_page_is_played_with_keys_at_three_sizes() {
    for (columns, rows) in [(80, 24), (120, 40), (200, 60)] {
        let folder = Folder::new();
        let mut pty = Pty::of_size(columns, rows);
        let mut child = lab(&folder, &pty);
        for (at, (question, jobs)) in PAGES.iter().enumerate() {
            pty.press(&(at + 1).to_string());
            pty.wait_for(question);
            for key in jobs.chars() {
                pty.press(&key.to_string());
                pty.wait_for("MiB/s");
                wait("the job runs", || job_processes(child.0.id()) > 0);
                pty.press(&key.to_string());
                wait("the job has ended", || job_processes(child.0.id()) == 0);
            }
            pty.press("m");
            pty.wait_for("Measuring");
            pty.press("\u{1b}");
            let is_measured =
                |screen: &str| screen.contains("asuring") || screen.contains("the measurement");
            pty.wait_until("stopped", |screen| !is_measured(screen));
            let shown = pty.shown();
            let last = shown.lines().last().unwrap();
            assert!(last.contains("quit"), "keys at the bottom: {shown}");
        }
        pty.press("q");
        assert_eq!(child.0.wait().unwrap().code(), Some(0));
        pty.is_given_back();
    }
}
