use plimsoll_model::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The share of the machine that stays free while a sideload runs, 1 to 90 %.
///
/// ```
/// use plimsoll_law::Headroom;
///
/// let headroom: Headroom = "20%".parse()?;
/// assert_eq!(headroom.share().get(), 0.2);
/// assert_eq!(headroom.to_string(), "20 %");
/// # Ok::<(), plimsoll_law::HeadroomError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Share", into = "Share")]
pub struct Headroom(Share);

impl Headroom {
    /// Lower bound. Without headroom, a machine filled by the service looks
    /// like one filled by the sideload, and the kernel's clock ticks do not
    /// resolve less than 1 %.
    pub const MIN_PCT: f64 = 1.0;
    /// Upper bound: the remainder is too little to run a sideload.
    pub const MAX_PCT: f64 = 90.0;

    /// # Errors
    /// [`HeadroomError`] unless `pct` is within 1 to 90.
    pub fn pct(pct: f64) -> Result<Headroom, HeadroomError> {
        let share = Share::new(pct / 100.0).filter(|_| pct <= Self::MAX_PCT);
        let why = match share {
            _ if pct.is_nan() => NOT_A_NUMBER,
            _ if pct < 0.0 => "it is negative",
            _ if pct < Self::MIN_PCT => {
                "below 1 % a higher demand of the service cannot be detected"
            }
            Some(share) => return Ok(Headroom(share)),
            None => "it leaves the sideload too little CPU to run",
        };
        let given = pct.to_string();
        Err(HeadroomError { given, why })
    }

    pub fn share(self) -> Share {
        self.0
    }
}

impl Default for Headroom {
    /// 20 %: the default of resctl-demo; also, waiting times rise steeply
    /// beyond 80 % utilization.
    fn default() -> Headroom {
        Headroom(Share::new(0.2).unwrap_or(Share::ZERO))
    }
}

impl fmt::Display for Headroom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded, because 0.07 * 100 is 7.000000000000001 in binary.
        write!(f, "{} %", (self.0.pct() * 1e6).round() / 1e6)
    }
}

impl FromStr for Headroom {
    type Err = HeadroomError;

    /// Parses `20`, `20%` or `12.5 %`.
    fn from_str(text: &str) -> Result<Headroom, HeadroomError> {
        let fail = |why| HeadroomError {
            given: text.to_owned(),
            why,
        };
        let number = text.trim().trim_end_matches('%').trim_end();
        let pct: f64 = number.parse().map_err(|_| fail(NOT_A_NUMBER))?;
        Headroom::pct(pct).map_err(|e| fail(e.why))
    }
}

impl TryFrom<Share> for Headroom {
    type Error = HeadroomError;
    fn try_from(share: Share) -> Result<Headroom, HeadroomError> {
        // The share itself is kept, because conversion to percent may change
        // its last bit.
        Headroom::pct(share.pct()).map(|_| Headroom(share))
    }
}

impl From<Headroom> for Share {
    fn from(headroom: Headroom) -> Share {
        headroom.0
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{given}' is not a headroom: {why}; give 1 to 90 percent of the machine, such as 20")]
pub struct HeadroomError {
    given: String,
    why: &'static str,
}

const NOT_A_NUMBER: &str = "it is not a number";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_headroom_is_refused_in_one_sentence() {
        let error = |text: &str| text.parse::<Headroom>().unwrap_err().to_string();
        assert_eq!(
            error("0"),
            "'0' is not a headroom: below 1 % a higher demand of the service cannot be detected; \
             give 1 to 90 percent of the machine, such as 20"
        );
        assert!(error("100").contains("too little CPU to run"));
        assert!(error("-5").contains("it is negative"));
        for text in ["abc", "", "%", "NaN", "20 percent"] {
            assert!(error(text).contains("not a number"), "{text}");
        }
        assert!(error("inf").contains("too little CPU"));
    }

    #[test]
    fn headroom_parses_and_prints_percent() {
        for (text, printed) in [("20", "20 %"), ("7%", "7 %"), (" 12.5 % ", "12.5 %")] {
            assert_eq!(text.parse::<Headroom>().unwrap().to_string(), printed);
        }
        assert_eq!(Headroom::default(), "20".parse().unwrap());
    }

    #[test]
    fn deserialization_checks_the_headroom() {
        assert!(serde_json::from_str::<Headroom>("0.2").is_ok());
        for text in ["0.0", "1.0", "-0.1", "null"] {
            assert!(serde_json::from_str::<Headroom>(text).is_err(), "{text}");
        }
    }
}
