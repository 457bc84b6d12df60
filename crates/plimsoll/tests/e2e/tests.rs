//! Findings made by hand, as the tests of `report` have them.

#[path = "../../../report/src/tests/sample/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "a browser is shown a part of them"
)]
pub(crate) mod sample;
#[path = "../../../report/src/tests/shown.rs"]
#[allow(dead_code, reason = "a browser is shown a part of them")]
pub(crate) mod shown;
