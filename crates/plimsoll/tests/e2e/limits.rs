//! Sweeps of servers that fail in known ways: the finding names what was the limit.
//! What is asserted holds however busy the machine is.

use crate::common::{Folder, LOUD};
use plimsoll_load::known::{Behaviour, Discipline, KnownServer};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A sweep of the server there with these flags.
fn swept(addr: SocketAddr, flags: &str) -> Value {
    let folder = Folder::new();
    let loud = LOUD.join(" ");
    let sweep = format!("sweep --quick --trials 1 --seed 1 {loud} --cpus 1 --format json");
    folder
        .run(format!("{sweep} -o run.plimsoll {flags} http://{addr}/"))
        .json()
}

/// Whether the findings have this doubt.
fn doubts(json: &Value, kind: &str) -> bool {
    let doubts = json["findings"]["doubts"].as_array().unwrap();
    doubts.iter().any(|doubt| doubt["kind"] == kind)
}

/// A server with a thread for each of `connections` at a time, which calls `answer` for
/// each request; `None` is never answered. Its threads end with the tests.
fn serve<F>(connections: usize, answer: F) -> SocketAddr
where
    F: Fn() -> Option<Duration> + Send + Sync + 'static,
{
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
    let answer = Arc::new(answer);
    for _ in 0..connections {
        let (listener, answer) = (Arc::clone(&listener), Arc::clone(&answer));
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let _ = converse(&stream, answer.as_ref());
            }
        });
    }
    listener.local_addr().unwrap()
}

/// Answers the requests of a connection until its client closes it.
fn converse(stream: &TcpStream, answer: &dyn Fn() -> Option<Duration>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let ends = line == "\r\n";
        line.clear();
        if let Some(after) = ends.then(answer).flatten() {
            std::thread::sleep(after);
            let mut stream = stream;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")?;
        }
    }
    Ok(())
}

#[test]
fn a_limiter_is_the_limit_and_its_refusals_are_no_answers() {
    let bucket = Discipline::TokenBucket {
        per_second: 500,
        burst: 5,
    };
    let server = KnownServer::start(Behaviour::Queue(bucket)).unwrap();
    let json = swept(server.addr(), "--goal p99<200ms --levels 20,100,150");
    assert_eq!(json["findings"]["rated"]["limited_by"], "service", "{json}");
    // It never answers more than 500/s and 5: within 1 % of that only one of a hundred
    // requests is refused.
    let carried = json["findings"]["capacity"][0]["rate_rps"]["value"].as_f64();
    assert!(carried.is_none_or(|rate| rate < 520.0), "{json}");
}

#[test]
fn a_server_that_never_answers_some_meets_no_goal() {
    let asked = AtomicU64::new(0);
    let addr = serve(256, move || {
        let nth = asked.fetch_add(1, Ordering::Relaxed);
        (nth % 50 != 25).then_some(Duration::ZERO)
    });
    let goals = "--goal p99<200ms --goal errors<0.1%";
    let json = swept(
        addr,
        &format!("{goals} --timeout 1s --rated 1000 --levels 20,50"),
    );
    for capacity in json["findings"]["capacity"].as_array().unwrap() {
        assert!(capacity["rate_rps"].is_null(), "{capacity}");
        assert_eq!(capacity["status"], "undecided", "{capacity}");
    }
    let levels = json["findings"]["levels"].as_array().unwrap();
    let missing = |level: &Value| level["errors"]["timeout"].as_u64() > Some(0);
    assert!(levels.iter().all(missing), "{json}");
}

#[test]
fn connections_grow_until_a_slow_service_is_not_limited_by_128() {
    let after = Duration::from_millis(100);
    let server = KnownServer::start(Behaviour::Answer { after }).unwrap();
    let slow = "--goal p99<1s --levels 20,100";
    let rated = |flags: &str| {
        let json = swept(server.addr(), &format!("{slow} {flags}"));
        let rated = json["findings"]["rated"].clone();
        let connections = rated["connections"].as_u64().unwrap();
        let is_doubted = doubts(&json, "connections");
        assert_eq!(is_doubted, rated["limited_by"] == "connections", "{json}");
        (rated, connections)
    };
    let (grown, connections) = rated("--max-connections 1000");
    assert!(connections > 128, "{grown}");
    assert!(grown["rate_rps"].as_f64() > Some(1280.0), "{grown}");
    // Unless the machine is so busy that it carries less than 1,000 do.
    let limited_by = grown["limited_by"].as_str().unwrap();
    assert!(
        limited_by != "connections" || connections == 1000,
        "{grown}"
    );

    let (fixed, connections) = rated("--connections 16");
    assert_eq!(connections, 16);
    assert_eq!(fixed["limited_by"], "connections", "{fixed}");
    assert!(fixed["rate_rps"].as_f64() < Some(170.0), "{fixed}");
}

#[test]
fn a_server_of_few_connections_is_named() {
    let addr = serve(4, || Some(Duration::from_millis(10)));
    let json = swept(addr, "--goal p99<1s --levels 20,50,100");
    assert_eq!(json["findings"]["rated"]["limited_by"], "service", "{json}");
    let doubts = json["findings"]["doubts"].as_array().unwrap();
    let unserved = doubts.iter().find(|doubt| doubt["kind"] == "unserved");
    let of = |key: &str| unserved.and_then(|doubt| doubt[key].as_u64()).unwrap();
    assert!(of("connections") - of("unserved") <= 4, "{unserved:?}");
}

#[test]
fn a_service_that_polls_has_no_threshold() {
    let after = Duration::from_millis(1);
    let server = KnownServer::start_polling(Behaviour::Answer { after }, 0).unwrap();
    let goal = "--goal p99<200ms --levels 10,50,100 --service-cpus 0";
    let json = swept(server.addr(), goal);
    let findings = &json["findings"];
    let thresholds = findings["thresholds"].as_array().unwrap();
    assert!(thresholds.is_empty(), "{json}");
    // Else there is no load that they could be of.
    let is_known = !findings["thresholds_of_rps"].is_null();
    assert_eq!(doubts(&json, "flat_cpu"), is_known, "{json}");
}
