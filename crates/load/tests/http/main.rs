//! The HTTP load generator against servers with known behaviour, over real
//! sockets.

#![cfg(test)]

mod churn;
mod http2;
mod mix;
mod tls;

use plimsoll_load::http::{HttpLoad, Probe};
use plimsoll_load::known::{Behaviour, Discipline, KnownServer, Waits};
use plimsoll_load::{Load, LoadError, Offer, Running, Shape};
use plimsoll_model::{
    Arrivals, CpuSet, Errors, HttpService, PhasedRate, Rate, RatePhase, Waited, Work,
};
use plimsoll_pool::allowed_cpus;
use rustix::net::{AddressFamily, SocketType};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// A CPU that this process may use.
fn cpus() -> CpuSet {
    allowed_cpus().unwrap().iter().take(1).collect()
}

fn service(url: &str) -> HttpService {
    HttpService::get(url, 4, 5000 * MS)
}

/// A server and its service description.
fn known(behaviour: Behaviour) -> (KnownServer, HttpService) {
    let server = KnownServer::start(behaviour).unwrap();
    let service = service(&format!("http://{}/", server.addr()));
    (server, service)
}

fn offer(rate: f64) -> Offer {
    Offer {
        rate: Rate::per_second(rate).unwrap(),
        arrivals: Arrivals::Poisson,
        seed: 5,
        drain: 10_000 * MS,
        shape: Shape::Constant,
        connections: None,
    }
}

fn drive_window(load: &mut HttpLoad, offer: &Offer, length: Duration) -> Work {
    finish_window(load.start(offer).unwrap(), length)
}

fn finish_window(mut running: Box<dyn Running>, length: Duration) -> Work {
    let times = running.open_window(length);
    std::thread::sleep(times.closes.saturating_duration_since(Instant::now()));
    running.finish().unwrap()
}

/// Drives a window of `length` and checks that no request is lost.
fn drive_for(service: &HttpService, offer: &Offer, length: Duration) -> Work {
    let work = drive_window(&mut HttpLoad::new(service, cpus()).unwrap(), offer, length);
    let ended = work.latency.count();
    let at_once = work.errors.total() - work.errors.timeout;
    assert_eq!(
        work.intended,
        ended + at_once,
        "a request was lost: {work:?}"
    );
    assert_eq!(work.slip.count(), work.intended);
    assert!(work.intended > 0);
    work
}

fn drive(service: &HttpService, rate: f64) -> Work {
    drive_for(service, &offer(rate), 300 * MS)
}

fn probe(service: &HttpService) -> Result<Probe, String> {
    probe_with(&HttpLoad::new(service, cpus()).unwrap())
}

fn probe_with(load: &HttpLoad) -> Result<Probe, String> {
    load.probe().map_err(|error| match error {
        LoadError::Service(sentence) | LoadError::Mistake(sentence) => sentence,
        LoadError::Silent { sentence, .. } => sentence,
        other => panic!("{other:?}"),
    })
}

/// Asserts that the probe fails with a message that contains `part`.
fn assert_refused(service: &HttpService, part: &str) {
    let sentence = probe(service).unwrap_err();
    assert!(sentence.contains(part), "{sentence}");
    assert!(sentence.starts_with(&service.url), "{sentence}");
}

#[test]
fn a_good_service_answers_every_request() {
    let (server, service) = known(Behaviour::Answer { after: MS });
    let probe = probe(&service).unwrap();
    assert_eq!((probe.status, probe.body.0), (200, 3));
    assert_eq!((probe.peer, probe.keeps_alive), (server.addr(), true));
    let work = drive(&service, 1000.0);
    assert_eq!((work.errors.total(), work.unfinished), (0, 0));
    assert_eq!(work.latency.count(), work.intended);
    assert!(
        work.latency.quantile(0.0) >= Some(MS),
        "answers cannot be early"
    );
}

#[test]
fn queueing_beyond_capacity_counts_as_latency() {
    // One answer per 5 ms is 200/s; 1000/s are offered.
    let each = 5 * MS;
    let (_server, service) = known(Behaviour::Queue(Discipline::Servers { each, servers: 1 }));
    let mut offer = offer(1000.0);
    offer.drain = MS;
    let began = Instant::now();
    let work = drive_for(&service, &offer, 500 * MS);
    // By the actual duration, plus those in flight.
    let served = began.elapsed().div_duration_f64(each) as u64;
    let sent = served + u64::from(service.connections);
    assert!(work.completed <= served && work.sent <= sent, "{work:?}");
    assert_eq!(work.errors.total(), 0);
    assert!(work.unfinished >= work.intended.saturating_sub(sent));
    // The last requests waited for 80 % of the queue, or were never served.
    assert!(work.latency.max() >= Some(200 * MS), "{work:?}");
}

