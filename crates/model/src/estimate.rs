//! A figure with the interval it lies in.

use schemars::JsonSchema;
use serde::Serialize;

/// The confidence of every interval that Plimsoll states.
pub const CONFIDENCE: f64 = 0.95;

/// Half the width of an interval, as a share of its value, from which on it is
/// wide: at 20 % the lower end asks for a fleet half as large again as the
/// upper end does (1.2 / 0.8 = 1.5), so that what is bought is decided by the
/// measurement's error more than by the machine.
pub const WIDE_HALF_WIDTH: f64 = 0.2;

/// A figure, with its interval at [`CONFIDENCE`] where the trials allow one.
///
/// Either end may be missing by itself: trials may show how much is carried at
/// least and not how much at most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
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

    /// Whether both ends are known and a value lies between them.
    pub fn holds(&self, value: f64) -> bool {
        let ends = self.interval();
        ends.is_some_and(|(low, high)| (low..=high).contains(&value))
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

    /// With the other sign, which makes the lower end the upper one.
    #[must_use]
    pub fn negated(self) -> Estimate {
        Estimate {
            value: -self.value,
            low: self.high.map(|high| -high),
            high: self.low.map(|low| -low),
        }
    }

    /// Half the width of the interval as a share of the value; `None` without
    /// an interval, or around zero.
    pub fn relative_half_width(&self) -> Option<f64> {
        let (low, high) = self.interval()?;
        (self.value != 0.0).then(|| (high - low) / 2.0 / self.value.abs())
    }

    /// Half the width of the interval as a share of the value, where that is
    /// more than [`WIDE_HALF_WIDTH`].
    pub fn wide(&self) -> Option<f64> {
        self.relative_half_width().filter(|w| *w > WIDE_HALF_WIDTH)
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
        assert_eq!(e.negated(), Estimate::within(-5.0, -7.0, -5.0));
    }

    #[test]
    fn an_interval_is_wide_when_its_ends_differ_by_half_of_the_lower_one() {
        let around = |half: f64| Estimate::within(100.0, 100.0 - half, 100.0 + half);
        assert_eq!(around(20.0).wide(), None);
        assert_eq!(around(25.0).wide(), Some(0.25));
        assert_eq!(Estimate::alone(100.0).wide(), None, "nothing is known");
    }
}
