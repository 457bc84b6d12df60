//! The HTTP load generator over TLS, with a generated certificate.

use super::{MS, assert_refused, cpus, drive_window, offer, probe_with, service};
use plimsoll_load::Offer;
use plimsoll_load::http::HttpLoad;
use plimsoll_model::{Arrivals, HttpService, TlsFiles, Work};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

type TlsStream = StreamOwned<ServerConnection, TcpStream>;

fn tls_server(body: &'static [u8]) -> SocketAddr {
    tls_server_that(move |stream| serve(stream, body))
}

type Identity = rcgen::CertifiedKey<rcgen::KeyPair>;

fn identity() -> Identity {
    rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

/// A server with an untrusted certificate. Its threads end with the test
/// process, or with their client.
fn tls_server_that(
    serve: impl Fn(TlsStream) -> std::io::Result<()> + Send + Clone + 'static,
) -> SocketAddr {
    tls_server_of(&identity(), None, serve)
}

/// A server with a certificate, that asks clients for one that `client` signed.
fn tls_server_of(
    own: &Identity,
    client: Option<&Identity>,
    serve: impl Fn(TlsStream) -> std::io::Result<()> + Send + Clone + 'static,
) -> SocketAddr {
    let private = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match client {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let mut roots = RootCertStore::empty();
            roots.add(client.cert.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let config = builder
        .with_single_cert(vec![own.cert.der().clone()], PrivateKeyDer::Pkcs8(private))
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            let serve = serve.clone();
            std::thread::spawn(move || serve(StreamOwned::new(session, stream)));
        }
    });
    addr
}

/// Answers requests until the client closes.
fn serve(stream: TlsStream, body: &[u8]) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line)? > 0 {
        if line == "\r\n" {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            let answer = [head.as_bytes(), body].concat();
            stream.get_mut().write_all(&answer)?;
            stream.get_mut().flush()?;
        }
        line.clear();
    }
    Ok(())
}

fn load(addr: SocketAddr, insecure: bool) -> HttpLoad {
    let service = HttpService {
        insecure,
        ..service(&format!("https://localhost:{}/", addr.port()))
    };
    HttpLoad::new(&service, cpus()).unwrap()
}

/// Offers 60 requests.
fn drive(load: &mut HttpLoad) -> Work {
    let offer = Offer {
        arrivals: Arrivals::Constant,
        ..offer(200.0)
    };
    drive_window(load, &offer, 300 * MS)
}

#[test]
fn the_end_of_a_session_ends_an_answer_without_a_length() {
    let addr = tls_server_that(|stream| {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while stream.read_line(&mut line)? > 0 {
            if line == "\r\n" {
                let StreamOwned { conn, sock } = stream.get_mut();
                conn.writer().write_all(b"HTTP/1.1 200 OK\r\n\r\nwhole")?;
                conn.send_close_notify();
                while conn.wants_write() {
                    conn.write_tls(sock)?;
                }
                // The connection is the client's to close.
                let _ = sock.read(&mut [0; 64])?;
                return Ok(());
            }
            line.clear();
        }
        Ok(())
    });
    let mut load = load(addr, true);
    assert_eq!(load.probe().unwrap().body.0, 5);
    let work = drive(&mut load);
    assert_eq!(work.errors.total() + work.unfinished, 0, "{work:?}");
    assert_eq!(work.latency.count(), work.intended);
}

#[test]
fn insecure_accepts_any_certificate() {
    let mut load = load(tls_server(b"secret"), true);
    let probe = load.probe().unwrap();
    assert_eq!((probe.body.0, probe.keeps_alive), (6, true));
    let work = drive(&mut load);
    assert_eq!((work.intended, work.latency.count()), (60, 60), "{work:?}");
}

#[test]
fn answers_of_many_tls_records_are_complete() {
    const BODY: &[u8] = &[b'x'; 1 << 20];
    let mut load = load(tls_server(BODY), true);
    assert_eq!(load.probe().unwrap().body.0, 1 << 20);
    let work = drive(&mut load);
    assert_eq!(work.latency.count(), work.intended, "{work:?}");
}

#[test]
fn untrusted_certificate_is_a_tls_error() {
    let mut load = load(tls_server(b""), false);
    let sentence = probe_with(&load).unwrap_err();
    assert!(
        sentence.contains("certificate is not trusted"),
        "{sentence}"
    );
    let work = drive(&mut load);
    assert_eq!(work.errors.tls, work.intended, "{work:?}");
}

#[test]
fn a_certificate_of_an_authority_is_none_of_a_server() {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = Identity {
        cert: params.self_signed(&key).unwrap(),
        signing_key: key,
    };
    let addr = tls_server_of(&authority, None, |stream| serve(stream, b"ok"));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ca.pem");
    std::fs::write(&file, authority.cert.pem()).unwrap();
    let service = HttpService {
        tls: TlsFiles {
            authorities: Some(file.display().to_string()),
            ..TlsFiles::default()
        },
        ..service(&format!("https://localhost:{}/", addr.port()))
    };
    assert_refused(&service, "one of an authority, and of no server");
}

