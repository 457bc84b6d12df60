//! Who may depend on whom: the manifests and sources against ARCHITECTURE.md.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The crates from the top, as ARCHITECTURE.md lists them, and the crates that
/// each may depend on.
const LAYERS: [(&str, &str); 17] = [
    (
        "plimsoll",
        "experiments report engine study side lab law record load control host model",
    ),
    (
        "experiments",
        "report engine study side law record load control schedulers graph host model",
    ),
    ("report", "model"),
    ("engine", "study load control host model"),
    ("study", "model"),
    ("side", "law load control host model"),
    ("lab", "law record load pool host model"),
    ("law", "model"),
    ("record", "model"),
    ("load", "control pool model"),
    ("control", "host model"),
    ("schedulers", "plugin pool graph model"),
    ("plugin", "graph"),
    ("pool", "graph model"),
    ("graph", ""),
    ("host", "model"),
    ("model", ""),
];

/// Crates that only tests, benches and those who work on Plimsoll use.
const FOR_TESTS: [(&str, &str); 4] = [
    ("simulate", "model"),
    ("fuzz", "experiments side law record load host model"),
    ("appliance", ""),
    ("xtask", "report model"),
];

/// Folders of `experiments`, and which other of them each may name.
const EXPERIMENTS: [(&str, &[&str]); 11] = [
    ("sweep", &[]),
    ("copies", &[]),
    ("fixed", &[]),
    ("yields", &[]),
    ("import", &[]),
    ("selftest", &["sweep"]),
    ("lateness", &[]),
    ("rig", &[]),
    ("wake", &[]),
    ("burst", &[]),
    ("versus", &[]),
];

/// Folders of `report` that are of one experiment or command each. None names
/// another.
const REPORTS: [&str; 8] = [
    "compare", "copies", "doctor", "lab", "selftest", "sizing", "sweep", "yields",
];

/// Folders of `report` that all of these use.
const SHARED_BY_REPORTS: [&str; 7] = [
    "doubts", "capacity", "chart", "document", "html", "number", "tests",
];

/// Files of these names are pure in every crate.
const PURE_FILES: [&str; 9] = [
    "plan.rs",
    "search.rs",
    "threads.rs",
    "progress.rs",
    "study.rs",
    "findings.rs",
    "document.rs",
    "proof.rs",
    "timeline.rs",
];

/// Crates whose every file is pure.
const PURE_CRATES: [&str; 4] = ["study", "report", "law", "model"];

/// I/O, clocks, and randomness that no seed decides. A list of imports could
/// hide them.
const IMPURE: [&str; 11] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "Instant::now",
    "SystemTime::now",
    "RandomState",
    "thread_rng",
    "getrandom",
    "from_os_rng",
    "use std::{",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .into()
}

fn manifest(name: &str) -> String {
    std::fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap()
}

/// Our own crates that each crate depends on outside its tests.
fn manifests() -> BTreeMap<String, BTreeSet<String>> {
    let folders = std::fs::read_dir(crates()).unwrap();
    let names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .map(|name| (name.clone(), own_dependencies(&manifest(&name))))
        .collect()
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

/// The sources under a folder that are no tests.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && name != "tests" {
            found.extend(sources(&path));
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

/// Modules that `text` names by a path from the root of the crate or from the
/// module above, or by `use` of a list of them.
fn named_modules(text: &str) -> BTreeSet<&str> {
    let is_no_name = |c: char| !c.is_alphanumeric() && c != '_';
    let mut found = BTreeSet::new();
    let paths = ["crate::", "super::"].map(|path| text.match_indices(path));
    for (at, path) in paths.into_iter().flatten() {
        let rest = &text[at + path.len()..];
        match rest.strip_prefix('{') {
            Some(list) => {
                let list = &list[..list.find(';').unwrap_or(list.len())];
                found.extend(list.split(is_no_name));
            }
            None => {
                found.insert(&rest[..rest.find(is_no_name).unwrap_or(rest.len())]);
            }
        }
    }
    found
}

/// What of [`IMPURE`] the code has before its own tests.
fn impure(text: &str) -> Vec<&'static str> {
    let code = text.split("#[cfg(test)]\nmod").next().unwrap();
    IMPURE.into_iter().filter(|n| code.contains(n)).collect()
}

#[test]
fn every_crate_is_in_the_code_map_in_this_order() {
    let crates: BTreeSet<String> = manifests().into_keys().collect();
    let listed: Vec<&str> = LAYERS.iter().chain(&FOR_TESTS).map(|l| l.0).collect();
    assert_eq!(crates, listed.iter().map(|s| (*s).to_owned()).collect());
    let page = std::fs::read_to_string(self::crates().join("../ARCHITECTURE.md")).unwrap();
    let (_, map) = page.split_once("\n## Code map\n").unwrap();
    let (map, _) = map.split_once("\n### ").unwrap();
    let rows = map.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows: Vec<&str> = rows.map(|row| row.split('`').next().unwrap()).collect();
    assert_eq!(rows, listed);
}

#[test]
fn dependencies_point_down_only() {
    let place = |name: &str| LAYERS.iter().position(|l| l.0 == name).unwrap();
    for (name, allowed) in LAYERS {
        for other in allowed.split_whitespace() {
            assert!(place(other) > place(name), "{name} is below {other}");
        }
    }
    let found = manifests();
    for (name, allowed) in LAYERS.iter().chain(&FOR_TESTS) {
        let allowed: Vec<&str> = allowed.split_whitespace().collect();
        let more = found[*name]
            .iter()
            .filter(|n| !allowed.contains(&n.as_str()));
        let more: Vec<&String> = more.collect();
        assert!(more.is_empty(), "{name} must not depend on {more:?}");
    }
}

