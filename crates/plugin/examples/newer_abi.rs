//! A library of a version that this program does not know, for the tests.

#![allow(unsafe_code, reason = "exports a function by its name")]

// SAFETY: the library's one export.
#[unsafe(no_mangle)]
extern "C" fn plimsoll_scheduler() -> *const u32 {
    static VERSION: u32 = 2;
    &raw const VERSION
}
