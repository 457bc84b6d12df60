//! Whether a series has settled: neither its level nor its spread drifts.

/// The fewest points that can show a drift.
pub const LEAST_POINTS: usize = 5;

/// A drift within the series of less than this share of its mean is small.
const SMALL_DRIFT: f64 = 0.05;

/// How many standard errors a slope must have to be taken for one.
const SIGNIFICANT: f64 = 3.0;

/// Whether a series at equal distances is steady: an ordinary least-squares
/// line through it rises or falls by less than 5 % of the mean from end to
/// end, or by no more than chance would have it (3 standard errors); and the
/// same for the absolute residuals, so that a spread that still shrinks is
/// seen. Fewer than five points are never steady; nothing at all is.
pub fn is_steady(series: &[f64]) -> bool {
    if series.len() < LEAST_POINTS {
        return false;
    }
    let mean = mean(series);
    let line = Line::through(series);
    if line.drifts(mean) {
        return false;
    }
    let residuals: Vec<f64> = line.residuals(series).map(f64::abs).collect();
    !Line::through(&residuals).drifts(mean)
}

fn mean(series: &[f64]) -> f64 {
    series.iter().sum::<f64>() / series.len() as f64
}

struct Line {
    slope: f64,
    at_start: f64,
    slope_error: f64,
    span: f64,
}

impl Line {
    /// Least squares over x = 0, 1, 2, …; at least three points.
    fn through(series: &[f64]) -> Line {
        let n = series.len() as f64;
        let (mean_x, mean_y) = ((n - 1.0) / 2.0, mean(series));
        let points = || series.iter().enumerate().map(|(x, y)| (x as f64, *y));
        let sxx: f64 = points().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let sxy: f64 = points().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let slope = sxy / sxx;
        let mut line = Line {
            slope,
            at_start: mean_y - slope * mean_x,
            slope_error: 0.0,
            span: n - 1.0,
        };
        let squares: f64 = line.residuals(series).map(|r| r * r).sum();
        line.slope_error = (squares / (n - 2.0) / sxx).sqrt();
        line
    }

    fn residuals<'a>(&self, series: &'a [f64]) -> impl Iterator<Item = f64> + use<'a> {
        let (slope, at_start) = (self.slope, self.at_start);
        let points = series.iter().enumerate();
        points.map(move |(x, y)| y - (at_start + slope * x as f64))
    }

    fn drifts(&self, mean: f64) -> bool {
        let drift = (self.slope * self.span).abs();
        drift > SMALL_DRIFT * mean.abs() && self.slope.abs() > SIGNIFICANT * self.slope_error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_series_is_steady_and_a_rising_one_is_not() {
        assert!(is_steady(&[100.0, 101.0, 99.0, 100.0, 100.5, 99.5]));
        assert!(is_steady(&[0.0; 5]), "no load at all");
        assert!(!is_steady(&[50.0, 70.0, 80.0, 88.0, 95.0, 101.0]));
    }

    #[test]
    fn chance_is_not_a_drift() {
        assert!(is_steady(&[3.0, 7.0, 2.0, 6.0, 4.0, 8.0, 3.0, 5.0]));
    }

    #[test]
    fn a_shrinking_spread_is_not_steady() {
        let series: Vec<f64> = (0..24)
            .map(|i| 100.0 + if i % 2 == 0 { 1.0 } else { -1.0 } * (24 - i) as f64 * 2.0)
            .collect();
        assert!(!is_steady(&series));
    }

    #[test]
    fn four_points_are_never_steady() {
        assert!(!is_steady(&[100.0; 4]));
    }
}
