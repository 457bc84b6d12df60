//! The HTTP load generator over TLS, with a generated certificate.

#![cfg(test)]

use plimsoll_load::http::HttpLoad;
use plimsoll_load::{Load, LoadError, Offer};
use plimsoll_model::{Arrivals, CpuSet, HttpService, Rate, ServiceAt, Work};
use plimsoll_pool::allowed_cpus;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A server with an untrusted certificate. Its threads end with the test
/// process, or with their client.
fn tls_server(body: &'static [u8]) -> SocketAddr {
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let private = PrivatePkcs8KeyDer::from(key.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], PrivateKeyDer::Pkcs8(private))
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            std::thread::spawn(move || serve(StreamOwned::new(session, stream), body));
        }
    });
    addr
}

/// Answers requests until the client closes.
fn serve(stream: StreamOwned<ServerConnection, TcpStream>, body: &[u8]) -> std::io::Result<()> {
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
        url: format!("https://localhost:{}/", addr.port()),
        method: "GET".into(),
        headers: vec![],
        omitted_headers: vec![],
        body: vec![],
        connections: 3,
        timeout: Duration::from_secs(10),
        expected_status: None,
        insecure,
        service: ServiceAt::Find,
    };
    let cpus: CpuSet = allowed_cpus().unwrap().iter().take(1).collect();
    HttpLoad::new(&service, cpus).unwrap()
}

fn drive(load: &mut HttpLoad) -> Work {
    let mut running = load
        .start(&Offer {
            rate: Rate::per_second(200.0).unwrap(),
            arrivals: Arrivals::Constant,
            seed: 1,
            drain: Duration::from_secs(10),
            steps: None,
        })
        .unwrap();
    let times = running.open_window(Duration::from_millis(300));
    std::thread::sleep(times.closes.saturating_duration_since(Instant::now()));
    running.finish().unwrap()
}

fn sentence(load: &HttpLoad) -> String {
    match load.probe() {
        Err(LoadError::Service(sentence) | LoadError::Mistake(sentence)) => sentence,
        other => panic!("{other:?}"),
    }
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
    let sentence = sentence(&load);
    assert!(
        sentence.contains("certificate is not trusted"),
        "{sentence}"
    );
    let work = drive(&mut load);
    assert_eq!(work.errors.tls, work.intended, "{work:?}");
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
    let sentence = sentence(&load);
    assert!(sentence.contains("write http://"), "{sentence}");
    server.join().unwrap().unwrap();
}

#[test]
fn a_server_with_tls_is_recognised_by_a_plain_request() {
    let addr = tls_server(b"");
    let service = HttpService {
        url: format!("http://{addr}/"),
        method: "GET".into(),
        headers: vec![],
        omitted_headers: vec![],
        body: vec![],
        connections: 1,
        timeout: Duration::from_secs(10),
        expected_status: None,
        insecure: false,
        service: ServiceAt::Find,
    };
    let load = HttpLoad::new(&service, [0].into_iter().collect()).unwrap();
    let sentence = sentence(&load);
    assert!(
        sentence.contains("it speaks TLS; write https://"),
        "{sentence}"
    );
}