#[test]
fn requests_that_wait_for_a_connection_are_counted() {
    let used = |connections: u32| {
        let (_server, service) = known(Behaviour::Answer { after: 20 * MS });
        let offer = Offer {
            connections: Some(connections),
            drain: 100 * MS,
            ..offer(1000.0)
        };
        let work = drive_for(&service, &offer, 300 * MS);
        (work.connections.unwrap(), work.intended, work.waited)
    };
    // 2 connections of 20 ms carry 100/s.
    let (few, intended, waited) = used(2);
    assert_eq!(few.connections, 2);
    assert!(few.waited > intended / 2, "{few:?} of {intended}");
    assert!(waited.latency.requests() > intended / 2, "{waited:?}");
    assert_eq!(waited.in_connection.requests(), waited.latency.requests());
    assert!(waited.in_connection.sum_ns() < waited.latency.sum_ns());
    // More than are ever due within an answer and a pause of this machine.
    let (many, _, waited) = used(2000);
    assert_eq!((many.connections, many.waited), (2000, 0));
    assert_eq!(waited, Waited::default());
}

#[test]
fn connections_without_an_answer_are_counted() {
    let (_server, service) = known(Behaviour::Silent);
    let mut load = HttpLoad::new(&service, cpus()).unwrap();
    let silent = Offer {
        drain: MS,
        ..offer(1000.0)
    };
    let mut running = load.start(&silent).unwrap();
    while running.tick().in_flight < 4 {
        std::thread::sleep(MS);
    }
    let work = finish_window(running, 50 * MS);
    let used = work.connections.unwrap();
    assert_eq!((used.connections, used.used, used.unserved), (4, 4, 4));
}

#[test]
fn stall_affects_every_request_intended_in_it() {
    let (_server, service) = known(Behaviour::Queue(Discipline::Stall {
        every: 1000 * MS,
        lasting: 300 * MS,
    }));
    // One whole period: three requests in ten meet the stall.
    let work = drive_for(&service, &offer(500.0), 1000 * MS);
    assert_eq!(work.errors.total(), 0);
    assert!(work.latency.quantile(0.99) >= Some(200 * MS), "{work:?}");
}

#[test]
fn closed_port_fails_requests_but_not_the_run() {
    // Bound but not listening, so that no other process takes the port.
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let addr = SocketAddr::try_from(rustix::net::getsockname(&socket).unwrap()).unwrap();
    let service = service(&format!("http://{addr}/"));
    assert_refused(&service, "nothing listens on 127.0.0.1");
    let work = drive(&service, 1000.0);
    assert_eq!(work.errors.connect, work.intended);
}

#[test]
fn connections_closed_at_once_are_resets() {
    let (_server, service) = known(Behaviour::CloseAtOnce);
    assert_refused(&service, "closed the connection without an answer");
    let mut offer = offer(200.0);
    offer.drain = MS;
    let work = drive_for(&service, &offer, 300 * MS);
    assert!(work.errors.reset > 0, "{work:?}");
    assert_eq!(work.latency.count(), work.unfinished, "{work:?}");
}

/// Serves one connection at a time, each for one request, as the simplest
/// servers do. Ends at a request for `/end`.
fn serve_one_at_a_time(listener: &TcpListener) -> std::io::Result<()> {
    loop {
        let (mut stream, _) = listener.accept()?;
        let mut request = [0; 4096];
        // A silent client blocks all others. A reset in the backlog does not
        // end the server: a load that ends resets its open connections.
        let bytes = stream.read(&mut request).unwrap_or(0);
        // The client may have gone.
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok");
        if request[..bytes].starts_with(b"GET /end") {
            return Ok(());
        }
    }
}

#[test]
fn idle_connections_do_not_block_a_server_that_serves_one_at_a_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 5).unwrap();
    let addr = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || serve_one_at_a_time(&listener));
    let service = HttpService {
        connections: 128,
        ..service(&format!("http://{addr}/"))
    };
    let work = drive(&service, 200.0);
    let mut last = TcpStream::connect(addr).unwrap();
    last.write_all(b"GET /end HTTP/1.0\r\n\r\n").unwrap();
    server.join().unwrap().unwrap();
    // At most a few wait at a time: the backlog never overflows, so no connect
    // is retried after a second.
    assert_eq!(work.latency.count(), work.intended, "{work:?}");
    assert_eq!(work.latency.above(900 * MS), 0, "{work:?}");
}

