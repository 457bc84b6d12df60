//! Errors of a probe, as sentences with a remedy.

use super::parser::{GrpcStatus, ParseError};
use plimsoll_model::{Bytes, human_duration, shown_url};
use rustix::io::Errno;
use rustls::{AlertDescription, CertificateError};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

/// How many bytes of an unexpected answer are shown.
const SHOWN: usize = 40;

/// An answer that shares so many bytes with the request may repeat what is secret in it.
const ECHO: usize = 6;

/// Words of any message of HTTP.
const FRAMING: [&[u8]; 3] = [
    b" HTTP/1.1\r\n",
    b"\r\nContent-Length: ",
    b"\r\nConnection: ",
];

/// How long an exchange may take, and what sets that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeLimit {
    pub(super) within: Duration,
    is_flag: bool,
}

impl TimeLimit {
    /// `--timeout` sets it.
    pub(super) fn of_flag(within: Duration) -> TimeLimit {
        TimeLimit {
            within,
            is_flag: true,
        }
    }

    /// No flag sets it.
    pub(super) fn fixed(within: Duration) -> TimeLimit {
        TimeLimit {
            within,
            is_flag: false,
        }
    }

    /// The way out when it is over.
    fn way_out(self) -> &'static str {
        match self.is_flag {
            true => "check why it is slow, or allow more time with --timeout",
            false => "check why it is slow; no flag raises this limit",
        }
    }
}

impl fmt::Display for TimeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&human_duration(self.within))
    }
}

/// Why a probe failed. Each message continues a sentence that starts with the
/// URL.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProbeError {
    #[error("{}", not_connected(.peer, .error))]
    NotConnected { peer: SocketAddr, error: io::Error },
    #[error("failed the TLS handshake: {}", tls(.0))]
    Tls(rustls::Error),
    #[error(
        "ended the connection during the TLS handshake ({0}); check that this port speaks TLS \
         and needs no client certificate"
    )]
    TlsEnded(io::Error),
    #[error("did not finish the TLS handshake within {0}; {way_out}", way_out = .0.way_out())]
    TlsTimeout(TimeLimit),
    #[error("closed the connection without an answer; check its log")]
    NoAnswer,
    #[error("closed the connection within its answer, after {0}; check its log")]
    CutOff(Bytes),
    #[error(
        "ended the connection after {0} without closing its TLS session, so the answer may be cut \
         off; check its log, and that it sends a Content-Length or closes the session"
    )]
    Unclosed(Bytes),
    #[error("gave no answer within {0}; {way_out}", way_out = .0.way_out())]
    Silent(TimeLimit),
    #[error(
        "did not accept the request within {0}; {way_out}, or send a smaller body",
        way_out = .0.way_out()
    )]
    NotTaken(TimeLimit),
    #[error(
        "did not complete its answer within {within}: {bytes} were read; {way_out}, or request less",
        way_out = .within.way_out()
    )]
    Endless { within: TimeLimit, bytes: Bytes },
    #[error("answered with more than {0}; check its host, port and path, or ask for less")]
    TooLong(Bytes),
    /// Without an opening if that may repeat the request.
    #[error("did not answer with HTTP/1.1: {}", not_http(.error, .opening))]
    NotHttp { error: ParseError, opening: Vec<u8> },
    #[error(
        "answered with a body of {0} that does not have the text that is expected; check the \
         request, or what is expected of it"
    )]
    Text(Bytes),
    /// `None`: it is no answer of gRPC.
    #[error("{}", failed_call(*.0))]
    Grpc(Option<GrpcStatus>),
    #[error(
        "did not answer with HTTP/2: {0}; leave --http2 out, and --grpc, if it speaks HTTP/1.1"
    )]
    NotHttp2(String),
    #[error("gave the request no answer over HTTP/2: {0}; check its log")]
    EndedAlone(String),
    #[error(
        "takes {most} requests at a time on a connection of HTTP/2, and --streams asks for {asked}; \
         give --streams {most}, and more connections (-c)"
    )]
    Streams { most: usize, asked: u32 },
    #[error("sent data beyond its answer, so answers cannot be separated; check the server")]
    Extra,
    #[error("{}", unexpected(*.status, *.expected, .location.as_deref(), .opening))]
    Status {
        status: u16,
        expected: Option<u16>,
        location: Option<String>,
        opening: Vec<u8>,
    },
}

