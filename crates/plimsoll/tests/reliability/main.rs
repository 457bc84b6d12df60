//! Faults on real sweeps of a real nginx, and what each cost: the table of
//! docs/reliability.md. `cargo xtask reliability` runs it as root in network and mount
//! namespaces of its own, so that no fault reaches the machine.

// As in the end-to-end tests: a lint level is not shared between programs.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

#[path = "../common/mod.rs"]
mod common;
mod faults;
#[path = "../e2e/nginx.rs"]
#[allow(dead_code, reason = "the end-to-end tests use all of it")]
mod nginx;
mod scene;

use scene::Row;
use std::path::Path;

const BEGIN: &str = "<!-- printed by `cargo xtask reliability` -->\n";
const END: &str = "<!-- end -->\n";

#[test]
#[ignore = "needs namespaces: cargo xtask reliability"]
fn no_fault_loses_a_trial_that_had_ended() {
    // Set by that command: outside of it, faults would reach the machine.
    assert!(std::env::var_os("PLIMSOLL_NAMESPACES").is_some());
    let mut rows = faults::kill_9_at_every_stage();
    for fault in faults::ALL {
        rows.push(scene::tried(fault));
    }
    let table = table(&rows);
    println!("{table}");
    let lost: Vec<&Row> = rows.iter().filter(|row| row.lost > 0).collect();
    assert!(lost.is_empty(), "{lost:#?}");
    let stuck: Vec<&Row> = rows.iter().filter(|row| !row.completes).collect();
    assert!(stuck.is_empty(), "{stuck:#?}");
    is_current(&table);
}

fn table(rows: &[Row]) -> String {
    let head = "| fault | given | the run | trials lost | then |\n|---|---|---|---|---|\n";
    let lines = rows.iter().map(Row::line);
    head.to_owned() + &lines.collect::<String>()
}

/// docs/reliability.md has a row for each; `BLESS=1` writes them. What a run says of a
/// fault depends on where exactly it was, so that is not compared.
fn is_current(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reliability.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        let faults = |table: &str| table.lines().map(fault).collect::<Vec<String>>();
        assert_eq!(faults(shown), faults(table), "BLESS=1 writes it");
    }
}

/// The first two cells of a line.
fn fault(line: &str) -> String {
    let cells: Vec<&str> = line.split(" | ").take(2).collect();
    cells.join(" | ")
}
