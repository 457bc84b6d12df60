//! The load generator over HTTP/2.

use super::{MS, assert_refused, drive, drive_for, known, offer, probe, service};
use plimsoll_load::Offer;
use plimsoll_load::known::{Behaviour, Http2Behaviour, KnownHttp2};
use plimsoll_model::{Errors, HttpService};
use std::io::Write;
use std::net::TcpListener;
use std::num::NonZeroU32;
use std::time::Duration;

/// A server, and its description with so many streams on each of two connections.
fn http2(behaviour: Http2Behaviour, streams: u32) -> (KnownHttp2, HttpService) {
    let server = KnownHttp2::start(behaviour).unwrap();
    let service = HttpService {
        connections: 2,
        http2_streams: NonZeroU32::new(streams),
        ..service(&format!("http://{}/", server.addr()))
    };
    (server, service)
}

#[test]
fn requests_share_connections_and_are_all_answered() {
    let after = 10 * MS;
    let (server, service) = http2(Http2Behaviour::answer(after), 8);
    let probe = probe(&service).unwrap();
    assert_eq!((probe.status, probe.body.0), (200, 3));
    assert_eq!((probe.peer, probe.keeps_alive), (server.addr(), true));
    let before = server.connections();
    let work = drive(&service, 500.0);
    assert_eq!((work.errors.total(), work.unfinished), (0, 0));
    assert_eq!(work.latency.count(), work.intended);
    assert!(work.latency.quantile(0.0) >= Some(after), "an early answer");
    assert_eq!(server.connections() - before, 2);
    let most = server.most_at_once();
    assert!((2..=8).contains(&most), "{most}");
}

#[test]
fn requests_beyond_the_streams_wait_for_one() {
    let (server, service) = http2(Http2Behaviour::answer(20 * MS), 2);
    let offer = Offer {
        drain: 100 * MS,
        ..offer(2000.0)
    };
    let work = drive_for(&service, &offer, 300 * MS);
    let used = work.connections.unwrap();
    assert_eq!((used.connections, used.used), (2, 2));
    assert!(used.waited > work.intended / 2, "{used:?}");
    assert_eq!(server.most_at_once(), 2);
}

#[test]
fn a_request_that_the_server_has_not_begun_goes_to_another_connection() {
    let behaviour = Http2Behaviour {
        requests_per_connection: Some(20),
        ..Http2Behaviour::answer(MS)
    };
    let (server, service) = http2(behaviour, 8);
    let work = drive(&service, 1000.0);
    assert_eq!((work.errors, work.unfinished), (Errors::default(), 0));
    assert_eq!(work.latency.count(), work.intended);
    assert!(server.connections() > 2, "{}", server.connections());
}

#[test]
fn a_reset_stream_fails_alone() {
    let behaviour = Http2Behaviour {
        resets: true,
        ..Http2Behaviour::answer(MS)
    };
    let (server, service) = http2(behaviour, 8);
    let work = drive(&service, 500.0);
    assert_eq!(work.errors.reset, work.intended, "{work:?}");
    assert!(server.connections() <= 2, "{}", server.connections());
}

#[test]
fn a_time_out_ends_the_request_and_not_the_connection() {
    let behaviour = Http2Behaviour {
        after: None,
        ..Http2Behaviour::answer(MS)
    };
    let (server, mut service) = http2(behaviour, 64);
    service.timeout = 50 * MS;
    let work = drive(&service, 200.0);
    assert_eq!(work.errors.timeout, work.intended, "{work:?}");
    assert!(work.latency.quantile(0.0) >= Some(50 * MS), "{work:?}");
    assert!(server.connections() <= 2, "{}", server.connections());
}

#[test]
fn bodies_larger_than_a_window_are_sent() {
    let (server, mut service) = http2(Http2Behaviour::answer(Duration::ZERO), 4);
    service.method = "POST".to_owned();
    service.body = vec![b'.'; 300_000];
    let work = drive(&service, 50.0);
    assert_eq!((work.errors.total(), work.unfinished), (0, 0));
    // Those before the window, too.
    let bytes = u64::from(server.body_bytes());
    assert!(
        bytes >= work.intended * 300_000 && bytes % 300_000 == 0,
        "{bytes}"
    );
}

