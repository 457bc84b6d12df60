//! The chunked transfer coding (RFC 9112, section 7.1). Content, chunk
//! extensions and trailers are skipped.

use super::ParseError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Size {
        value: u64,
        digits: u8,
    },
    /// After the size, in the same line.
    Extension {
        value: u64,
    },
    /// After the CR of the size line.
    SizeEnd {
        value: u64,
    },
    /// Content; `left` bytes remain.
    Content {
        left: u64,
    },
    /// The line end after the content.
    ContentEnd {
        cr: bool,
    },
    /// At the start of a line after the last chunk.
    Trailer,
    /// Within such a line.
    TrailerLine,
    /// After the CR of the empty line.
    LastEnd,
}

#[derive(Debug)]
pub(super) struct Chunks {
    at: At,
}

const SIZE: At = At::Size {
    value: 0,
    digits: 0,
};

impl Default for Chunks {
    fn default() -> Self {
        Chunks { at: SIZE }
    }
}

impl Chunks {
    /// How many bytes belong to the body, how many of them are content, and whether
    /// the body has ended. `take` gets each piece of content.
    pub(super) fn skip(
        &mut self,
        input: &[u8],
        mut take: impl FnMut(&[u8]),
    ) -> Result<(usize, usize, bool), ParseError> {
        let (mut used, mut content) = (0, 0);
        while used < input.len() {
            if let At::Content { left } = self.at {
                let rest = input.len() - used;
                let n = usize::try_from(left).map_or(rest, |left| left.min(rest));
                take(&input[used..used + n]);
                used += n;
                content += n;
                self.at = match left - n as u64 {
                    0 => At::ContentEnd { cr: false },
                    left => At::Content { left },
                };
                continue;
            }
            let next = step(self.at, input[used])?;
            used += 1;
            let Some(next) = next else {
                return Ok((used, content, true));
            };
            self.at = next;
        }
        Ok((used, content, false))
    }
}

/// Consumes one byte of framing; `None` at the end of the body. A bare LF also
/// ends a line, as in heads.
fn step(at: At, byte: u8) -> Result<Option<At>, ParseError> {
    let next = match (at, byte) {
        (At::Size { value, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => At::Size {
            value: push_digit(value, byte).ok_or(ParseError::Chunk)?,
            digits: digits.saturating_add(1),
        },
        (At::Size { digits: 0, .. }, _) => return Err(ParseError::Chunk),
        (At::Size { value, .. }, b'\r') => At::SizeEnd { value },
        (At::Size { value, .. }, b';' | b' ' | b'\t') => At::Extension { value },
        (At::Size { value, .. } | At::SizeEnd { value } | At::Extension { value }, b'\n') => {
            after_size(value)
        }
        (At::Extension { value }, _) => At::Extension { value },
        (At::ContentEnd { cr: false }, b'\r') => At::ContentEnd { cr: true },
        (At::ContentEnd { .. }, b'\n') => SIZE,
        (At::Trailer, b'\r') => At::LastEnd,
        (At::Trailer | At::LastEnd, b'\n') => return Ok(None),
        (At::TrailerLine, b'\n') => At::Trailer,
        (At::Trailer | At::TrailerLine, _) => At::TrailerLine,
        (At::Size { .. } | At::SizeEnd { .. } | At::ContentEnd { .. } | At::LastEnd, _) => {
            return Err(ParseError::Chunk);
        }
        // Unused: content is skipped in bulk.
        (At::Content { left }, _) => At::Content { left },
    };
    Ok(Some(next))
}

/// `None` if the size exceeds 64 bits.
fn push_digit(value: u64, digit: u8) -> Option<u64> {
    let digit = char::from(digit).to_digit(16)?;
    value.checked_mul(16).map(|v| v + u64::from(digit))
}

fn after_size(value: u64) -> At {
    match value {
        0 => At::Trailer,
        left => At::Content { left },
    }
}
