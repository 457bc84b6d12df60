//! Parsers of values that several experiments take. An error says what is
//! wanted instead.

use plimsoll_model::{Bytes, CpuSet, Rate, ServiceWarmUp, Share, parse_duration};
use std::time::Duration;

/// A set of CPUs.
pub fn cpus(text: &str) -> Result<CpuSet, String> {
    let set: CpuSet = text.parse().map_err(|e| format!("{e}"))?;
    if set.is_empty() {
        return Err("it names no CPU; write it like 0-3,8".into());
    }
    Ok(set)
}

/// The number of a process.
pub fn pid(text: &str) -> Result<u32, String> {
    let number: Option<u32> = text.parse().ok();
    number
        .filter(|pid| *pid > 0)
        .ok_or_else(|| "give the number of a process, as ps -e lists it".into())
}

/// A cgroup, as a path below the mount. An unset shell variable is not the whole machine.
pub fn cgroup(text: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err("give a path below the cgroup mount, such as system.slice/redis.service; / is the whole machine".into()),
        false => Ok(text.to_owned()),
    }
}

/// A share of all CPU time.
pub fn share(text: &str) -> Result<Share, String> {
    let number = text
        .strip_suffix('%')
        .and_then(|n| n.trim().parse::<f64>().ok());
    number
        .and_then(|n| Share::new(n / 100.0))
        .ok_or_else(|| "give a share of all CPU time between 0% and 100%, such as 5%".into())
}

/// A share of anything.
pub fn share_of(text: &str) -> Result<Share, String> {
    share(text).map_err(|_| "give a share between 0% and 100%, such as 30%".into())
}

/// A size of a page or more.
pub fn size(text: &str) -> Result<Bytes, String> {
    size_from(Bytes(4096), text)
}

/// A size from `least` up.
pub fn size_from(least: Bytes, text: &str) -> Result<Bytes, String> {
    let wanted = || {
        format!(
            "give a size of at least {} with its unit, such as 500MiB or 2GiB (or 500M and 2G, \
             which are the same)",
            least.to_string().replace(".0 ", "")
        )
    };
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[digits.len()..];
    let letter = unit.chars().next().map(|c| c.to_ascii_uppercase());
    let shift = match letter {
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        Some('T') => 40,
        _ => return Err(wanted()),
    };
    if unit.len() == 2 && unit.to_ascii_uppercase().ends_with('B') {
        let letter = letter.unwrap_or_default();
        return Err(format!(
            "{unit} is a power of 1000 to some and of 1024 to others; write {digits}{letter}iB, \
             which is a power of 1024"
        ));
    }
    if unit.len() != 1 && !unit[1..].eq_ignore_ascii_case("iB") {
        return Err(wanted());
    }
    let number = digits;
    let number: f64 = number.trim().parse().map_err(|_| wanted())?;
    let bytes = number * f64::from(shift).exp2();
    // Up to 2^53 a float holds each number of bytes.
    match bytes.is_finite() && (least.0 as f64..=9.0e15).contains(&bytes) {
        true => Ok(Bytes(bytes as u64)),
        false => Err(wanted()),
    }
}

/// A time above zero.
pub fn positive_duration(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|d| !d.is_zero() && *d <= Duration::from_secs(86_400))
        .ok_or_else(|| {
            "give a time above 0 and up to a day with its unit, such as 10s, 250ms, 2m".into()
        })
}

/// How long a service is loaded before anything is measured.
pub fn service_warm_up(text: &str) -> Result<ServiceWarmUp, String> {
    let time = positive_duration(text).ok().map(ServiceWarmUp::Time);
    let requests = || {
        text.parse()
            .ok()
            .filter(|n| (1..=1_000_000_000).contains(n))
    };
    time.or_else(|| requests().map(ServiceWarmUp::Requests))
        .ok_or_else(|| {
            "give a time up to a day with its unit, such as 30s, or a number of requests, such as 50000"
                .to_owned()
        })
}

/// A rate of requests.
pub fn rate(text: &str) -> Result<Rate, String> {
    let number: f64 = text.parse().map_err(|_| WANTED_RATE.to_owned())?;
    Rate::per_second(number)
        .filter(|r| (0.01..=1e9).contains(&r.get()))
        .ok_or_else(|| WANTED_RATE.to_owned())
}

const WANTED_RATE: &str = "give requests per second between 0.01 and 1000000000, such as 5000";

/// How long a trial measures.
pub fn window(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|d| (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(d))
        .ok_or_else(|| "give a time between 100ms and 1h with its unit, such as 5s".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_is_a_time_or_a_number_of_requests() {
        let time = ServiceWarmUp::Time(Duration::from_secs(30));
        assert_eq!(service_warm_up("30s"), Ok(time));
        assert_eq!(service_warm_up("500"), Ok(ServiceWarmUp::Requests(500)));
        for bad in ["0", "0s", "-1", "1e3", "30x", "", "25h"] {
            assert!(service_warm_up(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn invalid_times_are_refused() {
        for bad in ["0s", "-5s", "5", "NaNs", "1000h", ""] {
            assert!(positive_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn invalid_numbers_are_refused() {
        for bad in ["0", "-1", "NaN", "inf", "1e300", "fast", ""] {
            assert!(rate(bad).is_err(), "{bad}");
        }
        for bad in ["0s", "-5s", "5", "NaNs", "1000h", ""] {
            assert!(window(bad).is_err(), "{bad}");
        }
    }
}
