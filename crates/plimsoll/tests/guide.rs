//! What the guide shows is what the program says: every `console` block of
//! docs/guide is run on the records in examples/ and compared to the letter.
//! `BLESS=1` writes the blocks anew.

#![allow(
    clippy::unwrap_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// What pages are written for.
const COLUMNS: &str = "96";

const OPENS: &str = "```console\n$ plimsoll ";
const CLOSES: &str = "\n```\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Words as a shell takes them apart, as far as single quotes go.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    assert!(!quoted, "a quote is left open: {line}");
    words.retain(|word| !word.is_empty());
    words
}

fn says(line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(words(line))
        .current_dir(root())
        .env("COLUMNS", COLUMNS)
        .env("LC_ALL", "C.UTF-8")
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "plimsoll {line}: {errors}");
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// A page with every block as the program says it now, and how many there are.
fn anew(page: &str) -> (String, usize) {
    let mut out = String::new();
    let mut blocks = 0;
    let mut rest = page;
    while let Some(at) = rest.find(OPENS) {
        let (before, block) = rest.split_at(at + OPENS.len());
        let (line, _) = block.split_once('\n').unwrap();
        let (_, after) = block.split_once(CLOSES).unwrap();
        out += &format!("{before}{line}\n{}{CLOSES}", says(line));
        rest = after;
        blocks += 1;
    }
    (out + rest, blocks)
}

#[test]
fn the_guide_shows_what_the_program_says() {
    let mut blocks = 0;
    for entry in std::fs::read_dir(root().join("docs/guide")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        let page = std::fs::read_to_string(&path).unwrap();
        let (now, n) = anew(&page);
        blocks += n;
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, now).unwrap();
        } else {
            let differs = page.lines().zip(now.lines()).find(|(a, b)| a != b);
            assert!(page == now, "{}: {differs:?}", path.display());
        }
    }
    assert!(blocks >= 5, "the guide has {blocks} blocks");
}
