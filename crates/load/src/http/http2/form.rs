//! A request as HTTP/2 sends it, from the bytes of HTTP/1.1.

use super::grpc;
use bytes::Bytes;
use http::header::{CONNECTION, HOST, HeaderName, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE};
use http::{Method, Request, Uri};

/// More headers than a request has.
const MOST_HEADERS: usize = 256;

/// Headers of one connection of HTTP/1.1, which HTTP/2 has no place for (RFC 9113, section 8.2.2).
const OF_A_CONNECTION: [HeaderName; 5] = [
    CONNECTION,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Head and body.
#[derive(Debug, Clone)]
pub(in crate::http) struct Form {
    pub(super) head: Request<()>,
    pub(super) body: Bytes,
}

/// `None` if the bytes are no request; `is_secure`: the scheme is https; `is_grpc`: their body is the
/// message of a call.
pub(in crate::http) fn form(bytes: &[u8], is_secure: bool, is_grpc: bool) -> Option<Form> {
    let mut headers = vec![httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) = parsed.parse(bytes).ok()? else {
        return None;
    };
    let (mut authority, mut head) = (None, Request::new(()));
    for header in parsed.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        let value = HeaderValue::from_bytes(header.value).ok()?;
        let is_te = name == TE && value != "trailers";
        match name {
            HOST => authority = Some(value),
            name if OF_A_CONNECTION.contains(&name) || is_te => {}
            name => {
                head.headers_mut().append(name, value);
            }
        }
    }
    *head.method_mut() = Method::from_bytes(parsed.method?.as_bytes()).ok()?;
    let uri = Uri::builder()
        .scheme(if is_secure { "https" } else { "http" })
        .authority(authority?.as_bytes())
        .path_and_query(parsed.path?);
    *head.uri_mut() = uri.build().ok()?;
    let body = match is_grpc {
        true => grpc::call(head.headers_mut(), &bytes[length..])?,
        false => Bytes::copy_from_slice(&bytes[length..]),
    };
    Some(Form { head, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_lose_what_is_of_a_connection() {
        let bytes = b"POST /p?q HTTP/1.1\r\nHost: a:81\r\nX-A: b\r\nConnection: close\r\n\
                      TE: gzip\r\nContent-Length: 2\r\n\r\n{}";
        let form = form(bytes, false, false).unwrap();
        assert_eq!(form.head.uri(), "http://a:81/p?q");
        assert_eq!(form.head.method(), "POST");
        let headers: Vec<_> = form.head.headers().iter().collect();
        assert_eq!(headers.len(), 2, "{headers:?}");
        assert_eq!(form.head.headers()["x-a"], "b");
        assert_eq!(form.body, "{}");
        assert!(super::form(b"GET / HTTP/1.1\r\n", false, false).is_none());
    }
}
