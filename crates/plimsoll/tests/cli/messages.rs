//! What commands say about published tables: `printed.txt` has a line for each case,
//! and `refused.txt` one for bad input, which has exit status 2 and a message that names
//! the way out; nothing is run or written then.

use crate::common::{Ended, Folder, table, unwrapped};
use std::collections::BTreeMap;
use std::fs;

/// A folder with the published tables as records, and with other files.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write(
        "poll.csv",
        "rate_rps,cpu_pct,latency_us\n1000,99,800\n2000,99.2,850\n4000,99.5,900\n8000,99.8,9000\n",
    );
    for import in [
        "$graviton3-netty -o arm --name graviton3-netty --cpus 8",
        "$intel-smt-netty -o smt --name intel-smt-netty --cpus 8",
        "$intel-smt-netty -o four --name four --cpus 4",
        "$intel-smt-compile -o compile --name intel-smt-compile --cpus 8",
        "$graviton3-compile -o compile2 --name graviton3-compile --cpus 8",
        "poll.csv -o poll",
    ] {
        let import = with_files(&folder, &format!("import {import} --no-html"));
        folder.run(import).says(0, &[]);
    }
    fs::copy(folder.path("arm"), folder.path("copy")).unwrap();
    folder.write("text", "hello");
    folder.write("empty", "");
    folder.write("program", b"\x7fELF\x02\x01\0\0");
    folder.write("utf16", b"\xff\xfe\x00");
    folder.write("table.csv", "");
    folder.write("day.csv", "time_s,rate_rps\n0,1e6\n3600,2e6\n");
    folder
}

/// The files of a folder, and what is in them.
fn files(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.0.path()).unwrap().map(Result::unwrap);
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names
        // The latter is where `side` keeps its journals.
        .filter(|name| !["table.csv", "state"].contains(&name.as_str()))
        .map(|name| {
            (
                name.clone(),
                fs::read(folder.path(&name)).unwrap_or_default(),
            )
        })
        .collect()
}

/// A command line whose tables are files.
fn with_files(folder: &Folder, line: &str) -> String {
    if let Some((before, rest)) = line.split_once('$') {
        let (name, after) = rest.split_once(' ').unwrap();
        return format!("{before}'{}' {after}", table(name));
    }
    let Some((before, rest)) = line.split_once('{') else {
        return line.to_owned();
    };
    let (rows, after) = rest.split_once('}').unwrap();
    let rows = rows.replace("\\n", "\n").replace("\\r", "\r");
    folder.write("table.csv", rows + "\n");
    format!("{before}table.csv{after}")
}

/// The cases of a table: each line, what it runs, and words that are there or are not.
fn cases<'a>(folder: &'a Folder, lines: &'a str) -> impl Iterator<Item = Case<'a>> {
    let lines = lines.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let mut parts = line.split(" | ");
        let ended = folder.run(with_files(folder, parts.next().unwrap()));
        let (absent, words): (Vec<&str>, Vec<&str>) = parts.partition(|w| w.starts_with('!'));
        assert!(!words.is_empty(), "{line}");
        Case {
            line,
            ended,
            words,
            absent,
        }
    })
}

struct Case<'a> {
    line: &'a str,
    ended: Ended,
    words: Vec<&'a str>,
    absent: Vec<&'a str>,
}

impl Case<'_> {
    /// Ended with `code`, and `text` has the words.
    fn is_kept(&self, code: i32, text: &str) {
        let Case { line, ended, .. } = self;
        assert_eq!(ended.code, Some(code), "{line}: {ended:#?}");
        assert!(!ended.stderr.contains("panicked"), "{line}: {ended:#?}");
        for word in &self.words {
            assert!(text.contains(word), "{line}: '{word}' is missing: {text}");
        }
        for word in &self.absent {
            assert!(!text.contains(&word[1..]), "{line}: {word}: {text}");
        }
    }
}

#[test]
fn published_tables_are_reported_compared_and_planned_with() {
    for case in cases(&prepared(), include_str!("printed.txt")) {
        case.is_kept(0, &unwrapped(&case.ended.stdout));
    }
}

#[test]
fn bad_input_is_refused_with_the_way_out_before_anything_runs() {
    let folder = prepared();
    let before = files(&folder);
    for case in cases(&folder, include_str!("refused.txt")) {
        let (line, stderr) = (case.line, &case.ended.stderr);
        case.is_kept(2, stderr);
        if stderr.starts_with("plimsoll: ") {
            assert_eq!(stderr.trim_end().lines().count(), 1, "{line}: {stderr}");
        }
        assert!(files(&folder) == before, "{line}: it has changed a file");
    }
}
