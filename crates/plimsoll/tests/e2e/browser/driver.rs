//! A real Chromium, driven over WebDriver (W3C): JSON over plain HTTP, of which
//! the tests need so little that a client is shorter than a dependency.

use super::super::nginx::{free_port, wait_until_open};
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The key under which WebDriver gives elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser window with a profile of its own; gone in the end.
pub(super) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    // Chromium writes into it until it has ended.
    _profile: TempDir,
}

impl Browser {
    pub(super) fn start() -> Browser {
        let port = free_port();
        let profile = TempDir::new().unwrap();
        let driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromium-driver is installed by .ci/run");
        wait_until_open(port, || "chromedriver does not listen".to_owned());
        let data = format!("--user-data-dir={}", profile.path().display());
        let options = json!({"args": [
            "--headless", "--disable-gpu", "--disable-dev-shm-usage", data,
            // Its own sandbox needs what a container may forbid; the pages are ours.
            "--no-sandbox",
        ]});
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}});
        let mut browser = Browser {
            driver,
            port,
            session: String::new(),
            _profile: profile,
        };
        let begun = browser.ask("POST", "/session", &wanted);
        browser.session = begun["sessionId"].as_str().unwrap().to_owned();
        browser
    }

    /// Opens a file from disk.
    pub(super) fn open(&self, file: &Path) {
        self.visit(&format!(
            "file://{}",
            file.canonicalize().unwrap().display()
        ));
    }

    pub(super) fn visit(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// What a script in the page returns.
    pub(super) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// The same where it is a number.
    pub(super) fn number(&self, script: &str) -> f64 {
        let value = self.run(script);
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{script}: {value}"))
    }

    /// The same where it is a text.
    pub(super) fn text(&self, script: &str) -> String {
        let value = self.run(script);
        let text = value.as_str();
        text.unwrap_or_else(|| panic!("{script}: {value}"))
            .to_owned()
    }

    /// Waits until a script returns true; fails after ten seconds.
    pub(super) fn wait_for(&self, script: &str) {
        let began = Instant::now();
        while self.run(script) != json!(true) {
            assert!(began.elapsed() < Duration::from_secs(10), "{script}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A command of the DevTools protocol.
    pub(super) fn devtools(&self, command: &str, parameters: &Value) {
        let body = json!({"cmd": command, "params": parameters});
        self.post("/goog/cdp/execute", &body);
    }

    /// A window of this many CSS pixels.
    pub(super) fn resize(&self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// As a system that is set to light or dark.
    pub(super) fn prefer(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.devtools(
            "Emulation.setEmulatedMedia",
            &json!({ "features": features }),
        );
    }

    /// Types keys into the element that a selector finds.
    pub(super) fn keys(&self, selector: &str, keys: &str) {
        let element = self.element(selector);
        self.post(
            &format!("/element/{element}/value"),
            &json!({ "text": keys }),
        );
    }

    pub(super) fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/click"), &json!({}));
    }

    /// Moves the pointer to so many pixels from an element's middle.
    pub(super) fn point_at(&self, selector: &str, dx: i32, dy: i32) {
        let element = json!({ ELEMENT: self.element(selector) });
        let action = json!({
            "type": "pointerMove", "duration": 0, "x": dx, "y": dy, "origin": element,
        });
        let pointer = json!({"type": "pointer", "id": "mouse", "actions": [action]});
        self.post("/actions", &json!({"actions": [pointer]}));
    }

    /// The page as a PDF, in base64.
    pub(super) fn print(&self) -> String {
        let pdf = self.post("/print", &json!({"background": true}));
        pdf.as_str().unwrap().to_owned()
    }

    /// What was logged since this was asked before: `browser` for the console,
    /// `performance` for all events of the DevTools protocol.
    pub(super) fn log(&self, kind: &str) -> Vec<Value> {
        let log = self.post("/se/log", &json!({ "type": kind }));
        log.as_array().unwrap().clone()
    }

    fn element(&self, selector: &str) -> String {
        let by = json!({"using": "css selector", "value": selector});
        let found = self.post("/element", &by);
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", &format!("/session/{}{path}", self.session), body)
    }

    /// One request and its answer; an error of the driver fails the test.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, json) = self.exchange(method, path, body).unwrap();
        let mut json: Value = serde_json::from_slice(&json).unwrap();
        assert!(status.contains(" 200 "), "{method} {path} {body}: {json:#}");
        json["value"].take()
    }

    /// The status line and the body of an answer.
    fn exchange(&self, method: &str, path: &str, body: &Value) -> io::Result<(String, Vec<u8>)> {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = BufReader::new(stream);
        let mut status = String::new();
        answer.read_line(&mut status)?;
        let mut json = vec![0; content_length(&mut answer)?];
        answer.read_exact(&mut json)?;
        Ok((status, json))
    }
}

/// Reads the head of an answer.
fn content_length(answer: &mut impl BufRead) -> io::Result<usize> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        answer.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            return Ok(length);
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Chromium ends with its session, and would outlive its driver; a test
        // that has failed already need not hear of trouble with that.
        let path = format!("/session/{}", self.session);
        let _ = self.exchange("DELETE", &path, &json!({}));
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
