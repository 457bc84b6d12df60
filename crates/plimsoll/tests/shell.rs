//! Habits of the shell: what `plimsoll` alone says, completions, the manual,
//! pipes that close.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod common;

use common::Folder;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

#[test]
fn a_bare_command_says_what_to_try_first_and_no_more() {
    let ended = Folder::new().run(&[]);
    ended.says(2, &["plimsoll sweep --quick", "plimsoll --help"]);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.lines().count() <= 6, "{}", ended.stderr);
    assert!(ended.stderr.lines().all(|line| line.len() <= 80));
}

#[test]
fn help_that_was_asked_for_is_a_result() {
    for args in [&["--help"][..], &["sweep", "-h"], &["help", "plan"]] {
        let ended = Folder::new().run(args);
        assert_eq!(ended.code, Some(0), "{args:?}");
        assert!(ended.stdout.contains("Usage: plimsoll"), "{args:?}");
        assert_eq!(ended.stderr, "", "{args:?}");
    }
}

#[test]
fn completions_are_made_for_every_shell_and_bash_can_read_its_own() {
    for shell in ["bash", "zsh", "fish", "elvish"] {
        let ended = Folder::new().run(&["completions", shell]);
        assert_eq!(ended.code, Some(0), "{shell}");
        for word in ["sweep", "goal", "compare"] {
            assert!(ended.stdout.contains(word), "{shell}: {word}");
        }
        if shell == "bash" {
            let mut bash = Command::new("bash")
                .arg("-n")
                .stdin(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = bash.stdin.take().unwrap();
            stdin.write_all(ended.stdout.as_bytes()).unwrap();
            drop(stdin);
            assert!(bash.wait().unwrap().success());
        }
    }
    Folder::new()
        .run(&["completions", "tcsh"])
        .says(2, &["tcsh"]);
}

#[test]
fn the_manual_tells_exit_codes_and_every_command_has_a_page() {
    let folder = Folder::new();
    let page = folder.run(&["man"]);
    assert_eq!(page.code, Some(0));
    for words in [".TH plimsoll 1", "EXIT STATUS", "130", "NO_COLOR", "sweep"] {
        assert!(page.stdout.contains(words), "{words}");
    }
    let sweep = folder.run(&["man", "sweep"]);
    for words in [".TH plimsoll-sweep 1", "max\\-slip", "Examples:"] {
        assert!(sweep.stdout.contains(words), "{words}: {}", sweep.stdout);
    }
    let all = folder.run(&["man", "--dir", "man1"]);
    assert_eq!(all.code, Some(0), "{all:#?}");
    for path in all.stdout.lines() {
        assert!(folder.path(path).exists(), "{path}");
    }
    assert!(
        all.stdout
            .lines()
            .any(|path| path == "man1/plimsoll-report.1")
    );
    folder
        .run(&["man", "sweeep"])
        .says(2, &["sweeep", "--help"]);
}

#[test]
fn who_stops_reading_ends_it_quietly() {
    let folder = Folder::new();
    for args in [
        &["man", "sweep"][..],
        &["completions", "zsh"],
        &["sweep", "--help"],
        &["doctor"],
    ] {
        let mut child = folder.spawn(args);
        // Closed before anything can have been read.
        drop(child.stdout.take());
        let mut told = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut told)
            .unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}: {told}");
        assert_eq!(told, "", "{args:?}");
    }
}
