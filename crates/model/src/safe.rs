//! Text from outside, made safe to print.

use std::fmt::Write;

/// One line that cannot move a terminal's cursor, change its colours, begin another
/// line, or show its characters in another order than they have.
pub fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_unsafe(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    out
}

/// JSON with the same characters as its own escapes: RFC 8259 asks for them below
/// U+0020 only, and they stand within strings, where an escape says the same.
pub fn safe_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_unsafe(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// A word that a shell reads as it is, to be pasted from a terminal or a page.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Control characters, the marks that turn the direction of writing (Unicode Standard
/// Annex 9, table 1), the separators of lines and paragraphs, and what has no width, in
/// which text can hide.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_drive_a_terminal_is_spelt_out() {
        assert_eq!(safe("a\u{1b}[31m\n"), "a\\u{1b}[31m\\u{a}");
        assert_eq!(safe("\u{9b}2J\u{7f}\u{202e}"), "\\u{9b}2J\\u{7f}\\u{202e}");
        assert_eq!(safe("a\u{200b}b\u{2028}"), "a\\u{200b}b\\u{2028}");
    }

    #[test]
    fn json_has_its_own_escapes() {
        let json = safe_json("{\n\"a\u{9b}\u{e0041}\u{7f}\"}");
        assert_eq!(json, "{\n\"a\\u009b\\udb40\\udc41\\u007f\"}");
    }

    #[test]
    fn a_word_can_be_pasted_into_a_shell() {
        let words = ["a=b", "p99<10ms", "it's", ""].map(shell_word);
        assert_eq!(words, ["a=b", "'p99<10ms'", r"'it'\''s'", "''"]);
    }

    #[test]
    fn words_of_any_language_are_left_alone() {
        for text in ["Größe 2 µs", "日本語", "/path with space"] {
            assert_eq!(safe(text), text);
        }
    }
}
