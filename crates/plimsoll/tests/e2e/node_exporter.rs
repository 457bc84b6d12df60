//! A sweep that learns the service's CPU use from a real node_exporter.

use crate::common::{Folder, short};
use crate::nginx::{Nginx, free_port, wait_until_open};
use std::process::{Child, Command, Stdio};

/// Runs until it is dropped.
struct NodeExporter {
    process: Child,
    port: u16,
}

impl NodeExporter {
    fn start() -> NodeExporter {
        let port = free_port();
        let process = Command::new("prometheus-node-exporter")
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("prometheus-node-exporter is installed by .ci/run");
        let exporter = NodeExporter { process, port };
        wait_until_open(port, || "node_exporter does not listen".to_owned());
        exporter
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/metrics", self.port)
    }
}

impl Drop for NodeExporter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_real_node_exporter_tells_the_cpu_use_of_a_service() {
    let nginx = Nginx::start();
    let exporter = NodeExporter::start();
    let folder = Folder::new();
    let (url, metrics) = (nginx.url(), exporter.url());
    // At this rate the exporter's ticks of 10 ms see the service.
    let rated = "--levels 50,100 --rated 20000 --cpus 1 --format json";
    let args = short(&format!("{rated} --node-metrics {metrics} {url}"));
    let json = folder.run(args).json();
    for level in json["findings"]["levels"].as_array().unwrap() {
        assert_eq!(level["trials"], 1, "{level}");
        let cpu = level["cpu_pct"].as_f64().unwrap();
        assert!(cpu > 0.0 && cpu <= 100.0, "{level}");
        assert!(level["cpu_us_per_request"].as_f64().unwrap() > 0.0);
    }
    assert!(json["findings"]["idle_cpu_pct"].is_number(), "{json}");
}
