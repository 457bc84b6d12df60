//! Whatever reads input that others may have made, as functions of bytes, for a fuzzer
//! and for the test that runs them over the kept inputs (`corpus/`).
//!
//! A function must not panic, hang, or take memory out of proportion to its input.
//! `cargo xtask fuzz` looks for inputs on which one does; such an input becomes a test
//! of the crate that is mended, or is kept here.

mod host;
mod record;
mod text;

use std::path::Path;
use tempfile::TempDir;

/// A function that takes any bytes.
#[derive(Debug)]
pub struct Target {
    /// Also the name of its folder in `corpus/`.
    pub name: &'static str,
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, run }
}

pub const TARGETS: [Target; 8] = [
    target("http", text::http),
    target("host", host::files),
    target("metrics", text::metrics),
    target("prometheus", text::prometheus),
    target("guard", text::guard),
    target("log", text::log),
    target("table", text::table),
    target("record", record::record),
];

/// A folder for files that are read once, in memory where there is such a place.
fn folder() -> Option<TempDir> {
    let memory = tempfile::tempdir_in(Path::new("/dev/shm"));
    memory.or_else(|_| tempfile::tempdir()).ok()
}
