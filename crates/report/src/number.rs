//! How numbers are written.

mod written;

pub(crate) use plimsoll_model::{counted, for_count};
pub(crate) use written::{Written, confidence, no_interval};

use plimsoll_model::{Estimate, human_duration};
use std::time::Duration;

/// What stands for a value that is not known.
pub(crate) const MISSING: &str = "-";

/// `12,345.6`: thousands apart, with so many decimals.
pub(crate) fn grouped(value: f64, decimals: usize) -> String {
    let plain = format!("{value:.decimals$}");
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", plain.as_str()),
    };
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = sign.to_owned();
    for (i, c) in whole.chars().enumerate() {
        // "inf" and "NaN" have no thousands.
        if i > 0 && (whole.len() - i).is_multiple_of(3) && c.is_ascii_digit() {
            out.push(',');
        }
        out.push(c);
    }
    out + fraction
}

/// A rate without its unit: `12.3`, `950`, `12,345`.
pub(crate) fn rate(rps: f64) -> String {
    grouped(rps, usize::from(rps < 99.95))
}

/// A value on an axis: no more decimals than it has, thousands apart.
pub(crate) fn tick(value: f64) -> String {
    let decimals = trimmed(value).split_once('.').map_or(0, |(_, d)| d.len());
    grouped(value, decimals)
}

/// A rate in a sentence: `12,345/s`.
pub(crate) fn per_second(rps: f64) -> String {
    rate(rps) + "/s"
}

pub(crate) fn pct(pct: f64) -> String {
    format!("{pct:.1}")
}

/// Percent of which a little is not nothing: `0`, `<0.01`, `0.25`.
pub(crate) fn small_pct(pct: f64) -> String {
    if pct == 0.0 {
        "0".to_owned()
    } else if pct > 0.0 && pct < 0.005 {
        "<0.01".to_owned()
    } else {
        format!("{pct:.2}")
    }
}

/// About three digits: `0.25`, `12.3`, `1,234`.
pub(crate) fn short(value: f64) -> String {
    let decimals = match value.abs() {
        x if x >= 99.95 => 0,
        x if x >= 9.995 => 1,
        _ => 2,
    };
    grouped(value, decimals)
}

/// Percent with a decimal only where it needs one: `80`, `33.3`.
pub(crate) fn trimmed_pct(pct: f64) -> String {
    ((pct * 10.0).round() / 10.0).to_string()
}

/// No more decimals than there are: `0.1`, `80`.
pub(crate) fn trimmed(value: f64) -> String {
    // Rounded, because 0.07 * 100 is 7.000000000000001 in binary.
    ((value * 1e6).round() / 1e6).to_string()
}

/// Microseconds in a sentence: `8.2ms`.
pub fn time_us(us: f64) -> String {
    Duration::try_from_secs_f64(us / 1e6).map_or_else(|_| MISSING.to_owned(), human_duration)
}

/// An estimate in microseconds with its interval: `57us (54us to 61us)`.
pub fn estimate_us(estimate: Option<Estimate>) -> String {
    let Some(estimate) = estimate else {
        return MISSING.to_owned();
    };
    let value = time_us(estimate.value);
    match (estimate.low.map(time_us), estimate.high.map(time_us)) {
        (Some(low), Some(high)) => format!("{value} ({low} to {high})"),
        (Some(low), None) => format!("{value} ({low} or more)"),
        (None, Some(high)) => format!("{value} ({high} or less)"),
        (None, None) => value,
    }
}

/// An estimate of any unit with its interval and at most so many decimals: `0.93 (0.91 to
/// 0.95)`.
pub fn estimate(estimate: Option<Estimate>, decimals: i32) -> String {
    let written = |found| Written::of(found, decimals).with_ends("");
    estimate.map_or_else(|| MISSING.to_owned(), written)
}

/// A unit of time that all values of a column are shown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeUnit {
    pub(crate) name: &'static str,
    us: u32,
    decimals: usize,
}

impl TimeUnit {
    /// The unit in which the largest of these microseconds is short, unless the
    /// smallest would be next to nothing in it, with as many decimals as show
    /// two digits of the smallest.
    pub(crate) fn of(values_us: impl Iterator<Item = f64> + Clone) -> TimeUnit {
        let largest = values_us.clone().fold(0.0, f64::max);
        let positive = values_us.filter(|us| *us > 0.0);
        let smallest = positive.fold(largest, f64::min);
        let (name, us) = match (largest, smallest) {
            (x, _) if x < 1e3 => ("us", 1),
            (x, least) if x < 1e7 || least < 1e4 => ("ms", 1000),
            _ => ("s", 1_000_000),
        };
        let decimals = match smallest / f64::from(us) {
            x if x >= 100.0 => 0,
            x if x >= 1.0 => 1,
            x if x >= 0.1 => 2,
            _ => 3,
        };
        TimeUnit { name, us, decimals }
    }

    pub(crate) fn show(self, us: f64) -> String {
        grouped(us / f64::from(self.us), self.decimals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_with_one_end_shows_it() {
        let of = |low, high| {
            let value = 0.05;
            estimate_us(Some(Estimate { value, low, high }))
        };
        assert_eq!(of(None, Some(0.06)), "50ns (60ns or less)");
        assert_eq!(of(Some(0.04), None), "50ns (40ns or more)");
        assert_eq!(of(None, None), "50ns");
    }

    #[test]
    fn rates_have_thousands_apart() {
        for (given, shown) in [
            (0.0, "0.0"),
            (12.34, "12.3"),
            (99.96, "100"),
            (999.6, "1,000"),
            (1_234_567.0, "1,234,567"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(rate(given), shown);
        }
        assert_eq!(grouped(-1234.5, 1), "-1,234.5");
    }

    #[test]
    fn a_few_errors_are_not_none() {
        let shown: Vec<_> = [0.0, 0.0001, 0.25, 12.0].map(small_pct).into();
        assert_eq!(shown, ["0", "<0.01", "0.25", "12.00"]);
    }

    #[test]
    fn one_unit_shows_the_smallest_and_the_largest_of_a_column() {
        for (values, unit, shown) in [
            (vec![120.0, 900.0], "us", vec!["120", "900"]),
            (vec![80.0, 180_000.0], "ms", vec!["0.080", "180.000"]),
            (vec![1_500.0, 21_000.0], "ms", vec!["1.5", "21.0"]),
            (vec![2_000.0, 12e6], "ms", vec!["2.0", "12,000.0"]),
            (vec![20_000.0, 12e6], "s", vec!["0.020", "12.000"]),
            (vec![0.0], "us", vec!["0.000"]),
            (vec![], "us", vec![]),
        ] {
            let chosen = TimeUnit::of(values.iter().copied());
            assert_eq!(chosen.name, unit, "{values:?}");
            let got: Vec<_> = values.iter().map(|us| chosen.show(*us)).collect();
            assert_eq!(got, shown);
        }
    }
}
