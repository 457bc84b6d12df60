//! `plimsoll selftest` on this machine, however noisy it is.

use crate::common::Folder;

#[test]
fn a_quick_selftest_prints_a_row_for_each_known_service() {
    let ended = Folder::new().run("selftest --quick --seed 7");
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    for service in [
        "fixed 0.4 ms in one server",
        "the same, calibrated",
        "fixed 1.6 ms in four servers",
        "exponential",
        "rate limiter",
        "stall of 200 ms every 5 s",
        "pauses that grow",
        "lock around a third of the work",
        "fixed 0.4 ms in one server, again",
    ] {
        let row = |line: &&str| line.contains(service) && line.contains("/s") | line.contains("ms");
        assert!(
            ended.stdout.lines().any(|line| row(&line)),
            "{service}: {}",
            ended.stdout
        );
    }
    assert!(ended.stdout.contains("A/A: "), "{}", ended.stdout);
    let verdict = if ended.code == Some(0) {
        "All 9"
    } else {
        " of 9"
    };
    assert!(ended.stdout.contains(verdict), "{}", ended.stdout);
}
