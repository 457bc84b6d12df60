//! The address of a service that an external generator loads.

use crate::LoadError;
use http::Uri;
use plimsoll_model::shown_url;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Connects once to the address in `url`, of any scheme, and returns the address that took the
/// connection.
///
/// # Errors
/// [`LoadError::Mistake`] if `url` has no host or port, [`LoadError::Service`] if nothing listens
/// there.
pub fn connect(url: &str) -> Result<SocketAddr, LoadError> {
    let shown = shown_url(url);
    let unclear = || {
        LoadError::Mistake(format!(
            "'{shown}' is no address of a service; write it like tcp://127.0.0.1:5432"
        ))
    };
    let uri: Uri = url.parse().map_err(|_| unclear())?;
    let usual = match uri.scheme_str() {
        Some("http") => Some(80),
        Some("https") => Some(443),
        Some(_) => None,
        None => return Err(unclear()),
    };
    let host = uri.host().ok_or_else(unclear)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().or(usual).ok_or_else(unclear)?;
    let addresses = (host, port).to_socket_addrs().map_err(|error| {
        LoadError::Service(format!(
            "the host of {shown} is not known ({error}); check its name"
        ))
    })?;
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(_) => return Ok(address),
            Err(error) => last = Some((address, error)),
        }
    }
    Err(match last {
        Some((address, error)) => LoadError::Service(format!(
            "nothing takes connections at {address} ({error}); start the service, or check the \
             address {shown}"
        )),
        None => unclear(),
    })
}
