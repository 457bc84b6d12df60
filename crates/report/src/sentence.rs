//! What every part of a report is said in.

use crate::table::Ink;

pub(crate) fn words_if(is: bool, words: &str) -> &str {
    if is { words } else { "" }
}

/// What is said of a value, where it is known.
pub(crate) fn words_of<T>(value: Option<T>, say: impl FnOnce(T) -> String) -> String {
    value.map(say).unwrap_or_default()
}

pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

#[derive(Debug, Clone)]
pub struct Sentence {
    pub(crate) ink: Ink,
    pub(crate) text: String,
}

impl Ink {
    pub fn says(self, text: impl Into<String>) -> Sentence {
        Sentence {
            ink: self,
            text: text.into(),
        }
    }
}
