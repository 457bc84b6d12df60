//! Bad input: exit status 2, a message that names the way out, and nothing is run
//! or written. `refused.txt` has a line for each case.

use crate::common::{Folder, table};
use std::collections::BTreeMap;
use std::fs;

/// A folder with the published tables as records, and with other files.
fn prepared() -> Folder {
    let folder = Folder::new();
    for (name, record) in [
        ("graviton3-netty", "arm"),
        ("intel-smt-netty", "smt"),
        ("intel-smt-compile", "compile"),
        ("graviton3-compile", "compile2"),
    ] {
        let csv = table(name);
        let import = ["import", &csv, "-o", record, "--name", name, "--cpus", "8"];
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
        .filter(|name| !["table.csv", "plimsoll"].contains(&name.as_str()))
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

#[test]
fn bad_input_is_refused_with_the_way_out_before_anything_runs() {
    let folder = prepared();
    let before = files(&folder);
    let cases = include_str!("refused.txt").lines();
    for case in cases.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut parts = case.split(" | ");
        let ended = folder.run(with_files(&folder, parts.next().unwrap()));
        assert_eq!(ended.code, Some(2), "{case}: {ended:#?}");
        let (absent, words): (Vec<&str>, Vec<&str>) = parts.partition(|w| w.starts_with('!'));
        assert!(!words.is_empty(), "{case}");
        ended.says(2, &words);
        for word in absent {
            assert!(!ended.stderr.contains(&word[1..]), "{case}: {ended:#?}");
        }
        if ended.stderr.starts_with("plimsoll: ") {
            assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{ended:#?}");
        }
        assert!(files(&folder) == before, "{case}: it has changed a file");
    }
}