impl ProbeError {
    /// The same without bytes of the answer that repeat those of the request.
    pub(super) fn without_echo(self, request: &[u8]) -> ProbeError {
        let repeats = |opening: &[u8]| {
            let shown = &opening[..opening.len().min(SHOWN)];
            let mut parts = shown.windows(ECHO);
            let is_framing = |part: &[u8]| {
                FRAMING
                    .iter()
                    .any(|words| words.windows(ECHO).any(|w| w == part))
            };
            parts.any(|part| !is_framing(part) && request.windows(ECHO).any(|own| own == part))
        };
        match self {
            ProbeError::NotHttp { error, opening } if repeats(&opening) => ProbeError::NotHttp {
                error,
                opening: Vec::new(),
            },
            other => other,
        }
    }
}

/// Whether an answer starts with a TLS record.
fn is_tls(opening: &[u8]) -> bool {
    matches!(opening, [0x14..=0x17, 3, ..])
}

impl ProbeError {
    /// The address that said nothing until the time was over; `connected` is the one that has
    /// accepted the connection.
    pub(super) fn silent_peer(&self, connected: Option<SocketAddr>) -> Option<SocketAddr> {
        match self {
            ProbeError::NotConnected { peer, error } => {
                let is_over = matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock);
                is_over.then_some(*peer)
            }
            ProbeError::Silent(_) | ProbeError::TlsTimeout(_) => connected,
            _ => None,
        }
    }
}

fn failed_call(status: Option<GrpcStatus>) -> String {
    match status {
        Some(status) => format!(
            "answered the call with the status {status} of gRPC; correct the path, which is \
             /package.Service/Method, the message or the headers"
        ),
        None => {
            "answered without gRPC; leave --grpc out, or correct the host, port and path".to_owned()
        }
    }
}

fn not_connected(peer: &SocketAddr, error: &io::Error) -> String {
    if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) {
        return "was not asked: this program may open no more files; raise the limit (ulimit -n)"
            .to_owned();
    }
    match error.kind() {
        ErrorKind::ConnectionRefused => format!(
            "cannot be reached: nothing listens on {peer}; start the service, or correct the \
             host and port"
        ),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => format!(
            "cannot be reached: {peer} did not answer in time; check the address, the network \
             and its firewalls"
        ),
        _ => format!("cannot be reached at {peer} ({error}); check the address and the network"),
    }
}

fn tls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidMessage(_) => {
            format!("it did not answer with TLS ({error}); for plain HTTP, write http://")
        }
        rustls::Error::InvalidCertificate(why) => format!(
            "its certificate is not trusted here: {}; {}, or accept any certificate with --insecure",
            certificate(why),
            way_to_trust(why)
        ),
        rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            "it does not offer this version of HTTP (ALPN); leave --http2 out, or add it".to_owned()
        }
        rustls::Error::AlertReceived(alert) => format!(
            "it ended the TLS handshake ({alert:?}); check which versions and certificates it accepts"
        ),
        rustls::Error::PeerIncompatible(_) => format!(
            "it speaks no version or cipher of TLS in common ({error}); TLS 1.2 and 1.3 are supported"
        ),
        _ => format!("{error}; check which versions and certificates it accepts"),
    }
}

fn way_to_trust(why: &CertificateError) -> &'static str {
    match why {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "use the name that it is for"
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "give its authority with --cacert"
        }
        why if is_of_an_authority(why) => {
            "make one for the server (openssl req -x509 -addext basicConstraints=CA:FALSE)"
        }
        _ => "renew it",
    }
}

