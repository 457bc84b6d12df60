//! A request as it is described, before a login has given its values.

use super::syntax::{BodyDraft, Capture, RequestDraft};
use super::template::{Names, Piece, Place, Text, most_bytes, push_bytes};
use crate::http::target::Location;
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method};
use plimsoll_model::{HttpService, is_shown_header};

#[derive(Debug)]
pub(in crate::http) struct Entry {
    /// As the file calls it, or method and path.
    pub(in crate::http) name: String,
    pub(in crate::http) weight: f64,
    pub(in crate::http) method: Method,
    pub(in crate::http) target: Text,
    pub(in crate::http) headers: Vec<(String, Text)>,
    pub(in crate::http) body: Text,
    pub(in crate::http) expected_status: Option<u16>,
    pub(in crate::http) expected_text: Option<String>,
    pub(in crate::http) captures: Vec<Capture>,
    /// Something of it may be secret: a query, a header whose values are hidden, a body, or a value.
    pub(in crate::http) may_be_secret: bool,
}

impl Entry {
    /// The one request that a service is asked for.
    pub(super) fn only(service: &HttpService, to: &Location) -> Result<Entry, String> {
        let is_hidden = |(name, _): &(String, String)| !is_shown_header(name);
        let draft = RequestDraft {
            method: service.method.clone(),
            headers: service.headers.clone(),
            body: BodyDraft::Bytes,
            expected_status: service.expected_status,
            expected_text: service.expected_text.clone(),
            is_literal: true,
            ..RequestDraft::default()
        };
        let body = service.body.clone();
        let entry = Entry::of(draft, &to.path, &Names::default(), &[], body)?;
        Ok(Entry {
            may_be_secret: to.path.contains('?')
                || service.headers.iter().any(is_hidden)
                || !service.body.is_empty(),
            ..entry
        })
    }

    fn expects_text_of_head(&self) -> bool {
        self.method == Method::HEAD && self.expected_text.is_some()
    }

    /// `path` is its target without the server, `common` the headers of all that have no such, and
    /// `body` a body that is no text of the draft.
    ///
    /// # Errors
    /// Why it cannot be sent.
    pub(super) fn of(
        draft: RequestDraft,
        path: &str,
        names: &Names<'_>,
        common: &[(String, String)],
        body: Vec<u8>,
    ) -> Result<Entry, String> {
        let text = |text: &str, place: Place| {
            let mut pieces = Text::new();
            match draft.is_literal {
                true => push_bytes(&mut pieces, text.as_bytes()),
                false => pieces = names.text(text, place)?,
            }
            Ok::<Text, String>(pieces)
        };
        let has = |name: &str| {
            let mut names = draft.headers.iter().map(|(name, _)| name);
            names.any(|other| other.eq_ignore_ascii_case(name))
        };
        let common = common.iter().filter(|(name, _)| !has(name));
        let mut headers = Vec::new();
        for (name, value) in draft.headers.iter().chain(common) {
            check_header_name(name)?;
            check_header_value(name, value)?;
            headers.push((name.clone(), text(value, Place::Header)?));
        }
        let target = text(path, Place::Target)?;
        check_target(&target)?;
        let kind = draft.headers.iter();
        let mut kind = kind.filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let kind = kind.next().map_or("", |(_, value)| value.as_str());
        let body = match &draft.body {
            BodyDraft::None => Text::new(),
            BodyDraft::Text(body) => text(body, body_place(kind))?,
            BodyDraft::File(_) | BodyDraft::Bytes => {
                let mut pieces = Text::new();
                push_bytes(&mut pieces, &body);
                pieces
            }
        };
        let name = draft.name.unwrap_or_else(|| {
            let path = path.split(['?', '#']).next().unwrap_or(path);
            format!("{} {path}", draft.method)
        });
        let entry = Entry {
            name,
            weight: draft.weight.unwrap_or(1.0),
            method: method(&draft.method)?,
            target,
            headers,
            body,
            expected_status: draft.expected_status,
            expected_text: draft.expected_text,
            captures: draft.captures,
            may_be_secret: true,
        };
        match entry.expects_text_of_head() {
            false => Ok(entry),
            true => Err("an answer to HEAD has no body, so none can be expected of it".to_owned()),
        }
    }

    /// Of its texts, at most.
    pub(super) fn most_bytes(&self) -> usize {
        let headers = self
            .headers
            .iter()
            .map(|(name, text)| name.len() + most_bytes(text));
        let texts = [most_bytes(&self.target), most_bytes(&self.body)];
        headers.chain(texts).fold(0, usize::saturating_add)
    }

    pub(in crate::http) fn has_header(&self, name: &str) -> bool {
        let mut names = self.headers.iter().map(|(name, _)| name);
        names.any(|other| other.eq_ignore_ascii_case(name))
    }

    /// Methods with a defined body send Content-Length even if it is empty (RFC
    /// 9110, section 8.6).
    pub(in crate::http) fn sends_length(&self) -> bool {
        let means_body = [Method::POST, Method::PUT, Method::PATCH];
        means_body.contains(&self.method) || !self.body.is_empty()
    }
}

fn body_place(content_type: &str) -> Place {
    let kind = content_type.to_ascii_lowercase();
    match kind.split(';').next().unwrap_or_default().trim() {
        "application/x-www-form-urlencoded" => Place::Form,
        kind if kind.ends_with("/json") || kind.ends_with("+json") => Place::Json,
        _ => Place::Body,
    }
}

/// What stands for values is percent-encoded, so that the rest decides.
fn check_target(target: &Text) -> Result<(), String> {
    let mut text = Vec::new();
    for piece in target {
        match piece {
            Piece::Bytes(bytes) => text.extend_from_slice(bytes),
            _ => text.push(b'x'),
        }
    }
    match PathAndQuery::from_maybe_shared(text) {
        Ok(_) => Ok(()),
        Err(e) => Err(format!(
            "its path makes no sense ({e}); write it like /path?a=b, other characters as %XX"
        )),
    }
}

fn method(text: &str) -> Result<Method, String> {
    match Method::from_bytes(text.as_bytes()) {
        Ok(Method::CONNECT) => {
            Err("CONNECT opens a tunnel and is not supported; use another method".to_owned())
        }
        Ok(method) => Ok(method),
        Err(_) => Err(format!("'{text}' is not an HTTP method; write GET or POST")),
    }
}

/// Headers that the client sets.
pub(super) const OWN: [&str; 4] = [
    "content-length",
    "connection",
    "transfer-encoding",
    "expect",
];

fn check_header_name(name: &str) -> Result<(), String> {
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Err(format!("'{name}' is not a valid header name"));
    }
    match OWN.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        false => Ok(()),
        true => Err(format!(
            "the header {name} is set by Plimsoll, which depends on the message framing; omit it"
        )),
    }
}

fn check_header_value(name: &str, value: &str) -> Result<(), String> {
    match HeaderValue::from_str(value) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!(
            "the value of header {name} contains control characters"
        )),
    }
}
