//! The experiment of docs/adding-an-experiment.md: what it took to add it, and
//! that everything of an experiment works for it.

use crate::common::{Folder, LOUD, has, keeps_to_schema, trials_in, wait};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The files outside its folder that know it: a line each.
const REGISTERED: [(&str, &str); 2] = [
    (
        "experiments/src/lib.rs",
        "$of::<$crate::lateness::WakeUps>(),",
    ),
    ("experiments/src/lib.rs", "pub mod lateness;"),
];

/// Lines that its folder may have.
const LINES: usize = 250;

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file of source below a folder, and what is in it.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push((path.clone(), fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

/// Lines that name the experiment.
fn naming(text: &str) -> Vec<&str> {
    let names = [
        "experiments::lateness",
        "pub mod lateness",
        "crate::lateness",
    ];
    let names = |line: &&str| names.iter().any(|name| line.contains(name));
    text.lines().map(str::trim).filter(names).collect()
}

#[test]
fn an_experiment_is_one_folder_and_two_lines() {
    let own = crates().join("experiments/src/lateness");
    let lines: usize = sources(&own).iter().map(|(_, t)| t.lines().count()).sum();
    assert!(lines <= LINES, "{lines} lines");
    let mut known = Vec::new();
    for krate in fs::read_dir(crates()).unwrap() {
        let folder = krate.unwrap().path().join("src");
        if !folder.is_dir() {
            continue;
        }
        for (path, text) in sources(&folder) {
            let path = path.strip_prefix(crates()).unwrap().to_owned();
            let is_test = path.components().any(|part| part.as_os_str() == "tests");
            if is_test || crates().join(&path).starts_with(&own) {
                continue;
            }
            for line in naming(&text) {
                known.push((path.clone(), line.to_owned()));
            }
        }
    }
    known.sort();
    let registered = REGISTERED.map(|(path, line)| (PathBuf::from(path), line.to_owned()));
    assert_eq!(known, registered);
}

/// A run of two lengths, each visited so often.
fn run<'a>(passes: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let plan = ["lateness", "--sleeps", "50ms,100us", "--passes", passes];
    let seed = ["-z", "300ms", "--seed", "1", "-o", "run.plimsoll"];
    [&plan[..], &seed, &LOUD, more].concat()
}

#[test]
fn every_form_of_its_findings_is_there() {
    let folder = Folder::new();
    let ended = folder.run(run("3", &["--format", "json"]));
    let found = ended.json();
    let schema = include_str!("../../../../docs/schema/lateness.schema.json");
    keeps_to_schema(&found, schema);
    let rows = found["findings"]["sleeps"].as_array().unwrap();
    let lengths: Vec<&Value> = rows.iter().map(|row| &row["sleep_us"]).collect();
    assert_eq!(lengths, [100.0, 50_000.0]);
    assert!(rows.iter().all(|row| row["trials"] == 3));
    let p99 = &rows[0]["p99_us"];
    let [low, value, high] = ["low", "value", "high"].map(|end| p99[end].as_f64().unwrap());
    assert!(low <= value && value <= high, "{p99}");
    // At most 7 wake-ups in a trial show no p99.
    assert_eq!(rows[1]["p99_us"], Value::Null);

    let text = folder.run(["report", "run.plimsoll"]).stdout;
    has(
        &text,
        &[
            "The highest p99",
            "sleep",
            "trials",
            "All 6 trials are valid",
        ],
    );
    let csv = folder.run(["report", "run.plimsoll", "--format", "csv"]);
    let head = "sleep_us,p50_us,p50_us_low,p50_us_high,p99_us,p99_us_low,p99_us_high,trials";
    let lines: Vec<&str> = csv.stdout.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, head));
    let page = folder.read("run.html");
    has(&page, &["<svg", "Lateness by length of sleep"]);
    let help = folder.run(["lateness", "--help"]).stdout;
    assert!(help.starts_with("Let a thread sleep"), "{help}");
    has(&help, &["--sleeps", "--resume"]);
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let folder = Folder::new();
    let mut killed = folder.spawn(run("40", &[]));
    let record = folder.path("run.plimsoll");
    // It has 80 trials to make, and is killed when some of them are recorded.
    wait("two trials", || trials_in(&record) >= 2);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(trials_in(&record) < 80, "it ended by itself");
    folder.run("report run.plimsoll").says(0, &[]);
    let resumed = folder.run(["lateness", "--resume", "run.plimsoll", "--format", "json"]);
    let record = &resumed.json()["record"];
    assert_eq!(
        (&record["ended"], &record["trials"]),
        (&"complete".into(), &80.into())
    );
}

/// The pieces of code of a page, and the files that they are from:
/// `<!-- FILE -->` before a block.
fn quotations(page: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for part in page.split("<!-- code: ").skip(1) {
        let (file, rest) = part.split_once(" -->\n\n```rust\n").unwrap();
        found.push((file, rest.split_once("```").unwrap().0));
    }
    found
}

#[test]
fn the_page_that_explains_it_quotes_its_code() {
    let page = include_str!("../../../../docs/adding-an-experiment.md");
    let quotations = quotations(page);
    assert!(quotations.len() >= 8, "{} quotations", quotations.len());
    for (file, code) in quotations {
        let text = fs::read_to_string(crates().join("..").join(file)).unwrap();
        assert!(text.contains(code), "{file} does not have:\n{code}");
    }
}

/// The command line is recorded, and an argument need not be text.
#[test]
fn a_record_whose_name_is_no_utf8_is_made() {
    let folder = Folder::new();
    let name = OsStr::from_bytes(b"a\xff.plimsoll");
    let args = "lateness --sleeps 1ms --passes 1 -z 100ms --max-other 100% -o";
    let ended = folder.command(args).arg(name).output().unwrap();
    assert_ne!(ended.status.code(), Some(101), "{ended:?}");
    assert!(folder.0.path().join(name).exists());
}
