//! Spellings of older versions.

use std::ffi::OsString;

/// The arguments, with `sweep --copies` as `copies`.
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
    fn copies_were_a_flag_of_the_sweep() {
        let copies = shimmed("plimsoll sweep --quick --copies -- make --copies");
        assert_eq!(copies, "plimsoll copies --quick -- make --copies");
        for same in ["plimsoll sweep --quick", "plimsoll side -- sweep --copies"] {
            assert_eq!(shimmed(same), same);
        }
    }
}
