//! The real binary on this machine: one program, so that it is linked once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod auto;
mod burst;
#[path = "../common/mod.rs"]
mod common;
mod compare_plan;
mod copies;
mod hostile;
mod html;
mod import;
mod intake;
mod lateness;
mod leftovers;
mod load_command;
mod messages;
mod mistakes;
mod require;
mod rig;
mod rig_processes;
mod secrets;
mod service;
mod session;
mod shell;
mod side_trouble;
mod versus;
mod yields;
