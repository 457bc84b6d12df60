//! Several requests from a file: weights, values, logins, and what is checked of answers.

use super::{MS, cpus, drive_window, offer, probe_with};
use plimsoll_load::LoadError;
use plimsoll_load::http::{HttpLoad, describe_requests};
use plimsoll_model::{HttpService, Work};
use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Keeps each request, as `METHOD target|Authorization|Cookie|body`, and gives the answer of a
/// function of it: a status line's rest, a further header, and a body.
struct Server {
    at: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

type Answer = fn(&str) -> (&'static str, &'static str, &'static str);

impl Server {
    fn start(answer: Answer) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let all = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let all = Arc::clone(&all);
                std::thread::spawn(move || serve(stream, answer, &all));
            }
        });
        Server { at, seen }
    }

    fn url(&self) -> String {
        format!("http://{}", self.at)
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// One connection, until it is closed.
fn serve(stream: TcpStream, answer: Answer, all: &Mutex<Vec<String>>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream;
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            (reader.read_line(&mut line).ok()? > 0).then_some(())?;
            if line.trim().is_empty() {
                break;
            }
            head.push(line.trim().to_owned());
        }
        let header = |name: &str| {
            let line = head.iter().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().to_owned())
                .unwrap_or_default()
        };
        let length = header("Content-Length:").parse().unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let request = format!(
            "{}|{}|{}|{}",
            head.first()?.trim_end_matches(" HTTP/1.1"),
            header("Authorization:"),
            header("Cookie:"),
            String::from_utf8(body).ok()?
        );
        let (status, more, body) = answer(&request);
        all.lock().unwrap().push(request);
        let length = body.len();
        let text = format!("HTTP/1.1 {status}\r\n{more}Content-Length: {length}\r\n\r\n{body}");
        writer.write_all(text.as_bytes()).ok()?;
    }
}

/// A folder with a file of requests, and others.
fn folder(requests: &str, others: &[(&str, &str)]) -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("r.http");
    fs::write(&file, requests).unwrap();
    for (name, text) in others {
        fs::write(folder.path().join(name), text).unwrap();
    }
    (folder, file.to_str().unwrap().to_owned())
}

fn service(url: &str, file: &str) -> Result<HttpService, LoadError> {
    let requests = Some(Box::new(describe_requests(file, &[], url)?));
    Ok(HttpService {
        requests,
        ..HttpService::get(url, 4, 5000 * MS)
    })
}

fn drive(service: &HttpService) -> Work {
    let mut load = HttpLoad::new(service, cpus()).unwrap();
    drive_window(&mut load, &offer(2000.0), 500 * MS)
}

const SHOP: &str = "# @data users users.csv\n\
    ### in\n# @login\n# @capture token json /t\nPOST /login\n\nme\n\
    ### list\n# @weight 3\nGET /list?n={{$counter}}\nAuthorization: {{token}}\n\
    ### add\n# @expect 201\nPOST /add\nAuthorization: {{token}}\nContent-Type: a/json\n\n\
    {\"a\": \"{{users.name}}\", \"b\": \"{{users.other}}\", \"id\": \"{{$uuid}}\"}\n";

fn shop(request: &str) -> (&'static str, &'static str, &'static str) {
    let is_known = request.contains("|tok|a=b; c=d|");
    match request {
        _ if request.starts_with("POST /login") => (
            "200 OK",
            "Set-Cookie: a=b; Path=/\r\nSet-Cookie: c=d\r\n",
            "{\"t\": \"tok\"}",
        ),
        _ if !is_known => ("401 Unauthorized", "", ""),
        _ if request.starts_with("GET /list?n=") => ("200 OK", "", "list"),
        _ => ("201 Created", "", ""),
    }
}

#[test]
fn requests_are_sent_by_weight_with_values_and_what_a_login_gave() {
    let server = Server::start(shop);
    let (_folder, file) = folder(SHOP, &[("users.csv", "name,other\n\"x\"\"y\",1\nz,2\n")]);
    let service = service(&server.url(), &file).unwrap();
    let names: Vec<_> = service
        .requests
        .iter()
        .flat_map(|file| &file.requests)
        .collect();
    assert_eq!(
        (names[0].name.as_str(), names[0].path.as_str()),
        ("list", "/list?n=(hidden)")
    );
    let work = drive(&service);
    assert_eq!(work.errors.total(), 0, "{work:?}");
    let sent: Vec<u64> = work
        .kinds
        .iter()
        .map(|answers| answers.requests())
        .collect();
    assert_eq!(sent.iter().sum::<u64>(), work.sent);
    // 1,000 requests, of which a quarter +- 4.4 % (3.2 standard deviations) are of the second kind.
    let share = sent[1] as f64 / work.sent as f64;
    assert!((0.2..0.3).contains(&share), "{sent:?}");

    let seen = server.seen();
    assert!(seen[0].starts_with("POST /login||"), "{}", seen[0]);
    let logins = seen
        .iter()
        .filter(|request| request.starts_with("POST /login"));
    assert_eq!(logins.count(), 1, "one before the load");
    let bodies = seen
        .iter()
        .filter_map(|request| Some(request.split_once("POST /add|tok|a=b; c=d|")?.1));
    let ids: HashSet<&str> = bodies.clone().collect();
    assert_eq!(
        ids.len(),
        bodies.clone().count(),
        "each with an ID of its own"
    );
    let rows = [
        "{\"a\": \"x\\\"y\", \"b\": \"1\", ",
        "{\"a\": \"z\", \"b\": \"2\", ",
    ];
    for row in rows {
        let of_row = bodies.clone().filter(|body| body.starts_with(row)).count();
        assert!(of_row.abs_diff(bodies.clone().count() / 2) <= 1, "{row}");
    }
    let mut counted: Vec<u64> = seen
        .iter()
        .filter_map(|request| {
            request
                .strip_prefix("GET /list?n=")?
                .split('|')
                .next()?
                .parse()
                .ok()
        })
        .collect();
    counted.sort_unstable();
    let expected: Vec<u64> = (1..=counted.len() as u64).collect();
    assert_eq!(counted, expected);
}

