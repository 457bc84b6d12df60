//! Slopes that half of the points may be far off (Theil, Proc. KNAW 53, 1950;
//! Sen, JASA 63, 1968).

/// The median of the slopes between any two points (x, y) of different x;
/// `None` when there are none.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let mut slopes = Vec::new();
    for (i, a) in points.iter().enumerate() {
        let others = points[i + 1..].iter().filter(|b| b.0 != a.0);
        slopes.extend(others.map(|b| (b.1 - a.1) / (b.0 - a.0)));
    }
    median(&mut slopes)
}

/// The middle value, or the mean of the two in the middle; sorts `values`.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (a, b) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some((values[a] + values[b]) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_far_off_does_not_turn_the_slope() {
        let mut points: Vec<(f64, f64)> =
            (0..9).map(|x| (f64::from(x), 2.0 * f64::from(x))).collect();
        points[4].1 = 1e6;
        assert_eq!(slope(&points), Some(2.0));
        assert_eq!(slope(&points[..1]), None);
        assert_eq!(median(&mut [3.0, 1.0, 2.0, 10.0]), Some(2.5));
    }
}
