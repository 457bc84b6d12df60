//! Values that several commands take: their text to what it means, or what is
//! wanted instead.

use plimsoll_model::{CpuSet, Share, parse_duration};
use std::time::Duration;

pub(super) fn cpus(text: &str) -> Result<CpuSet, String> {
    let set: CpuSet = text.parse().map_err(|e| format!("{e}"))?;
    if set.is_empty() {
        return Err("it names no CPU; write it like 0-3,8".into());
    }
    Ok(set)
}

pub(super) fn words(text: &str) -> Result<String, String> {
    let words = text.trim();
    let fits = !words.is_empty() && words.chars().count() <= 500;
    fits.then(|| words.to_owned())
        .ok_or_else(|| "give 1 to 500 characters".into())
}

pub(super) fn share(text: &str) -> Result<Share, String> {
    let number = text
        .strip_suffix('%')
        .and_then(|n| n.trim().parse::<f64>().ok());
    number
        .and_then(|n| Share::new(n / 100.0))
        .ok_or_else(|| "give a share of all CPU time between 0% and 100%, such as 5%".into())
}

pub(super) fn positive_duration(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|d| !d.is_zero() && *d <= Duration::from_secs(86_400))
        .ok_or_else(|| {
            "give a time above 0 and up to a day with its unit, such as 10s, 250ms, 2m".into()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_are_none_are_refused() {
        for bad in ["0s", "-5s", "5", "NaNs", "1000h", ""] {
            assert!(positive_duration(bad).is_err(), "{bad}");
        }
    }
}
