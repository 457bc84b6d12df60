//! A real Prometheus scrapes a service.

use crate::common::{Folder, wait};
use crate::nginx::{free_port, wait_until_open};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// Runs until it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn prometheus(folder: &Folder, target: u16) -> (Running, u16) {
    let port = free_port();
    folder.write(
        "prometheus.yml",
        format!(
            "scrape_configs: [{{job_name: lab, scrape_interval: 1s, \
             static_configs: [{{targets: ['127.0.0.1:{target}']}}]}}]\n"
        ),
    );
    let mut command = std::process::Command::new("prometheus");
    command
        .arg(format!(
            "--config.file={}",
            folder.path("prometheus.yml").display()
        ))
        .arg(format!(
            "--storage.tsdb.path={}",
            folder.path("tsdb").display()
        ))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let process = command.spawn();
    let running = Running(process.expect("prometheus is installed by .ci/run"));
    wait_until_open(port, || "prometheus does not listen".to_owned());
    (running, port)
}

/// The `data` of an answer of its API; `None` before it is ready.
fn asked(port: u16, path: &str) -> Option<Value> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let request = format!("GET /api/v1/{path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some(serde_json::from_str::<Value>(body).ok()?["data"].take())
}

/// The value of a query with one result.
fn value(port: u16, query: &str) -> Option<f64> {
    let data = asked(port, &format!("query?query={query}"))?;
    data["result"][0]["value"][1].as_str()?.parse().ok()
}

#[test]
fn a_real_prometheus_reads_what_a_service_serves() {
    let folder = Folder::new();
    let port = free_port();
    let args = format!("service --rated 400 --load 20% --cpus 0 --listen 127.0.0.1:{port}");
    let _service = Running(folder.spawn(args));
    wait_until_open(port, || "the service does not listen".to_owned());
    let (_prometheus, at) = prometheus(&folder, port);
    wait("a scrape", || {
        value(at, "plimsoll_service_requests_total").is_some_and(|n| n > 0.0)
    });

    let targets = asked(at, "targets").unwrap();
    let target = &targets["activeTargets"][0];
    assert_eq!(target["health"], "up", "{target}");
    assert_eq!(target["lastError"], "", "{target}");
    assert_eq!(
        value(at, "plimsoll_service_rated_requests_per_second"),
        Some(400.0)
    );
    assert_eq!(
        value(at, "round(plimsoll_service_offered_requests_per_second)"),
        Some(80.0)
    );
    let buckets = value(at, "count(plimsoll_service_latency_seconds_bucket)");
    assert_eq!(buckets, Some(17.0), "a histogram");
    let kinds = asked(at, "metadata?metric=plimsoll_service_requests").unwrap();
    assert_eq!(
        kinds["plimsoll_service_requests"][0]["type"], "counter",
        "{kinds}"
    );
}
