//! A terminal that is given back when the program panics: at a real
//! pseudo-terminal, in a process of its own.

use super::sample::under_way;
use crate::live::Live;
use crate::live::draw::draw;
use crate::stop::Stop;
use crate::terminal::Screen;
use plimsoll_engine::Observer;
use plimsoll_model::CpuTime;
use pty::Pty;
use std::process::{Command, Stdio};
use std::time::Duration;

#[allow(dead_code, reason = "nobody presses a key here")]
#[path = "../../../tests/e2e/pty.rs"]
mod pty;

/// Tells the process that it is the one that is to panic.
const PANICS: &str = "PLIMSOLL_TEST_PANICS";

/// Runs the test `name` again as a process at a terminal, which panics with
/// `words`, and looks at that terminal.
#[track_caller]
fn terminal_survives(name: &str, words: &str) {
    let pty = Pty::open();
    let name = format!("live::tests::terminal::{name}");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args([&name, "--exact", "--nocapture"])
        .env(PANICS, "1")
        .env("TERM", "xterm-256color")
        .stdin(pty.stdio())
        .stdout(Stdio::null())
        .stderr(pty.stdio());
    let status = child.spawn().unwrap().wait().unwrap();
    assert!(!status.success(), "{}", pty.written());
    pty.wait_until("told of the panic", |_| pty.written().contains(words));
    pty.is_given_back();
    let written = pty.written();
    // What was drawn is gone with the other screen; what went wrong stays.
    let (drawn, after) = written.split_once("\u{1b}[?1049l").unwrap();
    assert!(drawn.contains("plimsoll"), "{written:?}");
    assert!(!drawn.contains(words), "{written:?}");
    assert!(!after.contains("\u{1b}[?1049"), "{written:?}");
}

#[test]
fn a_panic_of_the_thread_that_measures_gives_the_terminal_back() {
    let words = "measuring went wrong";
    if std::env::var_os(PANICS).is_none() {
        let name = "a_panic_of_the_thread_that_measures_gives_the_terminal_back";
        return terminal_survives(name, words);
    }
    let (screen, stop) = (Screen::open().unwrap(), Stop::on_signals().unwrap());
    let live = Live::start(screen, under_way(), stop).unwrap();
    // It tells what it has used when it has drawn.
    while live.cpu_used() == Some(CpuTime(Duration::ZERO)) {
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{words}");
}

#[test]
fn a_panic_while_drawing_gives_the_terminal_back() {
    let words = "drawing went wrong";
    if std::env::var_os(PANICS).is_none() {
        let name = "a_panic_while_drawing_gives_the_terminal_back";
        return terminal_survives(name, words);
    }
    let mut screen = Screen::open().unwrap();
    screen.draw(|frame| draw(&under_way(), frame)).unwrap();
    screen.draw(|_| panic!("{words}")).unwrap();
}
