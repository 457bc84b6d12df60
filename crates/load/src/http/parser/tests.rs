use super::*;
use proptest::prelude::*;

fn answer(status: u16, body_bytes: u64, keep_alive: bool) -> Answer {
    Answer {
        status,
        body_bytes,
        has_text: true,
        grpc: None,
        keep_alive,
    }
}

/// The answers, and the first error, on a connection that receives `pieces` and
/// is then closed.
fn read(mut parser: Parser, pieces: &[&[u8]]) -> (Vec<Answer>, Option<ParseError>) {
    let mut answers = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            match parser.feed(rest) {
                Ok((used, Progress::More)) => {
                    assert_eq!(
                        used,
                        rest.len(),
                        "all input is used unless the response ends"
                    );
                    rest = &[];
                }
                Ok((used, Progress::Done(answer))) => {
                    answers.push(answer);
                    rest = &rest[used..];
                }
                Err(error) => return (answers, Some(error)),
            }
        }
    }
    answers.extend(parser.end());
    (answers, None)
}

/// The bytes of a text in which `|` is a line end.
fn bytes(text: &str) -> Vec<u8> {
    text.replace('|', "\r\n").into_bytes()
}

fn read_one(bytes: &[u8]) -> Result<Option<Answer>, ParseError> {
    let (answers, error) = read(Parser::new(false), &[bytes]);
    assert!(answers.len() <= 1, "{answers:?}");
    error.map_or(Ok(answers.first().copied()), Err)
}

#[test]
fn the_end_of_a_response_is_found_by_its_framing() {
    let chunked = "HTTP/1.1 200 OK|Content-Length: 5|Transfer-Encoding: gzip, chunked||\
                   A;x=\"y\"|0123456789|0|t: u||";
    let interim = "HTTP/1.1 103 Early|Link: a||HTTP/1.1 500 No|Content-Length: 1, 1||!";
    let keeps = "HTTP/1.0 200 OK|Connection: Keep-Alive|Content-Length: 1||x";
    let closes = "HTTP/1.1 200 OK|Connection: x, Close|Content-Length: 0||";
    for (text, (status, body_bytes, keep_alive)) in [
        ("HTTP/1.1 200 OK|Content-Length: 2||ok", (200, 2, true)),
        ("HTTP/1.1 204 None|Content-Length: 9||", (204, 0, true)),
        ("HTTP/1.1 304 Same|Content-Length: 9||", (304, 0, true)),
        ("HTTP/1.1 200 OK||until it ends", (200, 13, false)),
        ("HTTP/1.0 200 OK|Content-Length: 1||x", (200, 1, false)),
        (keeps, (200, 1, true)),
        (closes, (200, 0, false)),
        (interim, (500, 1, true)),
        (chunked, (200, 10, true)),
    ] {
        let expected = answer(status, body_bytes, keep_alive);
        assert_eq!(read_one(&bytes(text)), Ok(Some(expected)), "{text}");
    }
    let head = bytes("HTTP/1.1 200 OK|Content-Length: 100||");
    let (answers, error) = read(Parser::new(true), &[&head]);
    assert_eq!((answers, error), (vec![answer(200, 0, true)], None), "HEAD");
}

#[test]
fn non_http_is_refused() {
    for text in [
        "220 mail ready||",
        "HTTP/2 200||",
        "HTTP/1.1 200 OK|Content-Length: 1x||",
        "HTTP/1.1 200 OK|Content-Length: +1||",
        "HTTP/1.1 200 OK|Content-Length:||",
        "HTTP/1.1 200 OK|Content-Length: 1|Content-Length: 2||",
        "HTTP/1.1 200 OK|Content-Length: 99999999999999999999||",
        "HTTP/1.1 101 Switching||",
        "HTTP/1.1 200 OK|Transfer-Encoding: chunked|||",
        "HTTP/1.1 200 OK|Transfer-Encoding: chunked||xyz|",
        "HTTP/1.1 200 OK|Transfer-Encoding: chunked||2|abc|",
        "HTTP/1.1 200 OK|Transfer-Encoding: chunked||11111111111111111|",
        "HTTP/1.1 200 OK|Transfer-Encoding: chunked||0|\rx",
    ] {
        assert!(read_one(&bytes(text)).is_err(), "{text}");
    }
}

#[test]
fn endless_head_is_refused_at_its_limit() {
    let mut bytes = bytes("HTTP/1.1 200 OK|X: ");
    bytes.resize(MAX_HEAD + 1, b'x');
    for piece in [1, 1000, bytes.len()] {
        let pieces: Vec<&[u8]> = bytes.chunks(piece).collect();
        let (_, error) = read(Parser::new(false), &pieces);
        assert_eq!(error, Some(ParseError::HeadTooLong), "{piece}");
    }
}

