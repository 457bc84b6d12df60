//! `plimsoll side --mechanism auto` after `plimsoll yield`, with the real binary:
//! what was found best, what was found elsewhere, and a file that is broken.

use crate::common::{Ended, Folder};
use plimsoll_host::Root;
use serde_json::{Value, json};
use std::fs;

const FOUND: &str = "which `plimsoll yield` found best here on 2026-11-22 (39 % gained, p99 +3 %)";

/// What a run on this machine would have kept.
fn best(arm: &str) -> Value {
    let here = plimsoll_host::provenance(&Root::machine(), "0");
    json!({
        "version": 1,
        "arm": arm,
        "headroom_pct": null,
        "found_unix_ms": 1_795_305_600_000_u64,
        "kernel": here.kernel.unwrap_or_default(),
        "cpu_model": here.cpu_model.unwrap_or_default(),
        "record": "/runs/run.plimsoll",
        "budget": "p99+5%",
        "gained_share": 0.386,
        "change_pct": 2.9,
    })
}

/// A sideload by a user with this file of `plimsoll yield`. The first decision comes
/// late: a machine that is busy with other tests may have nothing left for it.
fn side(kept: Option<&str>, more: &[&str]) -> Ended {
    let folder = Folder::new();
    if let Some(kept) = kept {
        fs::create_dir_all(folder.path("state/plimsoll")).unwrap();
        folder.write("state/plimsoll/best.json", kept);
    }
    folder.run([&["side", "--period", "10s"], more, &["--", "true"]].concat())
}

fn lines_with(ended: &Ended, part: &str) -> usize {
    ended.stderr.lines().filter(|l| l.contains(part)).count()
}

/// A machine that does not say what it is can have found nothing best.
fn says_what_it_is() -> bool {
    let here = plimsoll_host::provenance(&Root::machine(), "0");
    here.kernel.is_some() && here.cpu_model.is_some()
}

#[test]
fn the_best_arm_found_here_is_used_and_named_in_the_first_line() {
    if !says_what_it_is() {
        eprintln!("skipped: this machine does not tell its kernel and CPU");
        return;
    }
    for (arm, hold) in [("sched-idle", "idle"), ("quota-10ms", "quota")] {
        let ended = side(Some(&best(arm).to_string()), &[]);
        ended.says(0, &[FOUND]);
        if lines_with(&ended, "is unavailable now") == 0 {
            ended.says(0, &[&format!("as a sideload by {hold}, {FOUND}")]);
        }
    }
}

#[test]
fn an_arm_of_another_kernel_or_of_no_mechanism_is_not_used() {
    let mut elsewhere = best("sched-idle");
    elsewhere["kernel"] = "1.0".into();
    side(Some(&elsewhere.to_string()), &[]).says(
        0,
        &[&format!(
            "; sched-idle, {FOUND}, was measured under another kernel"
        )],
    );
    if says_what_it_is() {
        side(Some(&best("nice").to_string()), &[])
            .says(0, &["is not among what plimsoll side holds by"]);
    }
}

#[test]
fn without_a_file_or_with_a_mechanism_nothing_is_said_about_yield() {
    let ended = side(None, &[]);
    ended.says(0, &["as a sideload by"]);
    assert_eq!(lines_with(&ended, "yield"), 0, "{ended:#?}");
    let asked = side(Some("broken"), &["--mechanism", "idle"]);
    assert_eq!(asked.code, Some(0), "{asked:#?}");
    assert_eq!(lines_with(&asked, "yield"), 0, "{asked:#?}");
}

#[test]
fn a_broken_file_is_one_warning_and_no_failure() {
    for broken in ["", "broken", "{\"version\": 2}", "\u{1b}[2J"] {
        let ended = side(Some(broken), &[]);
        ended.says(0, &["best.json", "remove that file, or measure again"]);
        assert_eq!(lines_with(&ended, "best.json"), 1, "{ended:#?}");
        assert!(!ended.stderr.contains('\u{1b}'), "{ended:#?}");
    }
}
