//! Whether a service kept up with what it was offered.

use plimsoll_model::{Trial, TrialSetting};

/// The least part of the offered requests that must be answered within the
/// window. Requests under way at its edges make the two counts differ by
/// their number, which for a stable service is small against the window.
const LEAST_SHARE: f64 = 0.97;

/// Whether good answers came as fast as requests were intended.
///
/// With `n` intended and `m` answered the rate is carried if
/// `m >= 0.97 n - 2 sqrt(n)`: the second term is the chance difference
/// between requests that enter and that leave a window at its two edges,
/// which matters only when there are few.
pub fn is_carried(intended: u64, completed: u64) -> bool {
    let n = intended as f64;
    completed as f64 >= LEAST_SHARE * n - edge_noise(n)
}

/// Two standard deviations of a Poisson count, but never more than a tenth
/// of the requests: otherwise a handful of requests would prove anything.
fn edge_noise(n: f64) -> f64 {
    (2.0 * n.sqrt()).min(0.1 * n)
}

pub fn trial_is_carried<S: TrialSetting, O>(trial: &Trial<S, O>) -> bool {
    is_carried(trial.work.intended, trial.work.completed)
}

#[cfg(test)]
mod tests {
    use super::is_carried;

    #[test]
    fn a_few_under_way_do_not_matter_and_a_backlog_does() {
        assert!(is_carried(100_000, 98_000));
        assert!(!is_carried(100_000, 95_000));
        assert!(is_carried(20, 18));
        assert!(!is_carried(20, 10));
        assert!(is_carried(0, 0));
    }
}
