//! Unary calls of gRPC: a message with its length in front, and a status after the answer.
//!
//! After the protocol of gRPC over HTTP/2 (PROTOCOL-HTTP2.md of the grpc project).

use crate::http::parser::GrpcStatus;
use bytes::{BufMut, Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE};
use std::fmt;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const PROTOBUF: HeaderValue = HeaderValue::from_static("application/grpc");
const TRAILERS: HeaderValue = HeaderValue::from_static("trailers");

/// What an answer without a status, or with several, has.
const UNKNOWN: GrpcStatus = GrpcStatus(2);

/// By their numbers.
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

impl fmt::Display for GrpcStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0;
        match NAMES.get(number as usize) {
            Some(name) => write!(f, "{number} ({name})"),
            None => number.fmt(f),
        }
    }
}

/// Completes the headers of a call, and gives its body. `None` if the message is longer than a
/// length of gRPC can say.
pub(super) fn call(headers: &mut HeaderMap, message: &[u8]) -> Option<Bytes> {
    headers.remove(CONTENT_LENGTH);
    headers.entry(CONTENT_TYPE).or_insert(PROTOBUF);
    headers.entry(TE).or_insert(TRAILERS);
    let mut body = BytesMut::with_capacity(5 + message.len());
    // Not compressed.
    body.put_u8(0);
    body.put_u32(u32::try_from(message.len()).ok()?);
    body.put_slice(message);
    Some(body.freeze())
}

/// Whether the head of an answer says that it is one of gRPC, and not one of gRPC-Web.
pub(super) fn is_answer(head: &HeaderMap) -> bool {
    let kind = head.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let rest = kind.and_then(|kind| kind.strip_prefix(PROTOBUF.as_bytes()));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// The status in the headers after an answer, or in its head if nothing comes after that.
pub(super) fn status(headers: &HeaderMap) -> GrpcStatus {
    let mut all = headers.get_all(STATUS).iter();
    let only = all.next().filter(|_| all.next().is_none());
    let text = only.and_then(|value| value.to_str().ok());
    let number = text.and_then(|text| text.parse().ok());
    number.map_or(UNKNOWN, GrpcStatus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
        let headers = of.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        headers.collect()
    }

    #[test]
    fn a_call_has_the_length_of_its_message_in_front() {
        let mut given = headers(&[("content-length", "3"), ("te", "trailers")]);
        let body = call(&mut given, b"abc").unwrap();
        assert_eq!(body, &b"\0\0\0\0\x03abc"[..]);
        let completed = headers(&[("content-type", "application/grpc"), ("te", "trailers")]);
        assert_eq!(given, completed);
        let mut given = headers(&[("content-type", "application/grpc+json")]);
        assert_eq!(call(&mut given, b"").unwrap(), &[0; 5][..]);
        assert_eq!(given["content-type"], "application/grpc+json");
    }

    #[test]
    fn answers_of_grpc_have_a_status() {
        for kind in [
            "application/grpc",
            "application/grpc+proto",
            "application/grpc;a=b",
        ] {
            assert!(is_answer(&headers(&[("content-type", kind)])), "{kind}");
        }
        for kind in ["application/grpc-web", "application/grpcx", "text/html"] {
            assert!(!is_answer(&headers(&[("content-type", kind)])), "{kind}");
        }
        assert_eq!(status(&headers(&[("grpc-status", "0")])), GrpcStatus::OK);
        let unavailable = status(&headers(&[("grpc-status", "14")]));
        assert_eq!(unavailable.to_string(), "14 (UNAVAILABLE)");
        let mut two = headers(&[("grpc-status", "0")]);
        two.append(STATUS, HeaderValue::from_static("13"));
        for wrong in [headers(&[]), headers(&[("grpc-status", "x")]), two] {
            assert_eq!(status(&wrong), UNKNOWN);
        }
        assert_eq!(GrpcStatus(99).to_string(), "99");
    }
}