/// Answers each request, and closes connections that are idle for `most`.
fn serve_and_close(mut stream: TcpStream, most: Duration) {
    stream.set_read_timeout(Some(most)).unwrap();
    let mut request = [0; 4096];
    while stream.read(&mut request).is_ok_and(|bytes| bytes > 0) {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
}

#[test]
fn connections_closed_in_a_break_are_not_opened_in_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let (accepts, accepted) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            accepts.send(()).unwrap();
            std::thread::spawn(move || serve_and_close(stream, 400 * MS));
        }
    });
    let phase = |ms, rps| RatePhase {
        length: ms * MS,
        rate: Rate::per_second(rps).unwrap(),
    };
    let phases = vec![phase(400, 200.0), phase(1500, 0.0), phase(100, 200.0)];
    let offer = Offer {
        shape: Shape::Phases(Arc::new(PhasedRate(phases))),
        arrivals: Arrivals::Constant,
        drain: 2000 * MS,
        ..offer(200.0)
    };
    let work = drive_for(&service(&format!("http://{addr}/")), &offer, 2000 * MS);
    // After the break a connection is opened for a request again. In the first burst a request may
    // meet the close if the machine pauses for so long.
    assert_eq!(work.errors.total(), work.errors.reset, "{work:?}");
    assert_eq!(work.phases[2].answers.failed, 0, "{work:?}");
    // Four at first and four after it, and some if the machine pauses; opened in
    // advance, more than 40.
    let count = accepted.try_iter().count();
    assert!((5..20).contains(&count), "{count}");
}

#[test]
fn unannounced_close_is_detected() {
    let (_server, service) = known(Behaviour::CloseAfterAnswer { announced: false });
    assert!(!probe(&service).unwrap().keeps_alive);
    // Whether a request meets the close is chance; both cases are counted, and
    // nothing else happens.
    let work = drive(&service, 200.0);
    assert_eq!(work.errors.total(), work.errors.reset);
    assert!(work.completed > 0);
}

type ErrorCount = fn(&Errors) -> u64;

/// Asserts what the probe says, and that each request counts as one error.
fn assert_fault(service: &HttpService, rate: f64, message: &str, count: ErrorCount) -> Work {
    assert_refused(service, message);
    let work = drive(service, rate);
    assert_eq!(count(&work.errors), work.intended, "{message}: {work:?}");
    work
}

#[test]
fn faulty_answers_are_explained_and_counted() {
    let redirect = Behaviour::Redirect("http://elsewhere/".into());
    let unexpected = "status 404 where 200 to 299 was expected";
    let cases: [(Behaviour, &str, ErrorCount); 4] = [
        (Behaviour::DieInBody, "within its answer, after 49 B", |e| {
            e.reset
        }),
        (Behaviour::Garbage, "220 mail.invalid ESMTP", |e| e.protocol),
        (Behaviour::Status(404), unexpected, |e| e.status),
        (redirect, "redirects to http://elsewhere/ (302)", |e| {
            e.status
        }),
    ];
    for (behaviour, message, count) in cases {
        let (_server, service) = known(behaviour);
        assert_fault(&service, 200.0, message, count);
    }
}

#[test]
fn incomplete_answers_time_out() {
    let slow = Behaviour::SlowHead { per_byte: MS };
    let endless = Behaviour::Large { bytes: 10 << 30 };
    for (behaviour, timeout_ms, rate, message) in [
        (Behaviour::Silent, 50, 50.0, "gave no answer within 50ms"),
        (slow, 20, 50.0, "did not complete its answer within 20ms"),
        (
            endless,
            100,
            20.0,
            "did not complete its answer within 100ms",
        ),
    ] {
        let (_server, mut service) = known(behaviour);
        service.timeout = timeout_ms * MS;
        let work = assert_fault(&service, rate, message, |e| e.timeout);
        let shortest = work.latency.quantile(0.0);
        assert!(shortest >= Some(service.timeout), "{message}: {work:?}");
    }
}

#[test]
fn unusual_answers_are_complete() {
    let closing = Behaviour::CloseAfterAnswer { announced: true };
    let slow = Behaviour::SlowHead { per_byte: MS };
    for (behaviour, bytes, keeps_alive, rate) in [
        (Behaviour::OddChunks, 16, true, 200.0),
        (Behaviour::UntilClose, 12, false, 200.0),
        (closing, 3, false, 200.0),
        (slow, 3, true, 50.0),
    ] {
        let (_server, service) = known(behaviour.clone());
        let probe = probe(&service).unwrap();
        assert_eq!(
            (probe.body.0, probe.keeps_alive),
            (bytes, keeps_alive),
            "{behaviour:?}"
        );
        let work = drive(&service, rate);
        assert_eq!(
            work.latency.count(),
            work.intended,
            "{behaviour:?}: {work:?}"
        );
    }
}

#[test]
fn any_status_can_be_expected() {
    let (_server, mut service) = known(Behaviour::Status(404));
    service.expected_status = Some(404);
    assert_eq!(probe(&service).unwrap().status, 404);
    assert_eq!(drive(&service, 200.0).errors.total(), 0);
}

