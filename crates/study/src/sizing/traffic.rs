//! Traffic by time.

use super::SizingError;
use plimsoll_model::Rate;
use std::time::Duration;

/// Ten years in seconds: a longer time is in another unit.
const LONGEST_SECONDS: f64 = 3.2e8;

/// An interval of time in which the rate is linear.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    pub(super) from: Duration,
    pub(super) length: Duration,
    pub(super) low: Rate,
    pub(super) high: Rate,
}

/// Rates over time, linear between two moments.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic(Vec<(Duration, Rate)>);

impl Traffic {
    /// From (seconds, requests per second), in the order of time.
    ///
    /// # Errors
    ///
    /// Fewer than two moments, times that do not increase, or an invalid time or rate.
    pub fn new(moments: &[(f64, f64)]) -> Result<Traffic, SizingError> {
        if moments.len() < 2 {
            return Err(SizingError::FewMoments(moments.len()));
        }
        let mut known: Vec<(Duration, Rate)> = Vec::with_capacity(moments.len());
        for (moment, &(seconds, rate)) in (1..).zip(moments) {
            if !(0.0..=LONGEST_SECONDS).contains(&seconds) {
                return Err(SizingError::Time { moment, seconds });
            }
            let at = Duration::from_secs_f64(seconds);
            if known.last().is_some_and(|(before, _)| *before >= at) {
                return Err(SizingError::Order { moment });
            }
            let rate = Rate::per_second(rate).ok_or(SizingError::TrafficRate { moment, rate })?;
            known.push((at, rate));
        }
        Ok(Traffic(known))
    }

    /// The moments, in the order of time.
    pub fn moments(&self) -> &[(Duration, Rate)] {
        &self.0
    }

    /// The highest rate.
    pub fn peak(&self) -> Rate {
        let rates = self.0.iter().map(|(_, rate)| *rate);
        rates.fold(Rate::ZERO, |a, b| if b > a { b } else { a })
    }

    /// From the first moment to the last.
    pub fn span(&self) -> Duration {
        let end = self.0.last().map_or(Duration::ZERO, |(at, _)| *at);
        end.saturating_sub(self.start())
    }

    fn start(&self) -> Duration {
        self.0.first().map_or(Duration::ZERO, |(at, _)| *at)
    }

    /// The stretches between two moments, in the order of time.
    pub(super) fn stretches(&self) -> impl Iterator<Item = Stretch> {
        self.0.windows(2).map(|pair| {
            let ((from, a), (to, b)) = (pair[0], pair[1]);
            Stretch {
                from,
                length: to.saturating_sub(from),
                low: if a < b { a } else { b },
                high: if a > b { a } else { b },
            }
        })
    }

    /// The rate at a time; that of the nearest moment outside of them.
    pub(super) fn at(&self, seconds: f64) -> f64 {
        let after = self.0.partition_point(|(at, _)| at.as_secs_f64() < seconds);
        let (to, high) = self.0[after.min(self.0.len() - 1)];
        let (from, low) = self.0[after.saturating_sub(1)];
        let width = to.as_secs_f64() - from.as_secs_f64();
        if width <= 0.0 || after == self.0.len() {
            return high.get();
        }
        let part = (seconds - from.as_secs_f64()) / width;
        low.get() + part * (high.get() - low.get())
    }

    /// The times at which any function of the rate now and the rate `ahead` of now can
    /// be extreme: where either has a corner, and where the rate crosses `level`. In
    /// between such a function is a quotient of two linear ones, which is monotonic.
    pub(super) fn turns(&self, ahead: Duration, level: f64) -> Vec<f64> {
        let (start, ahead) = (self.start().as_secs_f64(), ahead.as_secs_f64());
        let mut times: Vec<f64> = Vec::with_capacity(3 * self.0.len());
        for (at, _) in &self.0 {
            times.extend([at.as_secs_f64(), at.as_secs_f64() - ahead]);
        }
        for pair in self.0.windows(2) {
            let ((from, a), (to, b)) = (pair[0], pair[1]);
            let (from, to, a, b) = (from.as_secs_f64(), to.as_secs_f64(), a.get(), b.get());
            if (a < level) != (b < level) {
                times.push(from + (level - a) / (b - a) * (to - from));
            }
        }
        times.retain(|t| *t >= start);
        times
    }
}
