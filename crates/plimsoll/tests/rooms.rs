//! Who may know whom: the manifests held against the list in ARCHITECTURE.md.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The rooms from the top, as ARCHITECTURE.md lists them.
const ORDER: [&str; 12] = [
    "plimsoll",
    "report",
    "experiment",
    "study",
    "side",
    "law",
    "record",
    "load",
    "control",
    "pool",
    "host",
    "model",
];

/// Rooms that only tests, benches and those who work on Plimsoll enter.
const FOR_TESTS: [&str; 2] = ["simulate", "xtask"];

/// Rooms that must know `model` and no other.
const KNOW_ONLY_MODEL: [&str; 6] = ["report", "study", "law", "record", "host", "simulate"];

/// Our own crates that each crate depends on outside its tests.
fn manifests() -> BTreeMap<String, BTreeSet<String>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        all.insert(name, own_dependencies(&text));
    }
    all
}

fn own_dependencies(manifest: &str) -> BTreeSet<String> {
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]"
            && let Some(rest) = line.strip_prefix("plimsoll-")
        {
            let name = rest.split(['.', ' ', '=']).next().unwrap();
            found.insert(name.to_owned());
        }
    }
    found
}

#[test]
fn every_room_stands_on_the_map() {
    let rooms: BTreeSet<String> = manifests().into_keys().collect();
    let listed = ORDER.iter().chain(&FOR_TESTS);
    let listed: BTreeSet<String> = listed.map(|s| (*s).to_owned()).collect();
    assert_eq!(rooms, listed);
}

#[test]
fn arrows_point_down_only() {
    let place = |name: &str| ORDER.iter().position(|n| *n == name).unwrap();
    for (name, knows) in manifests() {
        if FOR_TESTS.contains(&name.as_str()) {
            continue;
        }
        for other in knows {
            assert!(
                place(&other) > place(&name),
                "{name} must not depend on {other}: arrows point down the list in ARCHITECTURE.md"
            );
        }
    }
}

#[test]
fn those_who_conclude_and_show_know_only_the_nouns() {
    for (name, knows) in manifests() {
        if KNOW_ONLY_MODEL.contains(&name.as_str()) {
            assert_eq!(knows, BTreeSet::from(["model".to_owned()]), "{name}");
        }
    }
}

#[test]
fn what_is_simulated_stays_in_tests() {
    for (name, knows) in manifests() {
        for room in FOR_TESTS {
            assert!(
                !knows.contains(room),
                "{name} must name {room} under [dev-dependencies] only"
            );
        }
    }
}

#[test]
fn only_one_room_changes_the_machine() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in ORDER.iter().filter(|n| **n != "control") {
        let text = std::fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        assert!(!text.contains("thread-priority"), "{name}");
    }
    let known = &manifests()["control"];
    let few = BTreeSet::from(["host".to_owned(), "model".to_owned()]);
    assert_eq!(*known, few);
}

#[test]
fn only_the_command_knows_flags_and_colours() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in ORDER.iter().filter(|n| **n != "plimsoll") {
        let text = std::fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        for library in ["clap", "indicatif", "ratatui"] {
            assert!(!text.contains(library), "{name} must not use {library}");
        }
    }
}
