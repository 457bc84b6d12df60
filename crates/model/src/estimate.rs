//! A figure with the interval it lies in.

use serde::Serialize;

/// The confidence of every interval that Plimsoll states.
pub const CONFIDENCE: f64 = 0.95;

/// A figure, with its interval at [`CONFIDENCE`] where the trials allow one.
///
/// Either end may be missing by itself: trials may show how much is carried at
/// least and not how much at most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The best guess.
    pub value: f64,
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

impl Estimate {
    /// A figure that its trials allow no interval for: a single row, say.
    pub const fn alone(value: f64) -> Estimate {
        Estimate {
            value,
            low: None,
            high: None,
        }
    }

    /// A figure within an interval. The interval is widened to hold the value,
    /// which a skewed bootstrap does not promise.
    pub fn within(value: f64, low: f64, high: f64) -> Estimate {
        Estimate {
            value,
            low: Some(low.min(value)),
            high: Some(high.max(value)),
        }
    }

    /// Both ends, where both are known.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }

    /// Value and ends through a function that never falls.
    #[must_use]
    pub fn map_rising(self, f: impl Fn(f64) -> f64) -> Estimate {
        Estimate {
            value: f(self.value),
            low: self.low.map(&f),
            high: self.high.map(&f),
        }
    }

    /// Half the width of the interval as a share of the value; `None` without
    /// an interval, or around zero.
    pub fn relative_half_width(&self) -> Option<f64> {
        let (low, high) = self.interval()?;
        (self.value != 0.0).then(|| (high - low) / 2.0 / self.value.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_its_value() {
        let e = Estimate::within(5.0, 6.0, 7.0);
        assert_eq!(e.interval(), Some((5.0, 7.0)));
        assert_eq!(e.relative_half_width(), Some(0.2));
        assert_eq!(Estimate::alone(1.0).interval(), None);
    }
}
