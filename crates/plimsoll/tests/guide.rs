//! The guide and the README show what the program prints: every `console` block
//! of docs/guide and the excerpt in README.md are compared with the output for
//! the records in examples/. `BLESS=1` writes them anew.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod common;

use common::Arguments;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What pages are written for.
const COLUMNS: &str = "96";

const OPENS: &str = "```console\n$ plimsoll ";
const CLOSES: &str = "\n```\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn prints(line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(line.words())
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

/// A page with every block as the program prints it now, and how many there are.
fn anew(page: &str) -> (String, usize) {
    let mut out = String::new();
    let mut blocks = 0;
    let mut rest = page;
    while let Some(at) = rest.find(OPENS) {
        let (before, block) = rest.split_at(at + OPENS.len());
        let (line, _) = block.split_once('\n').unwrap();
        let (_, after) = block.split_once(CLOSES).unwrap();
        out += &format!("{before}{line}\n{}{CLOSES}", prints(line));
        rest = after;
        blocks += 1;
    }
    (out + rest, blocks)
}

/// Writes the page anew with `BLESS=1`, else compares it.
#[track_caller]
fn is_current(path: &Path, page: &str, now: &str) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, now).unwrap();
    } else {
        let differs = page.lines().zip(now.lines()).find(|(a, b)| a != b);
        assert!(page == now, "{}: {differs:?}", path.display());
    }
}

/// The paragraphs of `text` that begin with these words.
fn paragraphs(text: &str, begin: &[&str]) -> String {
    let found = begin.iter().map(|words| {
        let found = text.split("\n\n").find(|part| part.starts_with(words));
        found.unwrap_or_else(|| panic!("no paragraph begins with '{words}': {text}"))
    });
    found.collect::<Vec<&str>>().join("\n\n")
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    let path = root().join("README.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("<!-- excerpt of `plimsoll ").unwrap();
    let (note, rest) = rest.split_once("-->\n```text\n").unwrap();
    let (_, after) = rest.split_once(CLOSES).unwrap();
    let (line, note) = note.split_once('`').unwrap();
    assert!(note.contains(&format!("COLUMNS={COLUMNS}:")), "{note}");
    let begin: Vec<&str> = note.split('"').skip(1).step_by(2).collect();
    assert!(begin.len() >= 2, "{note}");
    let shown = paragraphs(&prints(line), &begin);
    let opens = format!("<!-- excerpt of `plimsoll {line}`{note}-->\n```text\n");
    is_current(
        &path,
        &page,
        &format!("{before}{opens}{shown}{CLOSES}{after}"),
    );
}

#[test]
fn the_guide_shows_what_the_program_prints() {
    let mut blocks = 0;
    for entry in std::fs::read_dir(root().join("docs/guide")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        let page = std::fs::read_to_string(&path).unwrap();
        let (now, n) = anew(&page);
        blocks += n;
        is_current(&path, &page, &now);
    }
    assert!(blocks >= 5, "the guide has {blocks} blocks");
}
