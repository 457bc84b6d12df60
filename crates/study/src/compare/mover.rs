//! Intervals of differences and quotients of independent estimates.
//!
//! The distances from value to limit are squared and added (MOVER: Zou and
//! Donner, "Construction of confidence intervals about effect measures: a
//! general approach", *Statistics in Medicine* 27, 2008). For `d = b - a`:
//!
//! ```text
//! lower = d - sqrt((b - b_low)^2 + (a_high - a)^2)
//! upper = d + sqrt((b_high - b)^2 + (a - a_low)^2)
//! ```
//!
//! It needs no symmetry, and an end that is not known leaves one end of the
//! difference open and not both. A quotient is a difference of logarithms.

use plimsoll_model::Estimate;

/// `b - a` of independent estimates.
pub(super) fn difference_of(b: Estimate, a: Estimate) -> Estimate {
    let value = b.value - a.value;
    let reach =
        |one: Option<f64>, other: Option<f64>| Some((one? - b.value).hypot(other? - a.value));
    Estimate {
        value,
        low: reach(b.low, a.high).map(|r| value - r),
        high: reach(b.high, a.low).map(|r| value + r),
    }
}

/// `b / a` of independent estimates; `None` unless both are above 0.
pub(super) fn ratio_of(b: Estimate, a: Estimate) -> Option<Estimate> {
    let positive = |e: Estimate| e.value > 0.0 && e.value.is_finite();
    if !positive(a) || !positive(b) {
        return None;
    }
    // The logarithm of a lower end of 0 is no number to reckon with; it opens
    // the interval.
    let log = |e: Estimate| Estimate {
        value: e.value.ln(),
        low: e.low.filter(|x| *x > 0.0).map(f64::ln),
        high: e.high.filter(|x| x.is_finite()).map(f64::ln),
    };
    Some(difference_of(log(b), log(a)).map_rising(f64::exp))
}
