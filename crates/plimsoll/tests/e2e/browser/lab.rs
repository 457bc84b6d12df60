//! The live lab in a real browser, and what speaks to it that is none.

use super::{Browser, Folder, fits, seen};
use crate::common::{send, unignoring, wait};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

struct Lab {
    child: Child,
    /// `http://127.0.0.1:PORT/TOKEN/`
    url: String,
    // Its journals and settings.
    _folder: Folder,
}

impl Lab {
    fn start(page: char) -> Lab {
        let folder = Folder::new();
        let args = format!("demo --web --rated 100 --cpus 0 --page {page}");
        let mut lab = unignoring("INT", &folder.command(args));
        let mut child = lab.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{line}");
        Lab {
            child,
            url,
            _folder: folder,
        }
    }

    /// Host and port, and the path.
    fn place(&self) -> (&str, &str) {
        let rest = self.url.strip_prefix("http://").unwrap();
        rest.split_at(rest.find('/').unwrap())
    }

    /// The answer to such a request.
    fn answer_to(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.place().0).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn click(browser: &Browser, label: &str) {
    let script = format!(
        "const b = [...document.querySelectorAll('button[data-send]')].find(b => b.textContent === '{label}');\
         if (!b) return false; b.click(); return true"
    );
    wait(label, || browser.run(&script) == true);
}

fn shows(browser: &Browser, region: &str, text: &str) {
    let script = format!("return document.getElementById('{region}').textContent");
    let mut last = String::new();
    wait(text, || {
        last = browser.text(&script);
        last.contains(text)
    });
}

#[test]
fn sliders_and_buttons_change_the_lab_and_its_charts_follow() {
    let mut lab = Lab::start('b');
    let browser = Browser::start();
    browser.resize(1280, 900);
    browser.visit(&lab.url);
    shows(&browser, "state", "live");
    shows(&browser, "text", "What does a batch job beside");
    shows(&browser, "figures", "of 60.0/s");
    wait("charts", || {
        seen(&browser, "#charts svg.wide path.line") >= 3.0
    });

    browser.keys("#load", "\u{e014}\u{e014}");
    shows(&browser, "figures", "of 70.0/s");
    assert_eq!(
        browser.text("return document.querySelector('#load + output').value"),
        "70 %"
    );
    click(&browser, "job within headroom");
    shows(&browser, "job", "sideload");
    shows(&browser, "figures", "MiB/s");
    shows(&browser, "log", "plimsoll: as a sideload");
    click(&browser, "load follows the goal p95<75ms");
    shows(&browser, "goal", "settling");
    click(&browser, "d");
    shows(&browser, "text", "How much headroom");
    click(&browser, "reset");
    shows(&browser, "job", "stopped");
    shows(&browser, "figures", "of 60.0/s");

    for width in [1280, 800, 400] {
        browser.resize(width, 900);
        fits(&browser, width);
    }
    stays_with(&browser, &lab);
    click(&browser, "quit");
    assert_eq!(lab.child.wait().unwrap().code(), Some(0));
    shows(&browser, "state", "ended");
}

/// Nothing was asked for but the lab, and nothing failed.
fn stays_with(browser: &Browser, lab: &Lab) {
    let console = browser.log("browser");
    assert!(console.is_empty(), "{console:#?}");
    for entry in browser.log("performance") {
        let event: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
        let event = &event["message"];
        let url = event["params"]["request"]["url"].as_str();
        let of_lab = event["params"]["documentURL"]
            .as_str()
            .is_some_and(|u| u.starts_with(&lab.url));
        if of_lab && event["method"] == "Network.requestWillBeSent" {
            let url = url.unwrap();
            assert!(
                url.starts_with(&lab.url) || url.starts_with("data:"),
                "{url}"
            );
        }
    }
}

#[test]
fn strangers_and_garbage_are_refused_and_clients_that_never_read_are_dropped() {
    let mut lab = Lab::start('a');
    let (host, path) = lab.place();
    for (method, path, body, status) in [
        ("GET", "/", "", "404"),
        ("GET", "/events", "", "404"),
        (
            "POST",
            "/0123456789abcdef0123456789abcdef/do",
            "\"quit\"",
            "404",
        ),
        ("POST", path, "", "405"),
        ("GET", &format!("{path}do"), "", "405"),
        ("POST", &format!("{path}do"), "{\"load\":", "400"),
        ("POST", &format!("{path}do"), "{\"load\":1e999}", "400"),
        ("POST", &format!("{path}do"), "{\"page\":99}", "200"),
        ("POST", &format!("{path}do"), "{\"load\":1e300}", "200"),
    ] {
        let answer = lab.answer_to(method, path, body);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{method} {path} {body}: {answer}"
        );
    }
    let silent: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(host).unwrap();
            let ask = format!("GET {path}events HTTP/1.1\r\nHost: x\r\n\r\n");
            stream.write_all(ask.as_bytes()).unwrap();
            // It is served; what follows is not read.
            stream.read_exact(&mut [0]).unwrap();
            stream
        })
        .collect();
    let mut reads = TcpStream::connect(host).unwrap();
    reads
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let ask = format!("GET {path}events HTTP/1.1\r\nHost: x\r\n\r\n");
    reads.write_all(ask.as_bytes()).unwrap();
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    // The load went to the most that there is.
    while !String::from_utf8_lossy(&received).contains("of 120/s") {
        let n = reads.read(&mut buffer).unwrap();
        assert!(n > 0, "{}", String::from_utf8_lossy(&received));
        received.extend_from_slice(&buffer[..n]);
    }
    drop(silent);
    send(&lab.child, &[Signal::INT]);
    assert_eq!(lab.child.wait().unwrap().code(), Some(0));
}
