//! Text from outside, made safe to print.

/// One line that cannot move a terminal's cursor, change its colours, or show
/// its characters in another order than they have.
pub fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Control characters, the marks that turn the direction of writing (Unicode
/// Standard Annex 9, table 1) and the separators of lines and paragraphs.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_drive_a_terminal_is_spelt_out() {
        assert_eq!(safe("a\u{1b}[31m\n"), "a\\u{1b}[31m\\u{a}");
        assert_eq!(safe("\u{9b}2J\u{7f}\u{202e}"), "\\u{9b}2J\\u{7f}\\u{202e}");
    }

    #[test]
    fn words_of_any_language_are_left_alone() {
        for text in ["Größe 2 µs", "日本語", "/path with space"] {
            assert_eq!(safe(text), text);
        }
    }
}
