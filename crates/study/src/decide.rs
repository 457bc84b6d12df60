//! Whether so many requests prove that a goal on a share of them is kept.

use statrs::function::beta::beta_reg;

/// How sure a decision is.
const SURE: f64 = 0.95;

/// What a number of independent requests says about the share of all requests
/// that exceed a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Holds,
    Fails,
    /// Too few requests.
    Undecided,
}

/// The exact binomial test: `over` of `of` independent requests exceed a
/// limit that at most `share` of all requests may exceed.
///
/// It holds when so few would come with a probability of at most 5 % if the
/// true share were `share`, and fails when so many would. The distribution
/// function is that of the binomial by the regularised incomplete beta
/// function (Clopper and Pearson, Biometrika 26, 1934). MLPerf's LoadGen stops
/// early by the same rule.
pub(crate) fn decide(over: f64, of: f64, share: f64) -> Decision {
    let (over, of) = (over.max(0.0), of.max(over));
    if of <= 0.0 || !(0.0..1.0).contains(&share) {
        return Decision::Undecided;
    }
    let at_most = if over >= of {
        1.0
    } else {
        beta_reg(of - over, over + 1.0, 1.0 - share)
    };
    let at_least = if over <= 0.0 {
        1.0
    } else {
        beta_reg(over, of - over + 1.0, share)
    };
    if at_most <= 1.0 - SURE {
        Decision::Holds
    } else if at_least <= 1.0 - SURE {
        Decision::Fails
    } else {
        Decision::Undecided
    }
}

/// How many independent requests, none of which exceeds the limit, prove that
/// at most `share` of all do: `ln(0.05) / ln(1 - share)`, 299 for p99 and
/// 2,995 for p99.9.
pub(crate) fn needed(share: f64) -> f64 {
    ((1.0 - SURE).ln() / (1.0 - share).ln()).ceil()
}

/// Of how many successive requests at `rate` one counts as independent of the
/// one before: those that arrive within `limit_s`.
///
/// A request exceeds a latency limit because it stands behind a queue that
/// takes about that long to serve, and all that arrive meanwhile stand in the
/// same queue. To thin by time instead of by a fitted autocorrelation is
/// coarse, but needs no sequence of latencies, and errs to the safe side for
/// light load.
pub(crate) fn thinning(rate: f64, limit_s: f64) -> f64 {
    (rate * limit_s).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers_of_requests_decide() {
        assert_eq!(needed(0.01), 299.0);
        assert_eq!(needed(0.001), 2995.0);
        assert_eq!(decide(0.0, 299.0, 0.01), Decision::Holds);
        assert_eq!(decide(0.0, 298.0, 0.01), Decision::Undecided);
    }

    #[test]
    fn many_over_the_limit_fail_and_a_few_are_undecided() {
        assert_eq!(decide(10.0, 100.0, 0.01), Decision::Fails);
        assert_eq!(decide(1.0, 100.0, 0.01), Decision::Undecided);
        assert_eq!(decide(100.0, 100.0, 0.01), Decision::Fails);
        assert_eq!(decide(0.0, 0.0, 0.01), Decision::Undecided);
    }

    #[test]
    fn at_the_limit_itself_either_decision_is_seldom() {
        // Exact tests err at most as often as they say: sum the binomial
        // probabilities of all counts that would be decided, at the limit.
        let (n, p) = (1000u32, 0.01f64);
        let mut probability = (1.0 - p).powi(n as i32);
        let (mut holds, mut fails) = (0.0, 0.0);
        for k in 0..=n {
            match decide(f64::from(k), f64::from(n), p) {
                Decision::Holds => holds += probability,
                Decision::Fails => fails += probability,
                Decision::Undecided => {}
            }
            probability *= f64::from(n - k) / f64::from(k + 1) * p / (1.0 - p);
        }
        assert!(holds <= 0.05 && fails <= 0.05, "{holds} {fails}");
        assert!(holds > 0.02 && fails > 0.02, "{holds} {fails}");
    }

    #[test]
    fn requests_behind_one_queue_are_one_independent_request() {
        assert!((thinning(1000.0, 0.02) - 20.0).abs() < 1e-9);
        assert!((thinning(10.0, 0.02) - 1.0).abs() < 1e-9);
    }
}
