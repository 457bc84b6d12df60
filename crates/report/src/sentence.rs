//! What every part of a report is said in.

use crate::table::Ink;

/// Words that are said only if something is so.
pub(crate) fn words_if(is: bool, words: &str) -> &str {
    if is { words } else { "" }
}

/// A text with its first letter in upper case, as a sentence begins.
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
