//! The head of a response: collected until complete, then parsed for the
//! framing of the body.

use super::chunks::Chunks;
use super::{MAX_HEAD, ParseError, Rest};
use httparse::{Header, ParserConfig, Response, Status};
use std::mem::MaybeUninit;

const MAX_HEADERS: usize = 128;

#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    /// Whether the headers keep the connection open.
    pub(super) keep_alive: bool,
    /// The body, by the headers.
    pub(super) body: Rest,
}

/// Collects a head that arrives in pieces; a head in one piece is not copied.
#[derive(Debug, Default)]
pub(super) struct HeadReader {
    stored: Vec<u8>,
}

impl HeadReader {
    /// Discards the stored bytes and frees their memory.
    pub(super) fn reset(&mut self) {
        self.stored = Vec::new();
    }

    /// Consumes bytes; returns how many belong to the head, and the head once
    /// complete.
    pub(super) fn take(&mut self, piece: &[u8]) -> Result<(usize, Option<Head>), ParseError> {
        let before = self.stored.len();
        if before == 0 {
            if let Some((length, head)) = parse(piece)? {
                return Ok((length, Some(head)));
            }
            self.stored.extend_from_slice(piece);
            return Ok((piece.len(), None));
        }
        // Limited, so that a long body in the same piece is not copied.
        let fits = piece.len().min(MAX_HEAD + 1 - before);
        self.stored.extend_from_slice(&piece[..fits]);
        // Parsing restarts at the first byte, so it is only tried after a line
        // end, when the size has doubled, or at the limit; this bounds the time
        // spent on garbage without line ends.
        let doubled = before.leading_zeros() != self.stored.len().leading_zeros();
        let full = self.stored.len() > MAX_HEAD;
        if !doubled && !full && !piece.contains(&b'\n') {
            return Ok((fits, None));
        }
        match parse(&self.stored)? {
            None => Ok((fits, None)),
            Some((length, head)) => {
                self.reset();
                Ok((length - before, Some(head)))
            }
        }
    }
}

/// The head at the beginning of `bytes` and its length; `None` if incomplete.
fn parse(bytes: &[u8]) -> Result<Option<(usize, Head)>, ParseError> {
    with_response(bytes, |response| {
        Ok(Head {
            status: response.code.unwrap_or(0),
            keep_alive: keeps_alive(response),
            body: body(response.headers)?,
        })
    })
}

/// The value of Location in a complete head.
pub(in crate::http) fn location(bytes: &[u8]) -> Option<String> {
    header_values(bytes, "location").into_iter().next()
}

/// All values of a header in a complete head.
pub(in crate::http) fn header_values(bytes: &[u8], name: &str) -> Vec<String> {
    let found = with_response(bytes, |response| {
        let values = values(response.headers, name);
        Ok(values
            .map(|v| String::from_utf8_lossy(v).into_owned())
            .collect())
    });
    found
        .ok()
        .flatten()
        .map(|(_, values)| values)
        .unwrap_or_default()
}

fn with_response<T>(
    bytes: &[u8],
    read: impl FnOnce(&Response<'_, '_>) -> Result<T, ParseError>,
) -> Result<Option<(usize, T)>, ParseError> {
    let mut headers = [const { MaybeUninit::<Header<'_>>::uninit() }; MAX_HEADERS];
    let mut response = Response::new(&mut []);
    let parsed = ParserConfig::default()
        .parse_response_with_uninit_headers(&mut response, bytes, &mut headers)
        .map_err(ParseError::Head)?;
    match parsed {
        Status::Complete(length) if length <= MAX_HEAD => Ok(Some((length, read(&response)?))),
        Status::Partial if bytes.len() <= MAX_HEAD => Ok(None),
        Status::Complete(_) | Status::Partial => Err(ParseError::HeadTooLong),
    }
}

fn values<'a>(headers: &'a [Header<'_>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    headers
        .iter()
        .filter(move |h| h.name.eq_ignore_ascii_case(name))
        .map(|h| h.value)
}

/// The members of a comma-separated list that may be spread over several
/// headers.
fn members<'a>(headers: &'a [Header<'_>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    values(headers, name)
        .flat_map(|value| value.split(|b| *b == b','))
        .map(<[u8]>::trim_ascii)
}

fn keeps_alive(response: &Response<'_, '_>) -> bool {
    let has = |token: &[u8]| {
        members(response.headers, "connection").any(|member| member.eq_ignore_ascii_case(token))
    };
    match response.version {
        Some(1) => !has(b"close"),
        _ => has(b"keep-alive"),
    }
}

/// The framing of the body (RFC 9112, section 6.3). Chunked takes precedence over
/// Content-Length.
fn body(headers: &[Header<'_>]) -> Result<Rest, ParseError> {
    if let Some(last) = members(headers, "transfer-encoding").last() {
        return Ok(match last.eq_ignore_ascii_case(b"chunked") {
            true => Rest::Chunks(Chunks::default()),
            false => Rest::UntilClose,
        });
    }
    let mut length = None;
    for member in members(headers, "content-length") {
        let this = parse_length(member).ok_or(ParseError::Length)?;
        if length.is_some_and(|other| other != this) {
            return Err(ParseError::Length);
        }
        length = Some(this);
    }
    Ok(length.map_or(Rest::UntilClose, Rest::Bytes))
}

/// Digits only: `parse` would also accept a sign.
fn parse_length(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}
