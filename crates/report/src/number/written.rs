//! How estimates are written: a digit that the interval does not support would
//! be made up.

use super::{grouped, trimmed_pct};
use crate::sentence::words_of;
use plimsoll_model::{CONFIDENCE, Estimate};

/// An estimate in writing, without its unit: no more digits than its interval
/// supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) value: String,
    pub(crate) low: Option<String>,
    pub(crate) high: Option<String>,
}

impl Written {
    /// With `most` decimals at most. The ends are rounded outwards, so that no
    /// more is claimed than was found.
    pub(crate) fn of(estimate: Estimate, most: i32) -> Written {
        let decimals = supported(estimate, most);
        Written {
            value: rounded(estimate.value, decimals, f64::round),
            low: estimate.low.map(|low| rounded(low, decimals, f64::floor)),
            high: estimate.high.map(|high| rounded(high, decimals, f64::ceil)),
        }
    }

    /// A value with as many digits as another estimate supports.
    pub(crate) fn at(value: f64, like: Estimate, most: i32) -> String {
        rounded(value, supported(like, most), f64::round)
    }

    /// A rate in requests per second.
    pub(crate) fn rate(estimate: Estimate) -> Written {
        let most = match estimate.value {
            x if x >= 99.95 => 0,
            x if x >= 9.995 => 1,
            _ => 2,
        };
        Written::of(estimate, most)
    }

    /// A share or CPU use in percent.
    pub(crate) fn pct(estimate: Estimate) -> Written {
        Written::of(estimate, 1)
    }

    /// A CPU use in percent that is acted on. Without a lower end it is the
    /// value that is typed into an autoscaler, so it is rounded down: acting
    /// too late is what costs.
    pub(crate) fn to_act_at(cpu_pct: Estimate) -> Written {
        let mut written = Written::pct(cpu_pct);
        if cpu_pct.low.is_none() {
            written.value = rounded(cpu_pct.value, supported(cpu_pct, 1), f64::floor);
        }
        written
    }

    /// The lower end, where there is one, else the value.
    pub(crate) fn least(&self) -> &str {
        self.low.as_ref().unwrap_or(&self.value)
    }

    /// The upper end, where there is one, else the value.
    pub(crate) fn most(&self) -> &str {
        self.high.as_ref().unwrap_or(&self.value)
    }

    /// `12,100 to 12,600`; `12,100 or more` and `12,600 or less` where the
    /// other end is not known. A single end at the value itself is left out.
    pub(crate) fn ends(&self) -> Option<String> {
        let tells = |end: &&String| **end != self.value;
        match (&self.low, &self.high) {
            (Some(low), Some(high)) => Some(format!("{low} to {high}")),
            (Some(low), None) => Some(low).filter(tells).map(|low| format!("{low} or more")),
            (None, Some(high)) => Some(high)
                .filter(tells)
                .map(|high| format!("{high} or less")),
            (None, None) => None,
        }
    }

    /// `76.0 % (74.1 to 78.3)`, and without ends `76.0 %`.
    pub(crate) fn with_ends(&self, unit: &str) -> String {
        format!("{}{unit}{}", self.value, self.ends_in_brackets())
    }

    /// The same, which without ends says of how few trials that comes: `76.0 % (no interval: one
    /// trial)`.
    pub(crate) fn with_ends_of(&self, unit: &str, trials: u32) -> String {
        let none = || format!(" ({})", no_interval(trials));
        let ends = self.ends().map_or_else(none, |ends| format!(" ({ends})"));
        format!("{}{unit}{ends}", self.value)
    }

    /// ` (74.1 to 78.3)`, and without ends nothing.
    pub(crate) fn ends_in_brackets(&self) -> String {
        words_of(self.ends(), |ends| format!(" ({ends})"))
    }
}

/// `no interval: one trial`
pub(crate) fn no_interval(trials: u32) -> String {
    match trials {
        1 => "no interval: one trial".to_owned(),
        n => format!("no interval: {n} trials"),
    }
}

/// How many decimals, or below zero how many noughts, leave two digits of the
/// half width of the interval: the next one would be made up. One digit of the
/// value stays in any case.
fn supported(estimate: Estimate, most: i32) -> i32 {
    let half_width = match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => (high - low) / 2.0,
        (Some(low), None) => estimate.value - low,
        (None, Some(high)) => high - estimate.value,
        (None, None) => 0.0,
    };
    if !(half_width > 0.0 && half_width.is_finite()) {
        return most;
    }
    let place = |value: f64| value.abs().log10().floor() as i32;
    let by_value = if estimate.value == 0.0 {
        i32::MIN
    } else {
        -place(estimate.value)
    };
    (1 - place(half_width)).max(by_value).min(most)
}

