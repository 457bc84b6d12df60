//! Fisher's exact test: whether two counts show different shares.

use statrs::distribution::{Discrete, Hypergeometric};

/// Sums of equal probabilities differ by rounding.
const ROUNDING: f64 = 1e-7;

/// The probability, if both have the same share, of a table as unlikely as this one: `found` of `all`, of each.
/// R. A. Fisher, Statistical Methods for Research Workers; two-sided, of all tables that are no more likely.
pub fn p_value(found: [u64; 2], all: [u64; 2]) -> f64 {
    let (of_found, of_all) = (found[0] + found[1], all[0] + all[1]);
    let Ok(tables) = Hypergeometric::new(of_all, of_found, all[0]) else {
        return 1.0;
    };
    let least = of_found.saturating_sub(all[1]);
    let here = tables.pmf(found[0]) * (1.0 + ROUNDING);
    let each = (least..=of_found.min(all[0])).map(|n| tables.pmf(n));
    each.filter(|p| *p <= here).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lady tasting tea, and the example of Wikipedia's page on the test; both as `fisher.test` of R has them.
    #[test]
    fn known_tables_have_their_p_value() {
        for (found, all, p) in [
            ([3, 1], [4, 4], 0.485_714_3),
            ([1, 9], [12, 12], 0.002_759_456),
            ([9, 1], [12, 12], 0.002_759_456),
            ([0, 0], [10, 12], 1.0),
            ([10, 12], [10, 12], 1.0),
            ([0, 0], [0, 0], 1.0),
        ] {
            let found = p_value(found, all);
            assert!((found - p).abs() < 1e-7, "{found} {p}");
        }
    }
}
