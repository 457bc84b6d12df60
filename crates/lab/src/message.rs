//! Messages of the control socket: a line of JSON each, such as `{"load": 60}`.

use crate::service::MOST_RPS;
use crate::target::Target;
use plimsoll_law::LatencyGoal;
use plimsoll_model::{Goal, LoadLevel, Rate};
use serde::Deserialize;

/// The longest line, in bytes.
const LONGEST: usize = 4096;

/// What a line asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Message {
    /// Another load from now on.
    Set(Target),
    /// What the last interval was.
    Status,
}

/// Why a line is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error("the line is longer than {LONGEST} bytes; send one message a line")]
    TooLong,
    #[error(
        "not a message; send one of {{\"rate\": 1200}} (requests per second), {{\"load\": 60}} (percent of the rating), {{\"until\": \"p95<75ms\"}} and {{\"status\": true}}"
    )]
    Unknown,
    #[error("{0} is not a rate; give requests per second, 0 to {MOST_RPS}")]
    Rate(String),
    #[error("{0} is not a load; give percent of the rating, 0.1 to 200")]
    Load(String),
    #[error("{0} is not a latency goal; give a percentile and a fixed time, such as p95<75ms")]
    Goal(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Line {
    Rate(f64),
    Load(f64),
    Until(String),
    Status(serde::de::IgnoredAny),
}

impl Message {
    /// # Errors
    /// The line asks for nothing, or for what cannot be.
    pub fn of_line(line: &[u8]) -> Result<Message, MessageError> {
        if line.len() > LONGEST {
            return Err(MessageError::TooLong);
        }
        match serde_json::from_slice(line).map_err(|_| MessageError::Unknown)? {
            Line::Rate(rate) => Rate::per_second(rate)
                .filter(|rate| rate.get() <= MOST_RPS)
                .map(|rate| Message::Set(Target::Rate(rate)))
                .ok_or_else(|| MessageError::Rate(rate.to_string())),
            Line::Load(pct) => LoadLevel::percent(pct)
                .map(|level| Message::Set(Target::Load(level)))
                .ok_or_else(|| MessageError::Load(pct.to_string())),
            Line::Until(text) => {
                let goal = text.parse::<Goal>().ok();
                goal.and_then(|goal| LatencyGoal::try_from(goal).ok())
                    .map(|goal| Message::Set(Target::Until(goal)))
                    .ok_or(MessageError::Goal(text))
            }
            Line::Status(_) => Ok(Message::Status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_messages_or_one_sentence() {
        let of = |line: &str| Message::of_line(line.as_bytes());
        let load = LoadLevel::percent(60.0).unwrap();
        assert_eq!(of("{\"load\": 60}\n"), Ok(Message::Set(Target::Load(load))));
        let rate = Rate::per_second(1200.5).unwrap();
        assert_eq!(
            of("{\"rate\":1200.5}"),
            Ok(Message::Set(Target::Rate(rate)))
        );
        assert_eq!(of("{\"status\":true}"), Ok(Message::Status));
        assert!(matches!(
            of("{\"until\":\"p99<5ms\"}"),
            Ok(Message::Set(Target::Until(_)))
        ));
        for garbage in [
            "",
            "{",
            "60",
            "{\"load\":60,\"rate\":1}",
            "{\"cpu\":1}",
            "\u{1b}[2J",
        ] {
            assert_eq!(of(garbage), Err(MessageError::Unknown), "{garbage}");
        }
        assert!(matches!(of("{\"load\":1e9}"), Err(MessageError::Load(_))));
        assert!(matches!(of("{\"rate\":-1}"), Err(MessageError::Rate(_))));
        assert!(matches!(of("{\"rate\":1e15}"), Err(MessageError::Rate(_))));
        assert!(matches!(
            of("{\"until\":\"p95\"}"),
            Err(MessageError::Goal(_))
        ));
        assert_eq!(of(&" ".repeat(5000)), Err(MessageError::TooLong));
        assert_eq!(Message::of_line(&[0xff, 0xfe]), Err(MessageError::Unknown));
    }
}