/// webpki takes no authority for a server.
fn is_of_an_authority(why: &CertificateError) -> bool {
    matches!(why, CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity"))
}

fn certificate(why: &CertificateError) -> String {
    match why {
        why if is_of_an_authority(why) => "it is one of an authority, and of no server",
        CertificateError::UnknownIssuer => {
            "it is self-signed, or signed by an authority that this machine does not know"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet; see the clock of this machine"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another host name"
        }
        CertificateError::Revoked => "it was revoked",
        CertificateError::BadSignature => {
            "it is self-signed, or not signed by the authority that it names"
        }
        other => return other.to_string(),
    }
    .to_owned()
}

fn not_http(error: &ParseError, opening: &[u8]) -> String {
    match opening {
        [] => format!(
            "{error}; its beginning is hidden, as it may repeat the request; check the port"
        ),
        _ if is_tls(opening) => "it speaks TLS; write https://".to_owned(),
        // The first frame of an HTTP/2 server: SETTINGS on stream 0.
        [0, 0, _, 4, _, 0, 0, 0, 0, ..] => "it speaks HTTP/2 without TLS; add --http2".to_owned(),
        _ => format!("{error}; it starts with {}; check the port", shown(opening)),
    }
}

fn unexpected(
    status: u16,
    expected: Option<u16>,
    location: Option<&str>,
    opening: &[u8],
) -> String {
    if opening
        .windows(32)
        .any(|w| w == b"plain HTTP request was sent to H")
    {
        return format!("answered {status} because this port speaks TLS; write https://");
    }
    if let (300..400, Some(location)) = (status, location) {
        return format!(
            "redirects to {} ({status}); redirects are not followed, so give that URL",
            location
        );
    }
    let expected = match expected {
        Some(expected) => expected.to_string(),
        None => "200 to 299".to_owned(),
    };
    format!(
        "answered with status {status} where {expected} was expected; correct the request, or \
         accept it with --expect-status {status}"
    )
}

/// Where a redirect leads. A server may put what the request has into the path, in any encoding.
pub(super) fn shown_location(location: &str, may_be_secret: bool) -> String {
    let shown = shown_url(location);
    if !may_be_secret {
        return shown;
    }
    let host = shown
        .split_once("://")
        .filter(|(scheme, _)| ["http", "https"].contains(scheme));
    let host = host.and_then(|(scheme, rest)| {
        let host = rest.split('/').next()?;
        let is_host = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
        // What else stands there may be of the request, too.
        host.chars()
            .all(is_host)
            .then(|| format!("{scheme}://{host}"))
    });
    match host {
        None => "another path, which is hidden as it may repeat the request".to_owned(),
        Some(host) => format!("{host}, where the path is hidden as it may repeat the request"),
    }
}

fn shown(bytes: &[u8]) -> String {
    let begin = &bytes[..bytes.len().min(SHOWN)];
    format!("\"{}\"", begin.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_http(opening: &[u8]) -> String {
        ProbeError::NotHttp {
            error: ParseError::Head(httparse::Error::Version),
            opening: opening.to_vec(),
        }
        .to_string()
    }

    #[test]
    fn other_protocols_are_recognised_or_quoted() {
        let cases: [(&[u8], &str); 3] = [
            (&[0x15, 3, 1, 0, 2, 2, 10], "https://"),
            (&[0, 0, 18, 4, 0, 0, 0, 0, 0, 1], "HTTP/2"),
            (b"SSH-2.0-OpenSSH_9.2\r\n", "SSH-2.0-OpenSSH_9.2\\r\\n"),
        ];
        for (opening, part) in cases {
            let sentence = not_http(opening);
            assert!(sentence.contains(part), "{sentence}");
        }
    }

    #[test]
    fn an_answer_that_repeats_the_request_is_not_quoted() {
        let request = b"GET /?token=hunter2 HTTP/1.1\r\nHost: a\r\n\r\n";
        let said = |opening: &[u8]| {
            let error = ParseError::Head(httparse::Error::Version);
            let opening = opening.to_vec();
            let found = ProbeError::NotHttp { error, opening };
            found.without_echo(request).to_string()
        };
        for opening in [
            &request[..],
            b"unknown command: /?token=hunter2",
            b"hunter2",
        ] {
            let sentence = said(opening);
            assert!(!sentence.contains("hunter"), "{sentence}");
            assert!(sentence.contains("may repeat the request"), "{sentence}");
        }
        assert!(said(b"SSH-2.0-OpenSSH_9.2\r\n").contains("OpenSSH"));
    }

    #[test]
    fn too_few_descriptors_are_not_put_down_to_the_network() {
        let error = io::Error::from_raw_os_error(Errno::MFILE.raw_os_error());
        let sentence = not_connected(&"127.0.0.1:80".parse().unwrap(), &error);
        assert!(sentence.contains("ulimit -n"), "{sentence}");
        assert!(!sentence.contains("network"), "{sentence}");
    }

    #[test]
    fn a_redirect_shows_no_more_than_a_host_of_a_request_with_secrets() {
        for location in [
            "SEKRET/next",
            "SEKRET",
            "javascript:SEKRET",
            "http:SEKRET/x",
            "/SEKRET",
            "http://h/SEKRET",
            "http://h;SEKRET/",
            "http://h\\SEKRET",
        ] {
            assert!(
                !shown_location(location, true).contains("SEKRET"),
                "{location}"
            );
            assert_eq!(shown_location(location, false), location);
        }
        assert!(shown_location("https://h:8443/x", true).starts_with("https://h:8443, "));
    }

    #[test]
    fn unexpected_status_is_explained() {
        let tls_port = "<center>The plain HTTP request was sent to HTTPS port</center>";
        let cases = [
            (302, None, Some("/login"), "", "redirects to /login (302)"),
            (304, Some(200), None, "", "304 where 200 was"),
            (400, None, None, tls_port, "https://"),
        ];
        for (status, expected, location, opening, part) in cases {
            let sentence = unexpected(status, expected, location, opening.as_bytes());
            assert!(sentence.contains(part), "{sentence}");
        }
    }
}
