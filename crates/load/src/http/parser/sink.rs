//! What is done with the content of a body besides counting it.

use std::sync::Arc;

/// A text that is looked for in a stream, by the algorithm of Knuth, Morris and Pratt (Fast
/// Pattern Matching in Strings, SIAM Journal on Computing 6, 1977): one step a byte, and no byte is
/// kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Needle {
    bytes: Vec<u8>,
    /// For each length that matches: the next shorter one that does, too.
    shorter: Vec<usize>,
}

impl Needle {
    pub(crate) fn new(bytes: &[u8]) -> Needle {
        let mut needle = Needle {
            bytes: bytes.to_vec(),
            shorter: vec![0],
        };
        for (at, byte) in bytes.iter().enumerate().skip(1) {
            let before = needle.shorter[at - 1];
            let matched = needle.step(before, *byte);
            needle.shorter.push(matched);
        }
        needle
    }

    /// How much matches after one more byte.
    fn step(&self, mut matched: usize, byte: u8) -> usize {
        loop {
            match self.bytes.get(matched) {
                Some(next) if *next == byte => return matched + 1,
                _ if matched == 0 => return 0,
                _ => matched = self.shorter[matched - 1],
            }
        }
    }
}

/// More of a body than this is not kept.
pub(crate) const MOST_KEPT: usize = 1 << 20;

/// What becomes of a body; nothing, by default.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    /// What is looked for, and how much of it matches.
    search: Option<(Arc<Needle>, usize)>,
    kept: Option<Vec<u8>>,
}

impl Sink {
    pub(crate) fn new(needle: Option<&Arc<Needle>>, keeps: bool) -> Sink {
        Sink {
            search: needle.map(|needle| (Arc::clone(needle), 0)),
            kept: keeps.then(Vec::new),
        }
    }

    pub(crate) fn take(&mut self, content: &[u8]) {
        if let Some((needle, matched)) = &mut self.search {
            for byte in content {
                if *matched == needle.bytes.len() {
                    break;
                }
                *matched = needle.step(*matched, *byte);
            }
        }
        if let Some(kept) = &mut self.kept {
            let left = MOST_KEPT.saturating_sub(kept.len()).min(content.len());
            kept.extend_from_slice(&content[..left]);
        }
    }

    /// Whether what is looked for was there.
    pub(crate) fn has_text(&self) -> bool {
        let mut search = self.search.iter();
        search.all(|(needle, matched)| *matched == needle.bytes.len())
    }

    pub(crate) fn into_kept(self) -> Vec<u8> {
        self.kept.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_text_is_found_in_pieces_where_it_is_in_the_whole(
            text in "[ab]{0,40}",
            needle in "[ab]{1,5}",
            piece in 1usize..8,
        ) {
            let mut sink = Sink::new(Some(&Arc::new(Needle::new(needle.as_bytes()))), false);
            text.as_bytes().chunks(piece).for_each(|piece| sink.take(piece));
            prop_assert_eq!(sink.has_text(), text.contains(&needle));
        }
    }
}
