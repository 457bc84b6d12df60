//! Monotone cubic interpolation.

/// A cubic Hermite spline that is monotone where its points are (Fritsch and
/// Butland, SIAM Journal on Scientific and Statistical Computing 5, 1984):
/// slopes are weighted harmonic means of the secants to either side, and zero
/// at a turn.
#[derive(Debug)]
pub(crate) struct Pchip {
    points: Vec<(f64, f64)>,
    slopes: Vec<f64>,
}

impl Pchip {
    /// Through points with rising first coordinates; `None` for fewer than 2.
    pub(crate) fn through(points: Vec<(f64, f64)>) -> Option<Pchip> {
        let widths: Vec<f64> = points.windows(2).map(|w| w[1].0 - w[0].0).collect();
        let secants: Vec<f64> = points
            .windows(2)
            .map(|w| (w[1].1 - w[0].1) / (w[1].0 - w[0].0))
            .collect();
        let (&first, &last) = (secants.first()?, secants.last()?);
        let n = secants.len();
        if n == 1 {
            let slopes = vec![first, first];
            return Some(Pchip { points, slopes });
        }
        let mut slopes = vec![end(widths[0], widths[1], first, secants[1])];
        for at in 1..n {
            slopes.push(inner(
                (widths[at - 1], secants[at - 1]),
                (widths[at], secants[at]),
            ));
        }
        slopes.push(end(widths[n - 1], widths[n - 2], last, secants[n - 2]));
        Some(Pchip { points, slopes })
    }

    fn at(&self, x: f64) -> f64 {
        let after = self.points.partition_point(|p| p.0 <= x);
        let i = after.clamp(1, self.points.len() - 1) - 1;
        let ((x0, y0), (x1, y1)) = (self.points[i], self.points[i + 1]);
        let (h, t) = (x1 - x0, (x - x0) / (x1 - x0));
        let (d0, d1) = (self.slopes[i], self.slopes[i + 1]);
        let rest = 1.0 - t;
        y0 * (1.0 + 2.0 * t) * rest * rest + h * d0 * t * rest * rest + y1 * t * t * (3.0 - 2.0 * t)
            - h * d1 * t * t * rest
    }

    /// Where a rising spline crosses zero between two abscissae; `None` if it
    /// does not.
    pub(crate) fn root(&self, mut low: f64, mut high: f64) -> Option<f64> {
        if self.at(low) > 0.0 || self.at(high) < 0.0 {
            return None;
        }
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if self.at(middle) < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some((low + high) / 2.0)
    }
}

fn inner((h0, s0): (f64, f64), (h1, s1): (f64, f64)) -> f64 {
    if s0 * s1 <= 0.0 {
        return 0.0;
    }
    let (w0, w1) = (2.0 * h1 + h0, h1 + 2.0 * h0);
    (w0 + w1) / (w0 / s0 + w1 / s1)
}

/// The slope at an end by the parabola through three points, bent back where
/// that would overshoot. `h0` and `s0` are nearest to the end.
fn end(h0: f64, h1: f64, s0: f64, s1: f64) -> f64 {
    let slope = ((2.0 * h0 + h1) * s0 - h0 * s1) / (h0 + h1);
    if slope * s0 <= 0.0 {
        0.0
    } else if s0 * s1 <= 0.0 && slope.abs() > 3.0 * s0.abs() {
        3.0 * s0
    } else {
        slope
    }
}
