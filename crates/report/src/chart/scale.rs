//! From values to places along an axis, and where its ticks are.

/// How values are spread along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// Equal steps for equal differences.
    Linear {
        /// The value at the beginning.
        low: f64,
        /// The value at the end.
        high: f64,
    },
    /// Equal steps for equal ratios; both ends are above 0.
    Log {
        /// The value at the beginning.
        low: f64,
        /// The value at the end.
        high: f64,
    },
}

/// Where the marks of a decade are.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

impl Scale {
    /// From 0 to the largest of `values`; to 1 where there is none.
    pub fn from_zero(values: impl Iterator<Item = f64>) -> Scale {
        let largest = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        Scale::Linear {
            low: 0.0,
            high: if largest > 0.0 { largest } else { 1.0 },
        }
    }

    /// A logarithmic scale around those of `values` that are above 0, from a
    /// 1, 2 or 5 of a decade to another; `None` where there is none.
    pub fn around(values: impl Iterator<Item = f64>) -> Option<Scale> {
        let positive = values.filter(|v| v.is_finite() && *v > 0.0);
        let (least, most) = positive.fold((f64::INFINITY, 0.0), |(least, most), v| {
            (v.min(least), v.max(most))
        });
        if most <= 0.0 {
            return None;
        }
        let low = step_at_most(least);
        let high = step_at_least(most);
        let high = if high > low { high } else { 10.0 * low };
        Some(Scale::Log { low, high })
    }

    /// Where `value` is, from 0 to 1; `None` outside of the axis.
    pub fn place(self, value: f64) -> Option<f64> {
        let share = match self {
            Scale::Linear { low, high } => (value - low) / (high - low),
            Scale::Log { low, high } => (value / low).ln() / (high / low).ln(),
        };
        // A hair beyond the end is a rounding error and not another value.
        let within = (-1e-9..=1.0 + 1e-9).contains(&share);
        within.then(|| share.clamp(0.0, 1.0))
    }

    /// The round values on the axis, ascending: as many as there are up to
    /// `most`, at the finest step that allows it.
    pub fn ticks(self, most: usize) -> Vec<f64> {
        let most = most.max(1);
        match self {
            Scale::Linear { low, high } => {
                let step = step_at_least((high - low) / most as f64);
                let first = (low / step).ceil() as i64;
                let last = (high / step + 1e-9).floor() as i64;
                (first..=last).map(|n| n as f64 * step).collect()
            }
            Scale::Log { low, high } => log_ticks(low, high, most),
        }
    }
}

/// 1, 2 and 5 of each decade, or each decade, or every second one, and so on.
fn log_ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let (from, to) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let within = |v: &f64| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(v);
    let fine = (from..=to).flat_map(|decade| STEPS.map(|step| step * 10f64.powi(decade)));
    let fine: Vec<f64> = fine.filter(within).collect();
    if fine.len() <= most {
        return fine;
    }
    let decades: Vec<f64> = (from..=to)
        .map(|decade| 10f64.powi(decade))
        .filter(within)
        .collect();
    let every = decades.len().div_ceil(most).max(1);
    if decades.is_empty() {
        // Less than a decade, and little room.
        return fine.into_iter().take(most).collect();
    }
    decades.into_iter().step_by(every).collect()
}

/// The largest 1, 2 or 5 of a decade that is no more than `value`.
fn step_at_most(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let fits = |step: &&f64| **step * decade <= value * (1.0 + 1e-9);
    STEPS.iter().rev().find(fits).unwrap_or(&1.0) * decade
}

/// The smallest 1, 2 or 5 of a decade that is no less than `value`.
fn step_at_least(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let fits = |step: &&f64| **step * decade >= value * (1.0 - 1e-9);
    STEPS.iter().find(fits).unwrap_or(&10.0) * decade
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_and_no_more_than_fit() {
        let linear = Scale::from_zero([1_999.0].into_iter());
        assert_eq!(linear.ticks(5), [0.0, 500.0, 1000.0, 1500.0]);
        assert_eq!(linear.ticks(2), [0.0, 1000.0]);
        let log = Scale::around([300.0, 130_000.0].into_iter()).unwrap();
        let (low, high) = (200.0, 200_000.0);
        assert_eq!(log, Scale::Log { low, high });
        assert_eq!(log.ticks(4), [1e3, 1e4, 1e5]);
        assert_eq!(log.ticks(12).first(), Some(&200.0));
        assert_eq!(log.ticks(1), [1e3]);
    }

    #[test]
    fn one_value_alone_has_a_scale_around_it() {
        for value in [1.0, 3.0, 1e-3, 7e8] {
            let scale = Scale::around([value].into_iter()).unwrap();
            assert!(scale.place(value).is_some(), "{value}: {scale:?}");
            assert!(!scale.ticks(4).is_empty(), "{value}: {scale:?}");
        }
        assert_eq!(Scale::around([0.0, f64::NAN].into_iter()), None);
        assert_eq!(Scale::from_zero([].into_iter()).place(1.0), Some(1.0));
    }

    proptest! {
        #[test]
        fn every_value_that_a_scale_was_made_for_is_on_it_in_order(
            mut values in prop::collection::vec(1e-6f64..1e9, 2..20), most in 1usize..12,
        ) {
            values.sort_by(f64::total_cmp);
            let scales = [
                Scale::from_zero(values.iter().copied()),
                Scale::around(values.iter().copied()).unwrap(),
            ];
            for scale in scales {
                let places: Vec<f64> = values.iter().map(|v| scale.place(*v).unwrap()).collect();
                prop_assert!(places.is_sorted());
                let ticks = scale.ticks(most);
                prop_assert!(ticks.len() <= most + 1 && !ticks.is_empty());
                prop_assert!(ticks.iter().all(|t| scale.place(*t).is_some()));
            }
        }
    }
}