fn rounded(value: f64, decimals: i32, to: fn(f64) -> f64) -> String {
    let scale = 10f64.powi(decimals);
    let scaled = value * scale;
    // 71.3 is 712.9999999999999 tenths in binary, and must not become 71.2.
    let near = scaled.round();
    let is_near = (scaled - near).abs() < 1e-6;
    // Plus nothing, because there is a nought below zero too.
    let rounded = (if is_near { near } else { to(scaled) }) / scale + 0.0;
    grouped(rounded, usize::try_from(decimals).unwrap_or(0))
}

/// `95 %`: how sure every interval is.
pub(crate) fn confidence() -> String {
    format!("{} %", trimmed_pct(100.0 * CONFIDENCE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_more_digits_are_written_than_the_interval_supports() {
        for (value, low, high, shown) in [
            (12_345.0, 12_104.0, 12_596.0, "12,350 (12,100 to 12,600)"),
            (12_345.0, 12_340.2, 12_350.9, "12,345 (12,340 to 12,351)"),
            (123_456.0, 110e3, 140e3, "123,000 (110,000 to 140,000)"),
            (12.345, 12.339, 12.351, "12.3 (12.3 to 12.4)"),
            (2.4712, 2.46, 2.48, "2.47 (2.46 to 2.48)"),
            (50.0, 0.0, 5000.0, "50 (0 to 5,000)"),
        ] {
            let written = Written::rate(Estimate::within(value, low, high));
            assert_eq!(written.with_ends(""), shown);
        }
        for (value, low, high, shown) in [
            (71.3, 71.3, 71.3, "71.3 % (71.3 to 71.3)"),
            (-0.01, -4.21, 3.0, "0.0 % (-4.3 to 3.0)"),
        ] {
            let written = Written::pct(Estimate::within(value, low, high));
            assert_eq!(written.with_ends(" %"), shown);
        }
    }

    #[test]
    fn what_is_acted_on_is_never_rounded_up() {
        for (cpu, least, value) in [
            (Estimate::alone(56.78), "56.7", "56.7"),
            (Estimate::alone(71.3), "71.3", "71.3"),
            (Estimate::within(48.71, 44.19, 52.9), "44.1", "48.7"),
            (Estimate::within(48.7, 31.9, 70.2), "31", "49"),
        ] {
            let written = Written::to_act_at(cpu);
            assert_eq!((written.least(), &*written.value), (least, value));
        }
    }

    #[test]
    fn one_end_or_none_is_written_as_such() {
        let one = |low, high| Estimate {
            value: 9_100.0,
            low,
            high,
        };
        for (low, high, shown) in [
            (Some(9_100.0), None, "9,100/s"),
            (Some(8_880.0), None, "9,100/s (8,880 or more)"),
            (None, Some(9_200.0), "9,100/s (9,200 or less)"),
            (None, None, "9,100/s"),
        ] {
            assert_eq!(Written::rate(one(low, high)).with_ends("/s"), shown);
        }
        assert_eq!(confidence(), "95 %");
    }

    proptest! {
        #[test]
        fn what_is_written_holds_what_was_found(
            value in 0.01..1e7f64, below in 0.0..0.9f64, above in 0.0..9.0f64,
        ) {
            let (low, high) = (value * (1.0 - below), value * (1.0 + above));
            let written = Written::rate(Estimate::within(value, low, high));
            let read = |text: &str| text.replace(',', "").parse::<f64>().unwrap();
            let ends = written.ends().unwrap();
            let (from, to) = ends.split_once(" to ").unwrap();
            let near = 1e-5 * high + 1e-5;
            prop_assert!(read(from) <= low + near && read(to) >= high - near, "{ends}");
            let value = read(&written.value);
            prop_assert!(read(from) <= value && value <= read(to), "{ends} {value}");
            // Not much wider than it was.
            let slack = 0.3 * (high - low) + 0.02 + 0.002 * value;
            prop_assert!(read(to) - read(from) <= high - low + slack + 2.0, "{ends}");
        }
    }
}
