//! The real binary against a real nginx, and its pages in a real browser. Needs
//! nginx, node_exporter, Prometheus, Chromium and its driver; what
//! needs root as well says so when it is left out. Run by `.ci/run`:
//!
//! ```text
//! cargo test --workspace --test e2e
//! ```

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod browser;
#[path = "../common/mod.rs"]
mod common;
mod crash;
mod demo;
mod limits;
mod live;
mod nginx;
mod node_exporter;
mod pages;
mod prometheus;
mod pty;
mod quota;
mod restart;
mod selftest;
mod service;
mod tests;

// What the samples of `report` name as of their crate.
use plimsoll_report::{
    CopiesReport, Document, Format, Look, RecordFacts, Report, TrialTally, YieldReport, chart,
    copies, render, sweep, yields,
};

/// Whether this process may do what only root may.
fn is_root(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("{test} was left out: it needs root");
    }
    root
}
