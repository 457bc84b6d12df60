//! Values that several commands take: their text to what it means, or what is
//! wanted instead.

use plimsoll_model::{Bytes, parse_duration};
use std::time::Duration;

pub(super) fn words(text: &str) -> Result<String, String> {
    let words = text.trim();
    let fits = !words.is_empty() && words.chars().count() <= 500;
    fits.then(|| words.to_owned())
        .ok_or_else(|| "give 1 to 500 characters".into())
}

/// The law's periods: below, the kernel's clock ticks are all that is seen.
pub(super) fn period(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|d| (Duration::from_millis(100)..=Duration::from_secs(10)).contains(d))
        .ok_or_else(|| "give a time between 100ms and 10s with its unit, such as 1s".into())
}

pub(super) fn bytes(text: &str) -> Result<Bytes, String> {
    const WANTED: &str = "give a size of at least 1MiB with its unit, such as 500MiB or 2GiB \
         (or 500M and 2G, which are the same)";
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[digits.len()..];
    let letter = unit.chars().next().map(|c| c.to_ascii_uppercase());
    let shift = match letter {
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        Some('T') => 40,
        _ => return Err(WANTED.into()),
    };
    if unit.len() == 2 && unit.to_ascii_uppercase().ends_with('B') {
        let letter = letter.unwrap_or_default();
        return Err(format!(
            "{unit} is a power of 1000 to some and of 1024 to others; write {digits}{letter}iB, \
             which is a power of 1024"
        ));
    }
    if unit.len() != 1 && !unit[1..].eq_ignore_ascii_case("iB") {
        return Err(WANTED.into());
    }
    let number = digits;
    let number: f64 = number.trim().parse().map_err(|_| WANTED)?;
    let bytes = number * f64::from(shift).exp2();
    // Up to 2^53 a float holds each number of bytes.
    match bytes.is_finite() && (1_048_576.0..=9.0e15).contains(&bytes) {
        true => Ok(Bytes(bytes as u64)),
        false => Err(WANTED.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_need_a_unit_and_make_sense() {
        assert_eq!(bytes("2GiB"), Ok(Bytes(2 << 30)));
        assert_eq!(bytes("1.5 MiB"), Ok(Bytes(3 << 19)));
        for same in ["2G", "2g", "2gib", "2048M", "2 GiB", "2097152K"] {
            assert_eq!(bytes(same), Ok(Bytes(2 << 30)), "{same}");
        }
        for bad in [
            "0GiB", "-1GiB", "2", "1KiB", "NaNGiB", "infTiB", "", "2Gi", "2GiBs", "2X", "G", "2é",
        ] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
        assert!(bytes("10MB").unwrap_err().contains("write 10MiB"));
    }

    #[test]
    fn periods_are_no_shorter_than_the_clock_shows() {
        assert!(period("1s").is_ok());
        for bad in ["10ms", "0s", "1", "1m", "-1s"] {
            assert!(period(bad).is_err(), "{bad}");
        }
    }
}