#[test]
fn a_login_is_sent_before_each_trial_and_values_go_on() {
    let server = Server::start(shop);
    let (_folder, file) = folder(SHOP, &[("users.csv", "name,other\na,b\n")]);
    let service = service(&server.url(), &file).unwrap();
    let mut load = HttpLoad::new(&service, cpus()).unwrap();
    let first = load.probe().unwrap();
    assert_eq!(first.body.0, 4, "of the request that is chosen most often");
    drive_window(&mut load, &offer(200.0), 100 * MS);
    drive_window(&mut load, &offer(200.0), 100 * MS);
    let seen = server.seen();
    let logins = seen
        .iter()
        .filter(|request| request.starts_with("POST /login"));
    assert_eq!(logins.count(), 3);
    let counters = seen
        .iter()
        .filter(|request| request.starts_with("GET /list?n="));
    let different: HashSet<&String> = counters.clone().collect();
    assert_eq!(different.len(), counters.count());
}

#[test]
fn answers_without_the_expected_text_are_failures_of_their_request() {
    let server = Server::start(|request| match request.starts_with("GET /good") {
        true => ("200 OK", "", "it is fine"),
        false => ("200 OK", "", "error: overloaded"),
    });
    let text = "### good\n# @expect-body fine\nGET /good\n### bad\n# @expect-body fine\nGET /bad\n";
    let (_folder, file) = folder(text, &[]);
    let service = service(&server.url(), &file).unwrap();
    let refused = probe_with(&HttpLoad::new(&service, cpus()).unwrap()).unwrap_err();
    assert!(refused.contains("request 'bad' of"), "{refused}");
    assert!(refused.contains("does not have the text"), "{refused}");
    let work = drive(&service);
    assert_eq!(work.errors.total(), work.errors.status);
    let failed: Vec<u64> = work.kinds.iter().map(|answers| answers.failed).collect();
    assert_eq!(failed[0], 0);
    assert_eq!(failed[1], work.errors.status);
    assert!(failed[1] > 0);
}

#[test]
fn a_connection_that_ends_says_so_in_requests_with_values() {
    let server = Server::start(|_| ("200 OK", "", ""));
    let (_folder, file) = folder("POST /\n\n{{$counter}}\n", &[]);
    let service = HttpService {
        requests_per_connection: std::num::NonZeroU32::new(1),
        ..service(&server.url(), &file).unwrap()
    };
    let work = drive(&service);
    assert_eq!(work.errors.total(), 0, "{work:?}");
    assert!(work.kinds.is_empty(), "of one request there are no kinds");
}

#[test]
fn what_cannot_be_sent_is_refused_with_file_and_line() {
    let url = "http://localhost:8080";
    for (text, at, why) in [
        ("GET http://other/\n", url, "line 1: it is sent to other"),
        (
            "\nGET https://localhost:8080/\n",
            url,
            "line 2: it is sent to",
        ),
        ("GET /a b\n", url, "line 1: its path makes no sense"),
        ("GET items\n", url, "is no path"),
        ("GET /\nContent-Length: 3\n", url, "set by Plimsoll"),
        ("HEAD /\n", url, ""),
        ("# @expect-body a\nHEAD /\n", url, "no body"),
        ("GET /{{a}}\n", url, "@a = value"),
        (
            "# @data u none.csv\nGET /\n",
            url,
            "none.csv' cannot be read",
        ),
        ("# @data u .\nGET /\n", url, "no regular file"),
        ("POST /\n\n< none.json\n", url, "none.json' cannot be read"),
        (
            "GET /\n",
            "http://localhost:8080/path",
            "give the URL without one",
        ),
        (
            "# @data u bad.csv\nGET /\nX: {{u.a}}\n",
            url,
            "control characters",
        ),
    ] {
        let (_folder, file) = folder(text, &[("bad.csv", "a\n\"x\ny\"\n")]);
        let described = describe_requests(&file, &[], at);
        match why {
            "" => assert!(described.is_ok()),
            why => {
                let refused = described.unwrap_err().to_string();
                assert!(refused.contains(why), "{text:?}: {refused}");
            }
        }
    }
}

#[test]
fn a_file_that_changed_is_not_taken_for_the_one_described() {
    let url = "http://localhost:8080";
    let (folder, file) = folder("# @data u u.csv\nGET /{{u.a}}\n", &[("u.csv", "a\n1\n")]);
    let service = service(url, &file).unwrap();
    assert!(HttpLoad::new(&service, cpus()).is_ok());
    fs::write(folder.path().join("u.csv"), "a\n2\n").unwrap();
    let refused = HttpLoad::new(&service, cpus()).unwrap_err().to_string();
    assert!(refused.contains("has changed"), "{refused}");
}

#[test]
fn a_login_whose_answer_lacks_what_is_captured_ends_the_start() {
    let server = Server::start(|_| ("200 OK", "", "{\"other\": 1}"));
    let (_folder, file) = folder(
        "# @login\n# @capture token json /t\nPOST /login\n###\nGET /\nA: {{token}}\n",
        &[],
    );
    let service = service(&server.url(), &file).unwrap();
    let refused = probe_with(&HttpLoad::new(&service, cpus()).unwrap()).unwrap_err();
    assert!(refused.contains("has no /t in its answer"), "{refused}");
}
