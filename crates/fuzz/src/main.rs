//! The fuzzer of one target, whose name is in `PLIMSOLL_FUZZ`; `cargo xtask fuzz`
//! builds it with coverage and starts it.

#![no_main]

use plimsoll_fuzz::{TARGETS, Target};
use std::sync::LazyLock;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("PLIMSOLL_FUZZ").unwrap_or_default();
    let chosen = TARGETS.iter().find(|target| target.name == name);
    chosen.unwrap_or_else(|| std::process::exit(2))
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| (TARGET.run)(input));
