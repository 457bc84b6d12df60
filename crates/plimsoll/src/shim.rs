//! Spellings of older versions, and one that other programs have.

use std::ffi::OsString;

/// The arguments, with `sweep --copies` as `copies` and `help --help` as `help`.
pub(crate) fn arguments(typed: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = typed.collect();
    let flags = words.iter().take_while(|word| *word != "--");
    let sweep = flags.clone().position(|word| word == "sweep");
    let copies = flags.clone().position(|word| word == "--copies");
    if let (Some(sweep), Some(copies)) = (sweep, copies)
        && sweep < copies
    {
        words.remove(copies);
        words[sweep] = "copies".into();
    }
    if words.get(1).is_some_and(|word| word == "help") {
        words.retain(|word| word != "--help" && word != "-h");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shimmed(line: &str) -> String {
        let words = arguments(line.split(' ').map(OsString::from));
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        words.join(" ")
    }

    #[test]
    fn other_spellings_are_accepted() {
        let copies = shimmed("plimsoll sweep --quick --copies -- make --copies");
        assert_eq!(copies, "plimsoll copies --quick -- make --copies");
        assert_eq!(shimmed("plimsoll help --help"), "plimsoll help");
        assert_eq!(shimmed("plimsoll help plan -h"), "plimsoll help plan");
        for same in ["plimsoll sweep --quick", "plimsoll side -- sweep --copies"] {
            assert_eq!(shimmed(same), same);
        }
    }
}
