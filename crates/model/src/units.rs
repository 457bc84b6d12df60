//! Units that are not time. Time is [`Duration`] everywhere inside.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Events per second: finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rate(f64);

impl TryFrom<f64> for Rate {
    type Error = OutOfRange;

    fn try_from(n: f64) -> Result<Rate, OutOfRange> {
        Rate::per_second(n).ok_or(OutOfRange("a rate", n))
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> f64 {
        rate.0
    }
}

/// A number that a unit does not take: which unit, and the number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutOfRange(&'static str, f64);

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is out of range for {}", self.1, self.0)
    }
}

impl std::error::Error for OutOfRange {}

impl Rate {
    pub const ZERO: Rate = Rate(0.0);

    /// A rate of `n` per second; `None` if `n` is negative, NaN or infinite.
    pub fn per_second(n: f64) -> Option<Rate> {
        (n.is_finite() && n >= 0.0).then_some(Rate(n))
    }

    /// `count` events in `time`; zero when no time has passed.
    pub fn of(count: u64, time: Duration) -> Rate {
        if time.is_zero() {
            return Rate::ZERO;
        }
        Rate(count as f64 / time.as_secs_f64())
    }

    pub fn get(self) -> f64 {
        self.0
    }

    /// This rate times a factor that is finite and not negative; others give zero.
    pub fn times(self, factor: f64) -> Rate {
        Rate::per_second(self.0 * factor).unwrap_or(Rate::ZERO)
    }
}

impl fmt::Display for Rate {
    /// `950/s`, `12.3/s`, `12,345/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 100.0 {
            write!(f, "{:.1}/s", self.0)
        } else {
            write!(f, "{}/s", thousands(self.0.round() as u64))
        }
    }
}

fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A part of a whole, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share(f64);

impl TryFrom<f64> for Share {
    type Error = OutOfRange;

    fn try_from(x: f64) -> Result<Share, OutOfRange> {
        Share::new(x).ok_or(OutOfRange("a share", x))
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> f64 {
        share.0
    }
}

impl Share {
    pub const ZERO: Share = Share(0.0);
    pub const ONE: Share = Share(1.0);

    /// `x` as a share; `None` unless 0 <= x <= 1.
    pub fn new(x: f64) -> Option<Share> {
        (0.0..=1.0).contains(&x).then_some(Share(x))
    }

    /// `part / whole`, held within 0..=1 because two clocks may disagree by a
    /// tick; `None` when the whole is nothing.
    pub fn of(part: Duration, whole: Duration) -> Option<Share> {
        if whole.is_zero() {
            return None;
        }
        Some(Share(
            (part.as_secs_f64() / whole.as_secs_f64()).clamp(0.0, 1.0),
        ))
    }

    pub fn get(self) -> f64 {
        self.0
    }

    pub fn pct(self) -> f64 {
        self.0 * 100.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} %", self.pct())
    }
}

/// Time that a CPU spent on something, summed over CPUs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct CpuTime(#[serde(with = "crate::Ns")] pub Duration);

impl CpuTime {
    pub const ZERO: CpuTime = CpuTime(Duration::ZERO);

    /// What has been added since `earlier`; zero if the counter went back.
    pub fn since(self, earlier: CpuTime) -> CpuTime {
        CpuTime(self.0.saturating_sub(earlier.0))
    }

    /// This much CPU time per one of `n`, in microseconds; `None` for n = 0.
    pub fn us_per(self, n: f64) -> Option<f64> {
        (n > 0.0).then(|| self.0.as_secs_f64() * 1e6 / n)
    }
}

impl std::ops::Add for CpuTime {
    type Output = CpuTime;
    fn add(self, other: CpuTime) -> CpuTime {
        CpuTime(self.0 + other.0)
    }
}

impl std::iter::Sum for CpuTime {
    fn sum<I: Iterator<Item = CpuTime>>(iter: I) -> CpuTime {
        iter.fold(CpuTime::ZERO, |a, b| a + b)
    }
}

/// A number of bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    /// `512 B`, `16.0 KiB`, `3.2 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = UNITS[0];
        for next in &UNITS[1..] {
            if value < 1024.0 {
                break;
            }
            value /= 1024.0;
            unit = next;
        }
        write!(f, "{value:.1} {unit}")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Energy(pub f64);

/// Reads `250us`, `10ms`, `1.5s`, `2m`; a bare number has no unit and is refused.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic() || c == 'µ')?;
    let (number, unit) = text.split_at(split);
    let seconds_per_unit = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let value: f64 = number.trim().parse().ok()?;
    if !value.is_finite() || value < 0.0 {
        return None;
    }
    Duration::try_from_secs_f64(value * seconds_per_unit).ok()
}

/// Prints a duration with three significant digits: `250us`, `1.5ms`, `12.3s`.
pub fn human_duration(d: Duration) -> String {
    let ns = d.as_nanos() as f64;
    let (value, unit) = match ns {
        ..1e3 => (ns, "ns"),
        ..1e6 => (ns / 1e3, "us"),
        ..1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}{unit}")
}

/// `45 s`, `3:05 min`, `2.5 h`: a time that is estimated.
pub fn human_minutes(d: Duration) -> String {
    let seconds = d.as_secs_f64().round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        7200.. => format!("{:.1} h", seconds as f64 / 3600.0),
        _ => format!("{}:{:02} min", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_rates_are_refused() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate::per_second(bad), None, "{bad}");
        }
        assert_eq!(Rate::of(10, Duration::ZERO), Rate::ZERO);
    }

    #[test]
    fn a_recorded_number_out_of_range_is_refused() {
        for (n, rate, share) in [(0.5, true, true), (7.0, true, false), (-1.0, false, false)] {
            assert_eq!(Rate::try_from(n).is_ok(), rate, "{n}");
            assert_eq!(Share::try_from(n).is_ok(), share, "{n}");
        }
    }

    #[test]
    fn rates_read_like_numbers() {
        let show = |n| Rate::per_second(n).unwrap().to_string();
        assert_eq!(show(12.34), "12.3/s");
        assert_eq!(show(950.4), "950/s");
        assert_eq!(show(1_234_567.0), "1,234,567/s");
    }

    #[test]
    fn durations_need_a_unit_and_round_trip() {
        for text in ["250us", "10ms", "1.5s", "12.3ms"] {
            assert_eq!(human_duration(parse_duration(text).unwrap()), text);
        }
        for bad in ["", "10", "ms", "-1ms", "NaNms", "infs", "1 fortnight"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn shares_stay_within_the_whole() {
        assert_eq!(Share::new(1.01), None);
        assert_eq!(Share::new(f64::NAN), None);
        let tick_over = Share::of(Duration::from_millis(1010), Duration::from_secs(1));
        assert_eq!(tick_over, Some(Share::ONE));
        assert_eq!(Share::of(Duration::ZERO, Duration::ZERO), None);
    }

    #[test]
    fn bytes_choose_their_unit() {
        assert_eq!(Bytes(512).to_string(), "512 B");
        assert_eq!(Bytes(16 << 10).to_string(), "16.0 KiB");
        assert_eq!(Bytes(10 << 30).to_string(), "10.0 GiB");
    }

    #[test]
    fn estimated_times_read_like_a_clock() {
        assert_eq!(human_minutes(Duration::from_millis(44_600)), "45 s");
        assert_eq!(human_minutes(Duration::from_secs(185)), "3:05 min");
    }
}