#[test]
fn a_response_ends_with_its_last_byte() {
    let whole = bytes("HTTP/1.1 200 OK|Content-Length: 2||ok");
    for cut in 0..whole.len() {
        assert_eq!(read_one(&whole[..cut]), Ok(None), "{cut}");
    }
    let fed = Parser::new(false).feed(&[&whole[..], b"HTTP"].concat());
    let done = Progress::Done(answer(200, 2, true));
    assert_eq!(
        fed,
        Ok((whole.len(), done)),
        "bytes after it are not consumed"
    );
}

#[test]
fn a_body_larger_than_memory_is_only_counted() {
    let mut parser = Parser::new(false);
    let head = bytes("HTTP/1.1 200 OK|Content-Length: 18446744073709551615||");
    assert_eq!(parser.feed(&head), Ok((head.len(), Progress::More)));
    let piece = vec![0; 1 << 16];
    for _ in 0..1000 {
        assert_eq!(parser.feed(&piece), Ok((piece.len(), Progress::More)));
    }
}

#[test]
fn the_location_of_a_redirect_is_found() {
    let to = |text| location(&bytes(text));
    let found = to("HTTP/1.1 301 Moved|location: https://a/b||<html>");
    assert_eq!(found.as_deref(), Some("https://a/b"));
    assert_eq!(to("HTTP/1.1 301 Moved||"), None);
}

/// A valid response of some kind, as bytes.
fn response() -> impl Strategy<Value = Vec<u8>> {
    let body = prop::collection::vec(any::<u8>(), 0..300);
    let interim = prop::bool::weighted(0.2);
    let headers = prop::collection::vec("[A-Za-z-]{1,12}: [ -~]{0,30}", 0..6);
    let chunks = prop::collection::vec(
        (
            prop::collection::vec(any::<u8>(), 1..60),
            "(;[a-z]{1,5}(=[a-z0-9]{1,5})?)?",
        ),
        0..6,
    );
    let trailers = prop::collection::vec("x-[a-z]{1,8}: [a-z ]{0,9}", 0..3);
    let framed = prop_oneof![
        body.clone().prop_map(|body| {
            let head = format!("Content-Length: {}\r\n\r\n", body.len());
            [head.into_bytes(), body].concat()
        }),
        (chunks, trailers).prop_map(|(chunks, trailers)| {
            let mut bytes = b"Transfer-Encoding: chunked\r\n\r\n".to_vec();
            for (chunk, extension) in chunks {
                bytes.extend(format!("{:x}{extension}\r\n", chunk.len()).into_bytes());
                bytes.extend(chunk);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n");
            trailers
                .iter()
                .for_each(|t| bytes.extend(format!("{t}\r\n").into_bytes()));
            bytes.extend(b"\r\n");
            bytes
        }),
        body.prop_map(|body| [b"\r\n".to_vec(), body].concat()),
    ];
    let status = prop_oneof![200u16..=599, Just(204), Just(304)];
    (interim, status, headers, framed).prop_map(|(interim, status, headers, framed)| {
        let mut bytes = Vec::new();
        if interim {
            bytes.extend(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        bytes.extend(format!("HTTP/1.1 {status} Some Reason\r\n").into_bytes());
        for header in headers {
            // Only `framed` determines the framing.
            bytes.extend(format!("q{header}\r\n").into_bytes());
        }
        bytes.extend(framed);
        bytes
    })
}

/// `bytes` cut at the given places.
fn cut<'a>(bytes: &'a [u8], places: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places.iter().map(|p| p.index(bytes.len() + 1)).collect();
    places.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for to in places.into_iter().chain([bytes.len()]) {
        pieces.push(&bytes[from..to]);
        from = to;
    }
    pieces
}

proptest! {
    #[test]
    fn fragmentation_does_not_change_the_answers(
        first in response(),
        second in response(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes = [first, second].concat();
        let whole = read(Parser::new(false), &[&bytes]);
        let pieces = read(Parser::new(false), &cut(&bytes, &places));
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert!(!whole.0.is_empty());
        prop_assert_eq!(&whole, &pieces);
        prop_assert_eq!(whole, read(Parser::new(false), &single));
    }

    #[test]
    fn a_valid_response_is_one_answer(bytes in response()) {
        // 204 and 304 leave the generated body as extra bytes.
        prop_assume!(!bytes.windows(13).any(|w| w == b" 204 Some Rea" || w == b" 304 Some Rea"));
        let (answers, error) = read(Parser::new(false), &[&bytes]);
        prop_assert_eq!((answers.len(), error), (1, None));
    }

    #[test]
    fn arbitrary_bytes_neither_panic_nor_loop(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        read(Parser::new(false), &cut(&bytes, &places));
    }

    #[test]
    fn responses_with_broken_bytes_neither_panic_nor_loop(
        mut bytes in response(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let at = at.index(bytes.len());
        bytes[at] = byte;
        read(Parser::new(false), &cut(&bytes, &places));
    }
}
