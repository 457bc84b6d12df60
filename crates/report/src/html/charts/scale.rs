//! From values to places, and where an axis has its ticks.

/// How values lie along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Law {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal quotients.
    Log,
}

/// A stretch of values on a stretch of pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    law: Law,
    values: (f64, f64),
    pixels: (f64, f64),
}

impl Scale {
    /// Values from 0 to at least `most`, ending on a tick.
    pub(super) fn from_zero(most: f64, pixels: (f64, f64), ticks: usize) -> Scale {
        let most = if most.is_finite() && most > 0.0 {
            most
        } else {
            1.0
        };
        let step = step(most, ticks);
        let end = (most / step - 1e-9).ceil() * step;
        Scale {
            law: Law::Linear,
            values: (0.0, end),
            pixels,
        }
    }

    /// Exactly these values in equal steps.
    pub(super) fn linear(values: (f64, f64), pixels: (f64, f64)) -> Scale {
        let law = Law::Linear;
        Scale {
            law,
            values,
            pixels,
        }
    }

    /// Values above 0 in equal quotients, with a little room at both ends.
    pub(super) fn log(least: f64, most: f64, pixels: (f64, f64)) -> Scale {
        let usable = |x: f64| x.is_finite() && x > 0.0;
        let (least, most) = match (usable(least), usable(most)) {
            (true, true) if least <= most => (least, most),
            (_, true) => (most / 10.0, most),
            _ => (1.0, 10.0),
        };
        // Less than a factor of two would make noise look like a mountain.
        let (least, most) = if most / least < 2.0 {
            let middle = (least * most).sqrt();
            (middle / 1.5, middle * 1.5)
        } else {
            (least, most)
        };
        let room = (most / least).powf(0.04);
        Scale {
            law: Law::Log,
            values: (least / room, most * room),
            pixels,
        }
    }

    /// Where a value stands; beyond the ends at the ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        let part = |value: f64| match self.law {
            Law::Linear => (value - self.values.0) / (self.values.1 - self.values.0),
            Law::Log => (value / self.values.0).ln() / (self.values.1 / self.values.0).ln(),
        };
        let part = if value > 0.0 || self.law == Law::Linear {
            part(value)
        } else {
            0.0
        };
        let (from, to) = self.pixels;
        from + part.clamp(0.0, 1.0) * (to - from)
    }

    /// Whether a value lies within.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.values.0..=self.values.1).contains(&value)
    }

    /// The largest value.
    pub(super) fn most(&self) -> f64 {
        self.values.1
    }

    /// The ends in pixels.
    pub(super) fn pixels(&self) -> (f64, f64) {
        self.pixels
    }

    /// Round values within, about as many as are asked for.
    pub(super) fn ticks(&self, about: usize) -> Vec<f64> {
        match self.law {
            Law::Linear => linear_ticks(self.values, about),
            Law::Log => log_ticks(self.values, about),
        }
    }
}

/// The step of 1, 2 or 5 times a power of ten that parts `span` into at most
/// so many.
fn step(span: f64, parts: usize) -> f64 {
    let least = span / parts.max(1) as f64;
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|s| s * power);
    let fits = |s: &f64| *s >= least * (1.0 - 1e-9);
    steps.into_iter().find(fits).unwrap_or(10.0 * power)
}

fn linear_ticks((from, to): (f64, f64), about: usize) -> Vec<f64> {
    let step = step(to - from, about);
    let first = (from / step - 1e-9).ceil();
    let last = (to / step + 1e-9).floor();
    let count = (last - first).clamp(0.0, 100.0) as u32;
    // Multiplied and not added up, so that 0.3 is not 0.30000000000000004.
    let tick = |i: u32| {
        let value = (first + f64::from(i)) * step;
        let digits = 10f64.powf(step.log10().floor() - 1.0);
        (value / digits).round() * digits
    };
    (0..=count).map(tick).collect()
}

/// 1, 2 and 5 times powers of ten; only the powers where there are many; only
/// each so-manieth of them where there are very many.
fn log_ticks((from, to): (f64, f64), about: usize) -> Vec<f64> {
    let (low, high) = (from.log10().floor() as i32, to.log10().ceil() as i32);
    let within = |tick: &f64| *tick >= from * (1.0 - 1e-9) && *tick <= to * (1.0 + 1e-9);
    let with = |factors: &[f64], every: i32| -> Vec<f64> {
        let powers = (low..=high).filter(|power| power.rem_euclid(every) == 0);
        let ticks = powers.flat_map(|p| factors.iter().map(move |f| f * 10f64.powi(p)));
        ticks.filter(within).collect()
    };
    let choices: [(&[f64], i32); 6] = [
        (&[1.0, 2.0, 5.0], 1),
        (&[1.0, 3.0], 1),
        (&[1.0], 1),
        (&[1.0], 2),
        (&[1.0], 3),
        (&[1.0], 4),
    ];
    let all = choices.map(|(factors, every)| with(factors, every));
    let most = about + about / 2;
    let fits = all
        .iter()
        .find(|ticks| ticks.len() <= most && ticks.len() > 1);
    match fits.or(all.first()) {
        Some(ticks) if ticks.len() > 2 || to / from > 10.0 => ticks.clone(),
        // Over less than a decade equal steps look almost equal.
        _ => linear_ticks((from, to), about.max(6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn linear_ticks_are_1_2_or_5_times_a_power_of_ten() {
        let ticks = |most, about| Scale::from_zero(most, (0.0, 1.0), about).ticks(about);
        assert_eq!(ticks(100.0, 5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(1.0, 10)[3], 0.3);
        assert_eq!(
            ticks(2_034.0, 5),
            [0.0, 500.0, 1000.0, 1500.0, 2000.0, 2500.0]
        );
        assert_eq!(ticks(0.0, 5).len(), 6, "nothing measured still has an axis");
    }

    #[test]
    fn log_ticks_thin_out_as_decades_grow() {
        let ticks = |from, to| log_ticks((from, to), 6);
        assert_eq!(ticks(0.9, 11.0), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(ticks(1.0, 5e4), [1.0, 10.0, 100.0, 1e3, 1e4]);
        assert!(ticks(1e-9, 1e9).len() <= 9);
        assert_eq!(ticks(1.1, 2.4), [1.5, 2.0], "equal steps");
        assert_eq!(log_ticks((0.9, 420.0), 2), [1.0, 10.0, 100.0]);
        assert_eq!(ticks(900.0, 130_000.0), [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5]);
    }

    #[test]
    fn a_log_scale_has_a_place_for_what_cannot_be_there() {
        for (least, most) in [(0.0, 5.0), (f64::NAN, f64::NAN), (5.0, 5.0), (9.0, 3.0)] {
            let scale = Scale::log(least, most, (0.0, 100.0));
            for value in [0.0, -1.0, 5.0, f64::MAX] {
                assert!(
                    (0.0..=100.0).contains(&scale.at(value)),
                    "{least} {most} {value}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn more_is_further(a in 1e-6..1e9f64, b in 1e-6..1e9f64, log in any::<bool>()) {
            let (least, most) = (a.min(b), a.max(b));
            let scale = match log {
                true => Scale::log(least, most, (40.0, 600.0)),
                false => Scale::from_zero(most, (40.0, 600.0), 6),
            };
            prop_assert!(scale.at(least) <= scale.at(most));
            prop_assert!(scale.holds(least) && scale.holds(most));
            let ticks = scale.ticks(6);
            prop_assert!((2..=12).contains(&ticks.len()), "{ticks:?}");
            prop_assert!(ticks.is_sorted_by(|x, y| x < y), "{ticks:?}");
        }
    }
}
