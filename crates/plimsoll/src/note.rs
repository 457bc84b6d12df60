//! Messages on standard error.

use plimsoll_model::safe;
use std::io::Write;

/// Writes a message to standard error. All that people read there passes here: names of
/// others in it can neither drive the terminal nor begin a line.
pub(crate) fn note(text: &str) {
    // A run does not end because nobody reads its notes.
    let _ = writeln!(std::io::stderr(), "{}", safe_message(text));
}

/// A message whose only line ends are those before an indented line, such as the last
/// words of a command: what is indented does not pass for a message.
fn safe_message(text: &str) -> String {
    const INDENTED: &str = "\n    ";
    let lines: Vec<String> = text.split(INDENTED).map(safe).collect();
    lines.join(INDENTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_message_cannot_begin_a_line() {
        let shown = safe_message("a\u{1b}[2J\nplimsoll: all is well\n    \u{9b}1m said");
        assert_eq!(
            shown,
            "a\\u{1b}[2J\\u{a}plimsoll: all is well\n    \\u{9b}1m said"
        );
    }
}
