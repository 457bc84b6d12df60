//! A request in the form in which it is sent.

use super::http2::{Form as Form2, form};
use super::mix::{Credentials, Entry, Mix, Piece, Supply, Text};
use super::parser::{Answer, GrpcStatus, Needle, Sink};
use http::Method;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::{Arc, OnceLock};

#[derive(Debug)]
pub(super) struct Request {
    form: Form,
    /// The method is HEAD: answers have no body.
    pub(super) is_head: bool,
    /// It is a call of gRPC.
    pub(super) is_grpc: bool,
    /// Something of it may be secret: a query, a header whose values are hidden, a body, or a value.
    pub(super) may_be_secret: bool,
    /// `None` accepts 200 to 299.
    pub(super) expected_status: Option<u16>,
    expected_text: Option<Arc<Needle>>,
    /// Something is captured from it.
    keeps_body: bool,
    /// For sentences, where there are several.
    pub(super) called: Option<String>,
    /// As HTTP/2 sends it, where it is the same each time.
    form2: OnceLock<Option<Form2>>,
}

#[derive(Debug)]
enum Form {
    /// The same each time; and for the last request of a connection, with `Connection: close`.
    Fixed { bytes: Vec<u8>, closing: Vec<u8> },
    /// Head without Content-Length and the empty line, and body.
    Filled {
        head: Text,
        body: Text,
        sends_length: bool,
    },
}

impl Request {
    /// A `Host` header of the entry replaces that of the URL.
    ///
    /// # Errors
    /// What a login gave cannot stand where it is used.
    pub(super) fn of(
        entry: &Entry,
        mix: &Mix,
        host: &str,
        from_login: &Credentials,
    ) -> Result<Request, String> {
        let head = head(entry, host, from_login)?;
        let body = from_login.placed(&entry.body)?;
        let sends_length = entry.sends_length();
        let is_fixed = |text: &Text| matches!(text.as_slice(), [] | [Piece::Bytes(_)]);
        let form = match is_fixed(&head) && is_fixed(&body) {
            true => {
                let written = |closes| whole(bytes(&head), bytes(&body), sends_length, closes);
                Form::Fixed {
                    bytes: written(false),
                    closing: written(true),
                }
            }
            false => Form::Filled {
                head,
                body,
                sends_length,
            },
        };
        let text = entry.expected_text.as_ref();
        Ok(Request {
            form,
            is_head: entry.method == Method::HEAD,
            is_grpc: mix.is_grpc,
            may_be_secret: entry.may_be_secret,
            expected_status: entry.expected_status,
            expected_text: text.map(|text| Arc::new(Needle::new(text.as_bytes()))),
            keeps_body: !entry.captures.is_empty(),
            called: mix.called(entry),
            form2: OnceLock::new(),
        })
    }

    /// The same for HTTP/2; `filled` is what [`Writer::write`] gave. `None` if it has no such form.
    pub(super) fn for_http2(&self, filled: &[u8], is_secure: bool) -> Option<Form2> {
        match self.fixed(false) {
            Some(bytes) => {
                let form = || form(bytes, is_secure, self.is_grpc);
                self.form2.get_or_init(form).clone()
            }
            None => form(filled, is_secure, self.is_grpc),
        }
    }

    /// Whether an answer counts as good.
    pub(super) fn is_good(&self, answer: &Answer) -> bool {
        let is_done = match answer.grpc {
            Some(status) => status == GrpcStatus::OK,
            None => !self.is_grpc,
        };
        is_done && answer.has_text && self.expects(answer.status)
    }

    /// Whether a status of HTTP counts as good.
    pub(super) fn expects(&self, status: u16) -> bool {
        match self.expected_status {
            Some(expected) => status == expected,
            None => (200..300).contains(&status),
        }
    }

    /// What is done with the body of an answer.
    pub(super) fn sink(&self) -> Sink {
        Sink::new(self.expected_text.as_ref(), self.keeps_body)
    }

    /// The bytes to send, where they are the same each time.
    pub(super) fn fixed(&self, closes: bool) -> Option<&[u8]> {
        match &self.form {
            Form::Fixed { bytes, .. } if !closes => Some(bytes),
            Form::Fixed { closing, .. } => Some(closing),
            Form::Filled { .. } => None,
        }
    }
}

fn head(entry: &Entry, host: &str, from_login: &Credentials) -> Result<Text, String> {
    let mut head = Text::new();
    let push = super::mix::push_bytes;
    push(&mut head, format!("{} ", entry.method).as_bytes());
    extend(&mut head, from_login.placed(&entry.target)?);
    push(&mut head, b" HTTP/1.1\r\n");
    if !entry.has_header("host") {
        push(&mut head, format!("Host: {host}\r\n").as_bytes());
    }
    if !entry.has_header("user-agent") {
        let agent = concat!("User-Agent: plimsoll/", env!("CARGO_PKG_VERSION"), "\r\n");
        push(&mut head, agent.as_bytes());
    }
    for (name, value) in &entry.headers {
        push(&mut head, format!("{name}: ").as_bytes());
        extend(&mut head, from_login.placed(value)?);
        push(&mut head, b"\r\n");
    }
    if let Some(cookies) = from_login.cookies().filter(|_| !entry.has_header("cookie")) {
        push(&mut head, format!("Cookie: {cookies}\r\n").as_bytes());
    }
    Ok(head)
}