#[test]
fn a_call_that_fails_with_a_good_status_of_http_has_failed() {
    let calls = |good: u32| {
        let behaviour = Http2Behaviour {
            good_calls: Some(good),
            ..Http2Behaviour::answer(MS)
        };
        let (server, service) = http2(behaviour, 8);
        let service = HttpService {
            method: "POST".to_owned(),
            grpc: true,
            ..service
        };
        (server, service)
    };
    let (server, service) = calls(10);
    let work = drive(&service, 500.0);
    // Ten of each connection are good, some of them before the window.
    assert!(work.errors.status >= work.intended - 20, "{work:?}");
    assert_eq!(work.latency.count() + work.errors.status, work.intended);
    let in_front = u64::from(server.body_bytes());
    assert!(in_front >= 5 * work.intended && in_front % 5 == 0);
    assert_refused(&calls(0).1, "the status 14 (UNAVAILABLE) of gRPC");
    let (_server, service) = http2(Http2Behaviour::answer(MS), 8);
    let service = HttpService {
        grpc: true,
        ..service
    };
    assert_refused(&service, "without gRPC");
}

#[test]
fn what_does_not_speak_it_or_takes_fewer_streams_is_refused() {
    let few = Http2Behaviour {
        streams: 4,
        ..Http2Behaviour::answer(MS)
    };
    let (_server, service) = http2(few, 8);
    assert_refused(&service, "give --streams 4");
    for behaviour in [Behaviour::Garbage, Behaviour::Status(200)] {
        let (_server, mut service) = known(behaviour);
        service.http2_streams = Some(NonZeroU32::MIN);
        let sentence = probe(&service).unwrap_err();
        let is_named = [
            "leave --http2 out",
            "without an answer",
            "within its answer",
        ];
        assert!(
            is_named.iter().any(|part| sentence.contains(part)),
            "{sentence}"
        );
    }
    let (_server, service) = http2(Http2Behaviour::answer(MS), 8);
    let http1 = HttpService {
        http2_streams: None,
        ..service
    };
    assert_refused(&http1, "add --http2");
}

#[test]
fn a_server_that_sends_pings_and_reads_nothing_ends_in_time_outs() {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const PING: [u8; 17] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let begun = stream.write_all(&SETTINGS);
                while begun.is_ok() && stream.write_all(&PING.repeat(1000)).is_ok() {}
            });
        }
    });
    let service = HttpService {
        method: "POST".to_owned(),
        body: vec![b'.'; 1 << 20],
        connections: 2,
        timeout: 50 * MS,
        http2_streams: NonZeroU32::new(4),
        ..service(&format!("http://{addr}/"))
    };
    let offer = Offer {
        drain: 300 * MS,
        ..offer(100.0)
    };
    let work = drive_for(&service, &offer, 300 * MS);
    assert_eq!((work.completed, work.errors.status), (0, 0), "{work:?}");
}

#[test]
fn requests_wait_where_the_server_takes_fewer_at_a_time_than_it_was_asked() {
    let few = Http2Behaviour {
        streams: 4,
        ..Http2Behaviour::answer(20 * MS)
    };
    // Without a probe, which would refuse it.
    let (server, service) = http2(few, 8);
    let offer = Offer {
        drain: 100 * MS,
        ..offer(2000.0)
    };
    let work = drive_for(&service, &offer, 300 * MS);
    assert_eq!(work.errors.protocol, 0, "{work:?}");
    // Those that came before its SETTINGS may be refused.
    assert!(work.errors.reset <= 8, "{work:?}");
    assert!(work.completed > 20, "{work:?}");
    assert!(server.most_at_once() <= 4, "{}", server.most_at_once());
}
