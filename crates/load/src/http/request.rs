//! The request that is sent repeatedly.

use super::target::Location;
use crate::LoadError;
use http::{HeaderName, HeaderValue, Method};
use plimsoll_model::{HttpService, is_shown_header};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) bytes: Vec<u8>,
    /// The same for the last request of a connection, with `Connection: close`.
    pub(super) closing: Vec<u8>,
    /// The method is HEAD: answers have no body.
    pub(super) is_head: bool,
    /// Something of it may be secret: a query, a header whose values are hidden, or a body.
    pub(super) may_be_secret: bool,
}

/// Serializes the request. A given `Host` header replaces the URL's.
pub(super) fn prepare(service: &HttpService, to: &Location) -> Result<Request, LoadError> {
    let method = method(&service.method)?;
    let mut bytes = format!("{method} {} HTTP/1.1\r\n", to.path).into_bytes();
    let gives = |name: &str| {
        let mut given = service.headers.iter();
        given.any(|(other, _)| other.eq_ignore_ascii_case(name))
    };
    if !gives("host") {
        push_header(&mut bytes, "Host", to.authority.as_bytes());
    }
    if !gives("user-agent") {
        let agent = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));
        push_header(&mut bytes, "User-Agent", agent.as_bytes());
    }
    for (name, value) in &service.headers {
        let value = check_header(name, value)?;
        push_header(&mut bytes, name, value.as_bytes());
    }
    // Methods with a defined body send Content-Length even if it is empty (RFC
    // 9110, section 8.6).
    let means_body = [Method::POST, Method::PUT, Method::PATCH].contains(&method);
    if means_body || !service.body.is_empty() {
        let length = service.body.len().to_string();
        push_header(&mut bytes, "Content-Length", length.as_bytes());
    }
    let mut closing = bytes.clone();
    push_header(&mut closing, "Connection", b"close");
    for bytes in [&mut bytes, &mut closing] {
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&service.body);
    }
    let is_hidden = |(name, _): &(String, String)| !is_shown_header(name);
    Ok(Request {
        bytes,
        closing,
        is_head: method == Method::HEAD,
        may_be_secret: to.path.contains('?')
            || service.headers.iter().any(is_hidden)
            || !service.body.is_empty(),
    })
}

fn method(text: &str) -> Result<Method, LoadError> {
    let method = Method::from_bytes(text.as_bytes()).or_else(|_| {
        LoadError::mistake(format!("'{text}' is not an HTTP method; write GET or POST"))
    })?;
    if method == Method::CONNECT {
        return LoadError::mistake(
            "CONNECT opens a tunnel and is not supported; use another method",
        );
    }
    Ok(method)
}

fn check_header(name: &str, value: &str) -> Result<HeaderValue, LoadError> {
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        return LoadError::mistake(format!("'{name}' is not a valid header name"));
    }
    let own = [
        "content-length",
        "connection",
        "transfer-encoding",
        "expect",
    ];
    if own.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return LoadError::mistake(format!(
            "the header {name} is set by Plimsoll, which depends on the message framing; omit it"
        ));
    }
    HeaderValue::from_str(value).or_else(|_| {
        LoadError::mistake(format!(
            "the value of header {name} contains control characters"
        ))
    })
}

fn push_header(bytes: &mut Vec<u8>, name: &str, value: &[u8]) {
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(b": ");
    bytes.extend_from_slice(value);
    bytes.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::target::parse_url;
    use std::time::Duration;

    fn prepared(method: &str, headers: &[(&str, &str)], body: &str) -> Result<String, LoadError> {
        let headers = headers.iter().map(|(n, v)| ((*n).into(), (*v).into()));
        let service = HttpService {
            method: method.into(),
            headers: headers.collect(),
            body: body.into(),
            ..HttpService::get("http://a:81/p?q", 1, Duration::from_secs(1))
        };
        let request = prepare(&service, &parse_url(&service.url)?)?;
        Ok(String::from_utf8(request.bytes).unwrap())
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
