//! Isotonic regression: the best fit that never falls.

/// The non-decreasing values nearest to the given ones in weighted least
/// squares, by pooling adjacent violators (Ayer et al., *Annals of
/// Mathematical Statistics* 26, 1955).
///
/// `points` are (value, weight) in the order of the axis; weights are
/// positive. Linear in the number of points.
pub fn fit(points: &[(f64, f64)]) -> Vec<f64> {
    struct Block {
        mean: f64,
        weight: f64,
        length: usize,
    }
    let mut blocks: Vec<Block> = Vec::with_capacity(points.len());
    for &(value, weight) in points {
        let mut block = Block {
            mean: value,
            weight,
            length: 1,
        };
        while let Some(left) = blocks.pop_if(|left| left.mean > block.mean) {
            let weight = left.weight + block.weight;
            block.mean = (left.mean * left.weight + block.mean * block.weight) / weight;
            block.weight = weight;
            block.length += left.length;
        }
        blocks.push(block);
    }
    blocks
        .iter()
        .flat_map(|b| std::iter::repeat_n(b.mean, b.length))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::fit;
    use proptest::prelude::*;

    #[test]
    fn a_rising_series_is_unchanged() {
        assert_eq!(fit(&[(1.0, 1.0), (2.0, 5.0), (2.0, 1.0)]), [1.0, 2.0, 2.0]);
        assert!(fit(&[]).is_empty());
    }

    #[test]
    fn weights_count() {
        assert_eq!(fit(&[(4.0, 1.0), (1.0, 3.0)]), [1.75, 1.75]);
    }

    proptest! {
        #[test]
        fn a_fit_never_falls_and_keeps_the_weighted_mean(
            points in prop::collection::vec((-1e3..1e3f64, 0.1..10.0f64), 1..50)
        ) {
            let fitted = fit(&points);
            prop_assert!(fitted.windows(2).all(|w| w[0] <= w[1]));
            let sum: f64 = points.iter().map(|(v, w)| v * w).sum();
            let fitted_sum: f64 = fitted.iter().zip(&points).map(|(f, (_, w))| f * w).sum();
            prop_assert!((sum - fitted_sum).abs() < 1e-6 * (1.0 + sum.abs()));
        }

        #[test]
        fn fitting_a_fit_changes_nothing(
            points in prop::collection::vec((-1e3..1e3f64, 0.1..10.0f64), 1..50)
        ) {
            let once = fit(&points);
            let again: Vec<(f64, f64)> = once.iter().zip(&points).map(|(f, (_, w))| (*f, *w)).collect();
            for (a, b) in once.iter().zip(fit(&again)) {
                prop_assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()));
            }
        }
    }
}