#[test]
fn large_requests_and_answers_are_complete() {
    let (_server, mut service) = known(Behaviour::Large { bytes: 3 << 20 });
    service.method = "POST".into();
    service.body = vec![b'x'; 5 << 20];
    assert_eq!(probe(&service).unwrap().body.0, 3 << 20);
    let work = drive(&service, 20.0);
    assert_eq!(work.latency.count(), work.intended, "{work:?}");
}

#[test]
fn load_reports_ticks_and_ends_when_dropped() {
    let (_server, service) = known(Behaviour::Answer { after: MS });
    let mut load = HttpLoad::new(&service, cpus()).unwrap();
    let mut running = load.start(&offer(500.0)).unwrap();
    let threads = running.threads().generator;
    assert_eq!(threads.len(), 1);
    let task = std::path::PathBuf::from(format!("/proc/self/task/{}", threads[0]));
    assert!(task.exists());
    let mut completed = 0;
    while completed < 20 {
        std::thread::yield_now();
        completed += running.tick().completed;
    }
    drop(running);
    // The kernel may take a moment to remove an ended thread.
    let deadline = Instant::now() + 10_000 * MS;
    while task.exists() {
        assert!(Instant::now() < deadline, "the thread runs on");
        std::thread::yield_now();
    }
}

#[test]
fn load_without_a_window_ends_at_once_and_counts_nothing() {
    let (_server, service) = known(Behaviour::Silent);
    let mut load = HttpLoad::new(&service, cpus()).unwrap();
    let running = load.start(&offer(100.0)).unwrap();
    assert_eq!(running.finish().unwrap(), Work::default());
}

#[test]
fn several_threads_share_connections_and_rate() {
    let (_server, mut service) = known(Behaviour::Answer { after: MS });
    // A machine with one CPU runs one thread.
    let two: CpuSet = allowed_cpus().unwrap().iter().take(2).collect();
    service.connections = 3;
    let mut load = HttpLoad::new(&service, two.clone()).unwrap();
    let running = load.start(&offer(1000.0)).unwrap();
    assert_eq!(running.threads().generator.len(), two.len());
    let work = finish_window(running, 300 * MS);
    assert_eq!(work.latency.count(), work.intended, "{work:?}");
    // 300 are expected; five standard deviations of a Poisson count.
    assert!((213..=387).contains(&work.intended), "{}", work.intended);
}

#[test]
fn invalid_settings_are_refused_before_connecting() {
    let refused = |service: &HttpService, cpus: CpuSet| match HttpLoad::new(service, cpus) {
        Err(LoadError::Mistake(message)) => message,
        other => panic!("{other:?}"),
    };
    let good = service("http://127.0.0.1:1/");
    assert!(refused(&good, CpuSet::default()).contains("no CPU"));
    for (connections, timeout, message) in [
        (0, MS, "--connections"),
        (u32::MAX, MS, "are possible"),
        (1, Duration::ZERO, "time-out of zero"),
    ] {
        let sentence = refused(&HttpService::get(&good.url, connections, timeout), cpus());
        assert!(sentence.contains(message), "{sentence}");
    }
}

#[test]
fn missing_cpu_is_named() {
    let (_server, service) = known(Behaviour::Silent);
    for cpu in [1023, 5000] {
        let mut load = HttpLoad::new(&service, [cpu].into_iter().collect()).unwrap();
        let Err(error) = load.start(&offer(1.0)) else {
            panic!("this machine has CPU {cpu}");
        };
        assert!(
            error.to_string().contains(&format!("to CPU {cpu}")),
            "{error}"
        );
    }
}

#[test]
fn rate_limiter_refuses_the_excess() {
    let limiter = Discipline::TokenBucket {
        per_second: 200,
        burst: 10,
    };
    let (_server, service) = known(Behaviour::Queue(limiter));
    let began = Instant::now();
    let work = drive_for(&service, &offer(1000.0), 500 * MS);
    // By the actual duration.
    let most = 10.0 + 200.0 * began.elapsed().as_secs_f64();
    assert!(work.completed as f64 <= most + 1.0, "{work:?}");
    assert!(work.completed > 0 && work.errors.status > 0, "{work:?}");
    assert_eq!(work.errors.total(), work.errors.status);
}

#[test]
fn a_server_answers_however_it_waits() {
    for waits in [
        Waits::Asleep,
        Waits::Learning { price: 2 * MS },
        Waits::Polling,
    ] {
        let behaviour = Behaviour::Answer {
            after: Duration::ZERO,
        };
        let server = KnownServer::start_at(behaviour, 0, waits).unwrap();
        let work = drive(&service(&format!("http://{}/", server.addr())), 200.0);
        assert_eq!((work.errors, work.unfinished), (Errors::default(), 0));
    }
}
