//! One request on a connection of its own.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// The body of an answer with status 200.
pub(super) fn get(port: u16, path: &str, within: Duration) -> io::Result<String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, within)?;
    stream.set_read_timeout(Some(within))?;
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        // The appliance's server keeps the connection open.
        if let Some(body) = whole_body(&answer)? {
            return Ok(body);
        }
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => answer.extend(&buffer[..bytes]),
        }
    }
}

/// The body, once all of it is there.
fn whole_body(answer: &[u8]) -> io::Result<Option<String>> {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return Ok(None);
    };
    if !head.starts_with("HTTP/1.1 200 ") {
        let status = head.lines().next().unwrap_or_default();
        return Err(io::Error::other(format!("it answers {status}")));
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });
    Ok((Some(body.len()) >= length && length.is_some()).then(|| body.to_owned()))
}

/// A port that is free now.
pub(super) fn free_port() -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_taken_once_it_is_whole() {
        let of = |text: &str| whole_body(text.as_bytes());
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n";
        assert_eq!(of("HTTP/1.1 200 OK\r\nCont").unwrap(), None);
        assert_eq!(of(&format!("{head}ab")).unwrap(), None);
        assert_eq!(of(&format!("{head}abc")).unwrap(), Some("abc".to_owned()));
        let error = of("HTTP/1.1 404 Not Found\r\n\r\n").unwrap_err();
        assert!(error.to_string().contains("404"), "{error}");
    }
}
