//! Whether values are of one population: the dip test (Hartigan and Hartigan, Annals of
//! Statistics 13, 1985).
//!
//! The dip is the least distance between the distribution of the values and any
//! distribution with one mode. It takes nothing for granted of the shape of that one,
//! which for run times is skewed and has a long tail.

use crate::seeded::Rng;

/// The fewest values that are tested.
pub(super) const FEWEST: usize = 12;

/// Whether so large a dip comes of one population with a probability of at most
/// `level`: of the uniform one, which is the worst (the least favourable) of all.
/// `false` for fewer than [`FEWEST`] values.
pub(super) fn has_two_modes(values: &[f64], level: f64, seed: u64) -> bool {
    let n = values.len();
    if n < FEWEST {
        return false;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let observed = dip(&sorted);
    let simulated = (10.0 / level).ceil();
    let allowed = (level * (simulated + 1.0)) as u32;
    let mut rng = Rng::seeded(seed);
    let mut as_large = 1;
    for _ in 0..simulated as u32 {
        as_large += u32::from(dip(&uniform(n, &mut rng)) >= observed);
        // Most values are of one population, and a few dozen samples show it.
        if as_large > allowed {
            return false;
        }
    }
    true
}

/// Sorted uniform values, on some scale: sums of exponential gaps.
fn uniform(n: usize, rng: &mut Rng) -> Vec<f64> {
    let mut sum = 0.0;
    let next = |_| {
        sum += rng.exponential();
        sum
    };
    (0..n).map(next).collect()
}

/// The dip of sorted values, from 1/(2n) to 1/4.
fn dip(sorted: &[f64]) -> f64 {
    let n = sorted.len() as f64;
    let mut below = Vec::new();
    let mut upto = Vec::new();
    let mut xs = Vec::new();
    let mut counted = 0.0;
    for equal in sorted.chunk_by(|a, b| a == b) {
        xs.push(equal[0]);
        below.push(counted / n);
        counted += equal.len() as f64;
        upto.push(counted / n);
    }
    let (mut low, mut high) = (0, xs.len() - 1);
    let mut dip = 1.0 / n;
    // The modal interval shrinks until the two hulls of what is left are no further
    // apart than the hulls beside it are from the values.
    loop {
        let range = low..=high;
        let convex = Hull::below(&xs[range.clone()], &below[range.clone()]);
        let concave = Hull::above(&xs[range.clone()], &upto[range]);
        let apart = |at: &usize| concave.values[*at] - convex.values[*at];
        let widest = |hull: &Hull| {
            let all = hull.touching.iter().map(|at| (apart(at), *at));
            all.fold(
                (0.0, 0),
                |best: (f64, usize), next| if next.0 > best.0 { next } else { best },
            )
        };
        let (of_convex, of_concave) = (widest(&convex), widest(&concave));
        let (distance, left, right) = if of_concave.0 > of_convex.0 {
            let right = of_concave.1;
            let left = convex.touching.iter().rfind(|at| **at <= right);
            (of_concave.0, left.copied().unwrap_or(0), right)
        } else {
            let left = of_convex.1;
            let right = concave.touching.iter().find(|at| **at >= left);
            (of_convex.0, left, right.copied().unwrap_or(high - low))
        };
        if distance <= dip {
            return dip / 2.0;
        }
        let to_left = (0..=left).map(|at| upto[low + at] - convex.values[at]);
        let to_right = (right..=high - low).map(|at| concave.values[at] - below[low + at]);
        dip = to_left.chain(to_right).fold(dip, f64::max);
        if (left, right) == (0, high - low) {
            return dip / 2.0;
        }
        (low, high) = (low + left, low + right);
    }
}

/// The greatest convex curve below points, or the least concave one above.
struct Hull {
    /// Which points it touches.
    touching: Vec<usize>,
    /// Its height at each.
    values: Vec<f64>,
}

impl Hull {
    fn below(xs: &[f64], ys: &[f64]) -> Hull {
        let mut touching: Vec<usize> = Vec::new();
        for next in 0..xs.len() {
            while let [.., a, b] = touching[..] {
                let turns_up =
                    (ys[b] - ys[a]) * (xs[next] - xs[b]) < (ys[next] - ys[b]) * (xs[b] - xs[a]);
                if turns_up {
                    break;
                }
                touching.pop();
            }
            touching.push(next);
        }
        let mut values = ys.to_vec();
        for pair in touching.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let slope = (ys[b] - ys[a]) / (xs[b] - xs[a]);
            (a + 1..b).for_each(|at| values[at] = ys[a] + slope * (xs[at] - xs[a]));
        }
        Hull { touching, values }
    }

    fn above(xs: &[f64], ys: &[f64]) -> Hull {
        let down: Vec<f64> = ys.iter().map(|y| -y).collect();
        let mut hull = Hull::below(xs, &down);
        hull.values.iter_mut().for_each(|y| *y = -*y);
        hull
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::normal;
    use proptest::prelude::{prop, prop_assert, proptest};

    #[test]
    fn dips_of_simple_samples_are_known() {
        let even: Vec<f64> = (0..50).map(f64::from).collect();
        assert!((dip(&even) - 0.01).abs() < 1e-12, "1/(2n)");
        let two = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0];
        assert!((dip(&two) - 0.25).abs() < 1e-12);
        // Two clusters far apart come near to two points.
        let near: Vec<f64> = even
            .iter()
            .map(|x| x % 25.0 + 1e6 * (x / 25.0).floor())
            .collect();
        assert!((dip(&near) - 0.25).abs() < 0.011, "{}", dip(&near));
    }

    #[test]
    fn the_quantiles_of_uniform_samples_are_those_of_another_implementation() {
        // What 20,000 samples give with the implementation of R's package diptest
        // (Maechler, 2024): exceeded by 10 % and 1 % of dips.
        for (n, tenth, hundredth) in [(50, 0.0649, 0.0806), (100, 0.0471, 0.0589)] {
            let mut rng = Rng::seeded(1);
            let mut dips: Vec<f64> = (0..4000).map(|_| dip(&uniform(n, &mut rng))).collect();
            dips.sort_by(f64::total_cmp);
            assert!(
                (dips[3600] / tenth - 1.0).abs() < 0.02,
                "{n}: {}",
                dips[3600]
            );
            assert!(
                (dips[3960] / hundredth - 1.0).abs() < 0.04,
                "{n}: {}",
                dips[3960]
            );
        }
    }

    #[test]
    fn one_population_is_hardly_ever_taken_for_two() {
        let populations: [fn(&mut Rng) -> f64; 4] = [
            |rng| rng.unit(),
            normal,
            Rng::exponential,
            // Heavy on both sides.
            |rng| normal(rng) / rng.unit(),
        ];
        for (nth, population) in populations.iter().enumerate() {
            let mut rng = Rng::seeded(nth as u64);
            let flagged = |seed: &u64| {
                let values: Vec<f64> = (0..60).map(|_| population(&mut rng)).collect();
                has_two_modes(&values, 0.05, *seed)
            };
            let flagged = (0..400).filter(flagged).count();
            // 20 are stated for the first; 33 is three standard deviations above.
            assert!(flagged <= 33, "population {nth}: {flagged} of 400");
        }
    }

    #[test]
    fn two_populations_far_apart_are_seen() {
        let mut rng = Rng::seeded(1);
        let seen = |seed: &u64| {
            let part = |i: u32| if i.is_multiple_of(3) { 8.0 } else { 0.0 };
            let values: Vec<f64> = (0..60).map(|i| part(i) + normal(&mut rng)).collect();
            has_two_modes(&values, 0.01, *seed)
        };
        let seen = (0..100).filter(seen).count();
        assert!(seen >= 90, "{seen} of 100");
    }

    proptest! {
        #[test]
        fn a_dip_lies_between_its_limits_and_has_no_scale(
            mut values in prop::collection::vec(-1e3..1e3f64, 4..80), scale in 0.1..10.0f64
        ) {
            values.sort_by(f64::total_cmp);
            let found = dip(&values);
            let n = values.len() as f64;
            prop_assert!((0.5 / n - 1e-12..=0.25 + 1e-12).contains(&found), "{}", found);
            let scaled: Vec<f64> = values.iter().map(|v| v * scale).collect();
            prop_assert!((dip(&scaled) - found).abs() < 1e-9);
            let mirrored: Vec<f64> = values.iter().rev().map(|v| -v).collect();
            prop_assert!((dip(&mirrored) - found).abs() < 1e-9);
        }
    }
}