/// Adds pieces, so that bytes that follow each other are one.
fn extend(text: &mut Text, pieces: Text) {
    for piece in pieces {
        match piece {
            Piece::Bytes(bytes) => super::mix::push_bytes(text, &bytes),
            other => text.push(other),
        }
    }
}

fn bytes(text: &Text) -> &[u8] {
    match text.as_slice() {
        [Piece::Bytes(bytes), ..] => bytes,
        _ => &[],
    }
}

fn whole(head: &[u8], body: &[u8], sends_length: bool, closes: bool) -> Vec<u8> {
    let mut all = head.to_vec();
    end(&mut all, body, sends_length, closes);
    all
}

/// The end of a head, and the body.
fn end(all: &mut Vec<u8>, body: &[u8], sends_length: bool, closes: bool) {
    if sends_length {
        all.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    if closes {
        all.extend_from_slice(b"Connection: close\r\n");
    }
    all.extend_from_slice(b"\r\n");
    all.extend_from_slice(body);
}

/// Chooses the requests of one thread, and fills them with values.
#[derive(Debug)]
pub(super) struct Writer {
    rng: Xoshiro256PlusPlus,
    /// By data set: the row of the request that is being written.
    rows: Vec<Option<usize>>,
    body: Vec<u8>,
}

impl Writer {
    pub(super) fn new(supply: &Supply, seed: u64) -> Writer {
        Writer {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            rows: vec![None; supply.sets()],
            body: Vec::new(),
        }
    }

    /// The next request, by the sums of the weights up to each.
    pub(super) fn choose(&mut self, sums: &[f64]) -> usize {
        let Some((total, _)) = sums.split_last().filter(|(_, others)| !others.is_empty()) else {
            return 0;
        };
        let share = (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let at = sums.partition_point(|sum| *sum <= share * total);
        at.min(sums.len() - 1)
    }

    /// Replaces what is in `into` by the request, unless that is the same each time.
    pub(super) fn write(
        &mut self,
        request: &Request,
        supply: &Supply,
        closes: bool,
        into: &mut Vec<u8>,
    ) {
        let Form::Filled {
            head,
            body,
            sends_length,
        } = &request.form
        else {
            return;
        };
        into.clear();
        self.body.clear();
        self.rows.fill(None);
        let Writer {
            rng,
            rows,
            body: filled,
        } = self;
        let mut filler = supply.filler(rng, rows);
        filler.fill(head, into);
        filler.fill(body, filled);
        end(into, filled, *sends_length, closes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoadError;
    use crate::http::target::parse_url;
    use plimsoll_model::HttpService;
    use std::time::Duration;

    fn prepared(method: &str, headers: &[(&str, &str)], body: &str) -> Result<String, LoadError> {
        let headers = headers.iter().map(|(n, v)| ((*n).into(), (*v).into()));
        let service = HttpService {
            method: method.into(),
            headers: headers.collect(),
            body: body.into(),
            ..HttpService::get("http://a:81/p?q", 1, Duration::from_secs(1))
        };
        let to = parse_url(&service.url)?;
        let mix = Mix::of(&service, &to)?;
        let none = Credentials::default();
        let request = Request::of(&mix.entries[0], &mix, &to.authority, &none).unwrap();
        let bytes = request.fixed(false).unwrap().to_vec();
        Ok(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn request_has_given_and_required_headers() {
        let agent = concat!("User-Agent: plimsoll/", env!("CARGO_PKG_VERSION"));
        assert_eq!(
            prepared("GET", &[], "").unwrap(),
            format!("GET /p?q HTTP/1.1\r\nHost: a:81\r\n{agent}\r\n\r\n")
        );
        let given = [("user-agent", "me"), ("host", "b"), ("X", "y")];
        assert_eq!(
            prepared("POST", &given, "{}").unwrap(),
            "POST /p?q HTTP/1.1\r\nuser-agent: me\r\nhost: b\r\nX: y\r\nContent-Length: 2\r\n\r\n{}"
        );
        let empty = prepared("PUT", &[], "").unwrap();
        assert!(empty.contains("Content-Length: 0"), "{empty}");
    }

    #[test]
    fn requests_are_chosen_by_their_weights() {
        let mut writer = Writer::new(&Supply::default(), 7);
        let n = 100_000;
        let mut counts = [0; 3];
        for _ in 0..n {
            counts[writer.choose(&[3.0, 4.0, 8.0])] += 1;
        }
        for (count, share) in counts.into_iter().zip([0.375, 0.125, 0.5]) {
            let error = (share * (1.0 - share) / f64::from(n)).sqrt();
            let found = f64::from(count) / f64::from(n);
            assert!((found - share).abs() < 5.0 * error, "{found} of {share}");
        }
    }

    #[test]
    fn invalid_request_parts_are_refused() {
        for (method, headers) in [
            ("GET IT", vec![]),
            ("CONNECT", vec![]),
            ("GET", vec![("a b", "c")]),
            ("GET", vec![("a", "b\r\nc: d")]),
            ("GET", vec![("Content-Length", "5")]),
            ("GET", vec![("transfer-encoding", "chunked")]),
        ] {
            let refused = prepared(method, &headers, "");
            assert!(refused.is_err(), "{method} {headers:?}");
        }
    }
}
