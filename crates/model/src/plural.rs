//! Words that go with a number.

use std::fmt::Display;

/// The form of a word that goes with a number: `1 copy`, `2 copies`.
pub fn for_count<N: PartialEq + From<u8>>(
    count: N,
    one: &'static str,
    many: &'static str,
) -> &'static str {
    if count == N::from(1) { one } else { many }
}

/// The number and its word: `1 CPU`, `8 CPUs`.
pub fn counted<N: PartialEq + From<u8> + Display>(
    count: N,
    one: &'static str,
    many: &'static str,
) -> String {
    let text = count.to_string();
    format!("{text} {}", for_count(count, one, many))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stands_in_the_singular_beside_1_only() {
        for (count, shown) in [(0, "copies"), (1, "copy"), (2, "copies"), (11, "copies")] {
            assert_eq!(for_count(count, "copy", "copies"), shown);
        }
        assert_eq!(counted(1u32, "CPU", "CPUs"), "1 CPU");
        assert_eq!(counted(1.5, "CPU", "CPUs"), "1.5 CPUs");
    }
}