#[test]
fn unsafe_code_is_in_the_scheduler_abi_alone() {
    for (name, _) in LAYERS.iter().chain(&FOR_TESTS) {
        let forbids = manifest(name).contains("\n[lints]\nworkspace = true\n");
        assert_eq!(forbids, *name != "plugin", "{name}: lints");
        for (path, text) in sources(&crates().join(name).join("src")) {
            let allows = text.contains("allow(unsafe_code") || text.contains("expect(unsafe_code");
            let is_abi = *name == "plugin" && path.ends_with("lib.rs");
            assert!(!allows || is_abi, "{}", path.display());
        }
    }
}

#[test]
fn only_one_crate_changes_the_machine() {
    for (name, _) in LAYERS.iter().filter(|l| l.0 != "control") {
        assert!(!manifest(name).contains("thread-priority"), "{name}");
    }
}

#[test]
fn the_oldest_rust_is_the_same_wherever_it_stands() {
    let root = crates().join("..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let manifest = read("Cargo.toml");
    let (_, oldest) = manifest.split_once("rust-version = \"").unwrap();
    let (oldest, _) = oldest.split_once('"').unwrap();
    for page in ["README.md", "SECURITY.md"] {
        let text = read(page);
        let stated: Vec<&str> = text.split("Rust 1.").skip(1).collect();
        assert!(!stated.is_empty(), "{page}");
        for rest in stated {
            let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
            assert_eq!(format!("1.{minor}"), oldest, "{page}");
        }
    }
}

#[test]
fn a_thread_that_cannot_be_started_is_an_error() {
    for (name, _) in LAYERS.iter().chain(&FOR_TESTS) {
        for (path, text) in sources(&crates().join(name).join("src")) {
            let code = text.split("#[cfg(test)]\nmod").next().unwrap();
            for panics in ["thread::spawn(", "scope.spawn("] {
                let at = path.display();
                assert!(!code.contains(panics), "{at}: use thread::Builder");
            }
        }
    }
}

#[test]
fn only_the_top_knows_flags_and_only_the_command_knows_screens() {
    for (name, _) in LAYERS {
        let text = manifest(name);
        let may_parse = ["plimsoll", "experiments"].contains(&name);
        assert!(may_parse || !text.contains("clap"), "{name}: clap");
        for library in ["indicatif", "ratatui", "signal-hook"] {
            let may = name == "plimsoll" || !text.contains(library);
            assert!(may, "{name} must not use {library}");
        }
    }
}

/// Asserts that each folder under `root` is in the list or shared, and that none
/// in the list names another but those that it may.
#[track_caller]
fn are_apart(root: &Path, list: &[(&str, &[&str])], shared: &[&str]) {
    let folders = std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path());
    let folders = folders.filter(|path| path.is_dir() && !shared.iter().any(|s| path.ends_with(s)));
    let folders: BTreeSet<PathBuf> = folders.collect();
    let listed = list.iter().map(|e| root.join(e.0)).collect();
    assert_eq!(folders, listed, "every folder is in a list");
    for (name, may) in list {
        let others = list.iter().map(|e| e.0);
        let others: Vec<&str> = others.filter(|o| o != name && !may.contains(o)).collect();
        for (path, text) in sources(&root.join(name)) {
            let named = named_modules(&text);
            let found: Vec<&&str> = others.iter().filter(|o| named.contains(**o)).collect();
            assert!(found.is_empty(), "{}: {found:?}", path.display());
        }
    }
}

#[test]
fn no_experiment_knows_another() {
    let root = crates().join("experiments/src");
    are_apart(&root, &EXPERIMENTS, &["args", "given_again"]);
}

#[test]
fn no_report_of_an_experiment_knows_another() {
    let list = REPORTS.map(|name| (name, &[][..]));
    are_apart(&crates().join("report/src"), &list, &SHARED_BY_REPORTS);
}

#[test]
fn planners_and_findings_are_pure() {
    let mut names = BTreeSet::new();
    for (name, _) in LAYERS {
        let whole = PURE_CRATES.contains(&name);
        for (path, text) in sources(&crates().join(name).join("src")) {
            let file = path.file_name().unwrap().to_str().unwrap();
            if whole || PURE_FILES.contains(&file) {
                assert_eq!(impure(&text), [""; 0], "{}", path.display());
                names.insert(file.to_owned());
            }
        }
    }
    assert!(names.contains("plan.rs") && names.contains("search.rs"));
}

#[test]
fn a_breach_would_be_found() {
    let named = |text| named_modules(text).into_iter().collect::<Vec<&str>>();
    assert_eq!(named("use crate::sweep::Effort;"), ["sweep"]);
    assert!(named("use crate::{args, copies::plan};").contains(&"copies"));
    assert_eq!(named("let x = crate::yields::arms();"), ["yields"]);
    assert_eq!(named("use super::super::sweep;"), ["super", "sweep"]);
    assert_eq!(impure("let now = Instant::now();"), ["Instant::now"]);
    assert_eq!(impure("use std::{fs, io};"), ["use std::{"]);
    let tested = "fn f() {}\n#[cfg(test)]\nmod tests { use std::fs; }";
    assert_eq!(impure(tested), [""; 0]);
}