#[test]
fn files_of_authorities_and_of_the_client_are_used() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        Some(path.display().to_string())
    };
    let (server, client) = (identity(), identity());
    let addr = tls_server_of(&server, Some(&client), |stream| serve(stream, b"ok"));
    let of = |tls: TlsFiles| {
        let service = HttpService {
            tls,
            ..service(&format!("https://localhost:{}/", addr.port()))
        };
        HttpLoad::new(&service, cpus()).map_err(|why| why.to_string())
    };
    let authorities = file("ca.pem", &server.cert.pem());
    let trusting = TlsFiles {
        authorities: authorities.clone(),
        ..TlsFiles::default()
    };
    let refused = probe_with(&of(trusting.clone()).unwrap()).unwrap_err();
    assert!(refused.contains("CertificateRequired"), "{refused}");
    let certificate = file("client.pem", &client.cert.pem());
    let key = file("client.key", &client.signing_key.serialize_pem());
    let known = TlsFiles {
        certificate: certificate.clone(),
        key,
        ..trusting.clone()
    };
    let mut load = of(known).unwrap();
    assert_eq!(load.probe().unwrap().body.0, 2);
    let work = drive(&mut load);
    assert_eq!(work.latency.count(), work.intended, "{work:?}");
    // The file of the certificate has no key, and that of the authorities is none.
    let without_key = TlsFiles {
        certificate,
        ..trusting
    };
    let why = of(without_key).unwrap_err();
    assert!(why.contains("a private key cannot be read"), "{why}");
    let nothing = TlsFiles {
        authorities: file("empty.pem", "nothing"),
        ..TlsFiles::default()
    };
    let why = of(nothing).unwrap_err();
    assert!(why.contains("there is no certificate in"), "{why}");
    let none = TlsFiles {
        authorities: Some("/none".to_owned()),
        ..TlsFiles::default()
    };
    let why = of(none).unwrap_err();
    assert!(why.contains("the file '/none' cannot be read"), "{why}");
}

#[test]
fn a_server_without_tls_is_recognised() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let load = load(listener.local_addr().unwrap(), true);
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .write_all(b"220 mail.invalid ESMTP ready\r\n")
            .unwrap();
        // Reads until the client closes.
        std::io::copy(&mut stream, &mut std::io::sink())
    });
    let sentence = probe_with(&load).unwrap_err();
    assert!(sentence.contains("write http://"), "{sentence}");
    server.join().unwrap().unwrap();
}

#[test]
fn a_server_with_tls_is_recognised_by_a_plain_request() {
    let addr = tls_server(b"");
    let plain = service(&format!("http://{addr}/"));
    assert_refused(&plain, "it speaks TLS; write https://");
}

/// Announces a long TLS record of this type and sends a little of it, a byte at a
/// time. It takes far longer than the client's time-out, and ends.
fn drip(mut stream: &TcpStream, record: u8) -> std::io::Result<()> {
    stream.write_all(&[record, 3, 3, 0x40, 0, 2, 0, 0x3f, 0xfc])?;
    for _ in 0..60 {
        std::thread::sleep(20 * MS);
        stream.write_all(&[0])?;
    }
    Ok(())
}

fn hurried(addr: SocketAddr) -> HttpLoad {
    let service = HttpService {
        insecure: true,
        timeout: 100 * MS,
        ..service(&format!("https://localhost:{}/", addr.port()))
    };
    HttpLoad::new(&service, cpus()).unwrap()
}

/// A server that never falls silent for as long as the time-out.
#[test]
fn a_handshake_byte_by_byte_ends_at_the_time_out() {
    const HANDSHAKE: u8 = 0x16;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
        drip(&stream, HANDSHAKE)
    });
    let sentence = probe_with(&hurried(addr)).unwrap_err();
    let expected = "did not finish the TLS handshake within 100ms; check why it is slow, or allow \
                    more time with --timeout";
    assert!(sentence.contains(expected), "{sentence}");
    assert!(server.join().unwrap().is_err(), "the client has gone");
}

#[test]
fn a_record_byte_by_byte_ends_at_the_time_out() {
    const DATA: u8 = 0x17;
    let addr = tls_server_that(|mut stream| {
        assert!(stream.read(&mut [0; 4096])? > 0);
        drip(&stream.sock, DATA)
    });
    let sentence = probe_with(&hurried(addr)).unwrap_err();
    // Already in the handshake, where the machine is busy.
    assert!(sentence.contains("within 100ms"), "{sentence}");
}

/// An answer that ends with the connection, with or without the end of the session.
fn ends(mut stream: TlsStream, closes_session: bool) -> std::io::Result<()> {
    let mut request = [0; 4096];
    assert!(stream.read(&mut request)? > 0);
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhalf")?;
    if closes_session {
        stream.conn.send_close_notify();
    }
    stream.flush()
}

#[test]
fn an_answer_is_whole_only_if_its_session_was_closed() {
    let mut whole = load(tls_server_that(|stream| ends(stream, true)), true);
    assert_eq!(whole.probe().unwrap().body.0, 4);
    let work = drive(&mut whole);
    assert_eq!(work.latency.count(), work.intended, "{work:?}");
    let mut cut = load(tls_server_that(|stream| ends(stream, false)), true);
    let sentence = probe_with(&cut).unwrap_err();
    assert!(
        sentence.contains("without closing its TLS session"),
        "{sentence}"
    );
    let work = drive(&mut cut);
    assert_eq!(work.errors.reset, work.intended, "{work:?}");
}
