//! What a browser may send: a line of JSON each.

use crate::demo::state::{Button, Event, Knob, MOST_HEADROOM, MOST_LOAD, State};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Message {
    /// In percent of the rating.
    Load(f64),
    /// In percent of the CPU time.
    Headroom(f64),
    /// Whether the load follows the latency goal.
    Goal(bool),
    Press(Button),
    /// A page by its place, from 0.
    Page(usize),
    /// Shows or hides the findings.
    Findings,
    Back,
    Reset,
    Quit,
}

impl Message {
    /// # Errors
    /// It is no message, as a sentence.
    pub(super) fn read(body: &[u8]) -> Result<Message, String> {
        serde_json::from_slice(body).map_err(|_| {
            "this is no message; send one such as {\"load\":60}, {\"press\":\"measure\"} or \"reset\"".to_owned()
        })
    }

    pub(super) fn json(self) -> String {
        serde_json::to_string(&self).unwrap_or_default()
    }
}

/// What a message means in such a state; `None` if nothing changes.
pub(super) fn event(message: &Message, state: &State) -> Option<Event> {
    Some(match *message {
        Message::Load(pct) => Event::Set(Knob::Load, pct / MOST_LOAD),
        Message::Headroom(pct) => Event::Set(Knob::Headroom, pct / MOST_HEADROOM),
        Message::Goal(is_on) if is_on == state.knobs.goal => return None,
        Message::Goal(_) => Event::Set(Knob::Goal, 1.0),
        Message::Press(button) => Event::Press(button),
        Message::Page(place) => Event::Page(place),
        Message::Findings => Event::Findings,
        Message::Back => Event::Back,
        Message::Reset => Event::Reset,
        Message::Quit => Event::Quit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_back_and_garbage_is_refused_with_an_example() {
        for message in [
            Message::Load(65.0),
            Message::Goal(true),
            Message::Press(Button::Sideload),
            Message::Page(2),
            Message::Reset,
        ] {
            assert_eq!(Message::read(message.json().as_bytes()), Ok(message));
        }
        for garbage in [
            "",
            "7",
            "{\"load\":\"much\"}",
            "{\"press\":\"it\"}",
            "[]",
            "\u{fffd}",
        ] {
            let refused = Message::read(garbage.as_bytes()).unwrap_err();
            assert!(refused.contains("{\"load\":60}"), "{garbage}");
        }
    }
}
