//! Where requests go: resolves a URL to addresses.

use super::tls;
use crate::LoadError;
use http::Uri;
use plimsoll_model::{HttpService, shown_url};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};

/// The name of HTTP/2 over TLS (RFC 9113, section 3.2).
pub(super) const HTTP2: &[u8] = b"h2";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) secure: bool,
    /// Name or address, without the brackets of IPv6.
    pub(super) host: String,
    pub(super) port: u16,
    /// For the Host header: includes the port only if it is not the scheme's
    /// default.
    pub(super) authority: String,
    /// Path and query, at least `/`.
    pub(super) path: String,
}

#[derive(Debug)]
pub(super) struct Target {
    /// For messages, without what may be secret.
    pub(super) url: String,
    /// In the resolver's order; at least one.
    pub(super) addresses: Vec<SocketAddr>,
    /// The address that accepted a probe.
    answered: OnceLock<SocketAddr>,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// Requests at a time on a connection of HTTP/2; `None`: HTTP/1.1.
    pub(super) http2: Option<NonZeroU32>,
}

pub(super) fn parse_url(url: &str) -> Result<Location, LoadError> {
    let parsed = url.parse::<Uri>();
    let url = &shown_url(url);
    let Some((scheme, _)) = url.split_once("://") else {
        return LoadError::mistake(format!(
            "the URL '{url}' does not say how to connect; write http://{url} or https://{url}"
        ));
    };
    let secure = match scheme.to_ascii_lowercase().as_str() {
        "http" => false,
        "https" => true,
        _ => {
            return LoadError::mistake(format!(
                "the URL '{url}' begins with {scheme}://; http:// and https:// are supported, also for gRPC (--grpc); with sweep --load-command any scheme is"
            ));
        }
    };
    let uri: Uri = parsed.or_else(|e| {
        LoadError::mistake(format!(
            "'{url}' is not a URL ({e}); write it like http://localhost:8080/path, \
             other characters as %XX"
        ))
    })?;
    let authority = uri.authority().map_or("", |a| a.as_str());
    if authority.contains('@') {
        return LoadError::mistake(format!(
            "the URL '{url}' contains a user name; use an Authorization header instead"
        ));
    }
    let host = uri.host().unwrap_or_default();
    let own_port = if secure { 443 } else { 80 };
    let port = match authority[host.len()..].strip_prefix(':') {
        None | Some("") => own_port,
        Some(text) => match text.parse() {
            Ok(port) if port != 0 => port,
            _ => {
                return LoadError::mistake(format!(
                    "the port of the URL '{url}' is not within 1 to 65535"
                ));
            }
        },
    };
    if host.is_empty() {
        return LoadError::mistake(format!("the URL '{url}' has no host"));
    }
    Ok(Location {
        secure,
        host: host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned(),
        port,
        authority: match port == own_port {
            true => host.to_owned(),
            false => format!("{host}:{port}"),
        },
        path: match uri.path_and_query().map_or("/", |p| p.as_str()) {
            // A query may directly follow the authority; a request line needs a
            // path.
            query if query.starts_with('?') => format!("/{query}"),
            path => path.to_owned(),
        },
    })
}

impl Target {
    /// Resolves the host and prepares TLS.
    pub(super) fn new(service: &HttpService, location: &Location) -> Result<Target, LoadError> {
        let (host, url) = (&location.host, &shown_url(&service.url));
        let addresses: Vec<SocketAddr> = (host.as_str(), location.port)
            .to_socket_addrs()
            .map_err(|e| {
                LoadError::Service(format!(
                    "the host '{host}' of {url} cannot be resolved ({e}); check its spelling and DNS"
                ))
            })?
            .collect();
        if addresses.is_empty() {
            let why = format!("the host '{host}' of {url} has no address");
            return Err(LoadError::Service(why));
        }
        let tls = match location.secure {
            false => None,
            true => {
                let name = ServerName::try_from(host.clone()).or_else(|_| {
                    LoadError::mistake(format!(
                        "'{host}' in {url} is not a valid name for a certificate"
                    ))
                })?;
                let protocol = match service.http2_streams {
                    Some(_) => HTTP2,
                    None => b"http/1.1",
                };
                Some((tls::config(service.insecure, &service.tls, protocol)?, name))
            }
        };
        Ok(Target {
            url: url.to_owned(),
            addresses,
            answered: OnceLock::new(),
            tls,
            http2: service.http2_streams,
        })
    }

    /// All addresses, in the order to try.
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Selects the address that accepted a connection.
    pub(super) fn use_address(&self, address: SocketAddr) {
        // The first choice stays, so that all trials use the same server.
        let _ = self.answered.set(address);
    }

    pub(super) fn address(&self) -> SocketAddr {
        *self.answered.get_or_init(|| self.addresses[0])
    }

    /// A new TLS session if the scheme is https.
    pub(super) fn session(&self) -> Result<Option<ClientConnection>, rustls::Error> {
        self.tls
            .as_ref()
            .map(|(config, name)| ClientConnection::new(Arc::clone(config), name.clone()))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn mistake_of(url: &str) -> String {
        match parse_url(url) {
            Err(LoadError::Mistake(message)) => message,
            other => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn urls_are_taken_apart() {
        let cases = [
            ("http://a", false, "a", 80, "a", "/"),
            ("HTTPS://a/b?c=d", true, "a", 443, "a", "/b?c=d"),
            ("http://a:8080?q", false, "a", 8080, "a:8080", "/?q"),
            ("https://[::1]:8443/", true, "::1", 8443, "[::1]:8443", "/"),
            ("http://a:80/x", false, "a", 80, "a", "/x"),
        ];
        for (url, secure, host, port, authority, path) in cases {
            let expected = Location {
                secure,
                host: host.into(),
                port,
                authority: authority.into(),
                path: path.into(),
            };
            assert_eq!(parse_url(url).unwrap(), expected, "{url}");
        }
    }

    #[test]
    fn invalid_url_is_refused_with_a_remedy() {
        let cases = [
            ("localhost:8080", "write http://localhost:8080"),
            ("ftp://a/", "http:// and https:// are supported"),
            ("http://a b/", "not a URL"),
            ("http://", "not a URL"),
            ("http://me:secret@a/", "Authorization header"),
            ("http://a:0/", "1 to 65535"),
            ("http://a:99999/", "1 to 65535"),
        ];
        for (url, part) in cases {
            let message = mistake_of(url);
            assert!(message.contains(part), "{url}: {message}");
        }
    }

    #[test]
    fn unresolvable_host_is_named() {
        let location = parse_url("http://nowhere.invalid/").unwrap();
        let service = HttpService::get("http://nowhere.invalid/", 1, Duration::from_secs(1));
        let error = Target::new(&service, &location).unwrap_err();
        assert!(error.to_string().contains("'nowhere.invalid'"), "{error}");
    }
}
