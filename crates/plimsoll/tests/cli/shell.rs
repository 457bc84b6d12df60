//! Habits of the shell: what `plimsoll` alone says, completions, the manual,
//! pipes that close.

use crate::common::{Folder, has};
use std::process::Command;

#[test]
fn a_bare_command_prints_first_steps_and_no_more() {
    let ended = Folder::new().run("");
    ended.says(2, &["plimsoll sweep --quick", "plimsoll --help"]);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.lines().count() <= 6, "{}", ended.stderr);
    assert!(ended.stderr.lines().all(|line| line.len() <= 80));
}

#[test]
fn requested_help_goes_to_standard_output() {
    for args in ["--help", "sweep -h", "help plan", "help --help"] {
        let ended = Folder::new().run(args);
        has(&ended.says(0, &[]).stdout, &["Usage: plimsoll"]);
        assert_eq!(ended.stderr, "", "{args}");
    }
}

#[test]
fn completions_are_made_for_every_shell_and_bash_can_read_its_own() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish"] {
        let ended = folder.run(["completions", shell]);
        let script = &ended.says(0, &[]).stdout;
        has(script, &["sweep", "goal", "compare"]);
        folder.write(shell, script);
    }
    let bash = Command::new("bash")
        .arg("-n")
        .arg(folder.path("bash"))
        .status();
    assert!(bash.unwrap().success());
}

#[test]
fn the_manual_has_exit_codes_and_a_page_for_every_command() {
    let folder = Folder::new();
    let page = folder.run("man");
    let words = [".TH plimsoll 1", "EXIT STATUS", "130", "NO_COLOR", "sweep"];
    has(&page.says(0, &[]).stdout, &words);
    let words = [".TH plimsoll-sweep 1", "max\\-slip", "Examples:"];
    has(&folder.run("man sweep").stdout, &words);
    let all = folder.run("man --dir man1");
    let pages: Vec<&str> = all.says(0, &[]).stdout.lines().collect();
    assert!(pages.iter().all(|page| folder.path(page).exists()));
    assert!(pages.contains(&"man1/plimsoll-report.1"), "{pages:?}");
}

#[test]
fn pages_of_the_manual_replace_links_that_others_made() {
    let folder = Folder::new();
    folder.write("victim", "precious");
    std::fs::create_dir(folder.path("man1")).unwrap();
    for name in ["plimsoll.1", "plimsoll-sweep.1"] {
        std::os::unix::fs::symlink("../victim", folder.path("man1").join(name)).unwrap();
    }
    folder.run("man --dir man1").says(0, &[]);
    assert_eq!(folder.read("victim"), "precious");
    has(
        &folder.read("man1/plimsoll-sweep.1"),
        &[".TH plimsoll-sweep 1"],
    );
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let folder = Folder::new();
    for args in ["man sweep", "completions zsh", "sweep --help", "doctor"] {
        let mut child = folder.spawn(args);
        // Closed before anything can have been read.
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), &*stderr), (Some(0), ""), "{args}");
    }
}
