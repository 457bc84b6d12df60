//! Root finding for increasing functions of the rate.

/// The highest x in (low, high) for which `holds`, which must be monotone, to a
/// precision of 1e-10 of `high`. `None` if `low` does not hold.
pub(super) fn highest(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    if !holds(low) {
        return None;
    }
    let (mut low, mut high_end) = (low, high);
    while high_end - low > 1e-10 * high {
        let middle = 0.5 * (low + high_end);
        if holds(middle) {
            low = middle;
        } else {
            high_end = middle;
        }
    }
    Some(low)
}

/// Requests of the first, coarse search.
const COARSE: u64 = 300_000;

/// Relative precision of the last search.
const PRECISION: f64 = 2e-4;

/// The root in (low, high) of an increasing function whose noise decreases with
/// its second argument, the number of requests: first a coarse bracket, then
/// the root within it. `None` if the function is above 0 at `low`.
pub(super) fn refined(low: f64, high: f64, f: impl Fn(f64, u64) -> f64) -> Option<f64> {
    let coarse = Bracket::new(low, high, |x| f(x, COARSE))?;
    let near = coarse.refine(0.005 * high, |x| f(x, COARSE));
    let fine = |x| f(x, super::reference::REQUESTS);
    let mut width = 0.01;
    loop {
        let (from, to) = (
            (near * (1.0 - width)).max(low),
            (near * (1.0 + width)).min(high),
        );
        let bracket = Bracket::new(from, to, fine);
        match bracket {
            // The root is outside of the bracket: widen it.
            None if from > low => width *= 3.0,
            None => return None,
            Some(b) if b.above <= 0.0 && to < high => width *= 3.0,
            Some(b) => return Some(b.refine(PRECISION * near, fine)),
        }
    }
}

/// Two points with the root between them.
#[derive(Clone, Copy)]
struct Bracket {
    low: f64,
    high: f64,
    /// The function at `low`: at most 0.
    below: f64,
    /// The function at `high`.
    above: f64,
}

impl Bracket {
    /// `None` if the function is above 0 at `low`.
    fn new(low: f64, high: f64, f: impl Fn(f64) -> f64) -> Option<Bracket> {
        let below = f(low);
        (below <= 0.0).then(|| Bracket {
            low,
            high,
            below,
            above: f(high),
        })
    }

    /// The root, by regula falsi with the Illinois weighting and bisection in
    /// every third round; `high` if the function is not above 0 there.
    fn refine(mut self, precision: f64, f: impl Fn(f64) -> f64) -> f64 {
        if self.above <= 0.0 {
            return self.high;
        }
        let mut last_was_low = None;
        for round in 0..60 {
            let width = self.high - self.low;
            if width <= precision {
                break;
            }
            let part = if round % 3 == 2 {
                0.5
            } else {
                // Keep a minimum distance from either end.
                let least = (0.4 * precision / width).min(0.5);
                (-self.below / (self.above - self.below)).clamp(least, 1.0 - least)
            };
            let x = self.low + part * width;
            let y = f(x);
            let is_low = y <= 0.0;
            if is_low {
                (self.low, self.below) = (x, y);
            } else {
                (self.high, self.above) = (x, y);
            }
            if last_was_low == Some(is_low) {
                if is_low {
                    self.above *= 0.5;
                } else {
                    self.below *= 0.5;
                }
            }
            last_was_low = Some(is_low);
        }
        0.5 * (self.low + self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_of_smooth_and_step_functions() {
        for target in [0.011, 0.5, 0.93, 0.999] {
            let smooth = refined(0.001, 1.0, |x, _| (x / target).ln());
            let step = refined(0.001, 1.0, |x, _| if x < target { -9.0 } else { 4.0 });
            for found in [smooth, step] {
                let error = found.unwrap() / target - 1.0;
                assert!(error.abs() < PRECISION, "{target}: {error}");
            }
        }
        assert_eq!(refined(0.5, 1.0, |_, _| 1.0), None);
        assert_eq!(refined(0.5, 1.0, |_, _| -1.0), Some(1.0));
    }

    #[test]
    fn wrong_coarse_bracket_is_widened() {
        let noisy = |x: f64, effort| {
            let target = if effort == COARSE { 0.6 } else { 0.5 };
            x - target
        };
        let found = refined(0.001, 1.0, noisy).unwrap();
        assert!((found / 0.5 - 1.0).abs() < PRECISION);
    }
}
