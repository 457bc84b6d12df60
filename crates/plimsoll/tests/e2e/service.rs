//! A sweep of a real server, from the flag to the findings.

use crate::common::{Ended, Folder, LOUD, short, wait};
use crate::is_root;
use crate::nginx::Nginx;
use plimsoll_load::known::{Behaviour, KnownServer};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

#[test]
fn a_sweep_of_nginx_tells_what_it_carries_and_what_it_costs() {
    let nginx = Nginx::start();
    let folder = Folder::new();
    let url = nginx.url();
    let flags = "--levels 5,50,100 --rated 4000 --cpus 1 -o run.plimsoll --format json";
    let json = folder.run(short(&format!("{flags} {url}"))).json();

    let levels = json["findings"]["levels"].as_array().unwrap();
    let loads: Vec<f64> = levels
        .iter()
        .map(|l| l["load_pct"].as_f64().unwrap())
        .collect();
    assert_eq!(loads, [5.0, 50.0, 100.0]);
    for level in levels {
        let offered = level["offered_rps"].as_f64().unwrap();
        let asked = level["load_pct"].as_f64().unwrap() * 40.0;
        // Poisson arrivals in 0.2 s: five standard deviations.
        assert!(
            (offered - asked).abs() < 5.0 * (asked / 0.2).sqrt(),
            "{level}"
        );
        let tried = level["trials"].as_u64().unwrap() + level["invalid_trials"].as_u64().unwrap();
        assert!(tried >= 1, "{level}");
    }
    assert!(
        json["findings"]["levels"][2]["cpu_us_per_request"].is_number()
            || json["findings"]["levels"][2]["trials"] == 0,
        "nginx was found by its listening socket: {json}"
    );
    assert_eq!(json["plan"]["seed"], 1);
    assert!(json["provenance"]["kernel"].is_string());

    printed_again(&folder, &json);
}

/// The record gives the same findings in every format.
fn printed_again(folder: &Folder, json: &serde_json::Value) {
    let again = folder.run("report run.plimsoll --format json");
    assert_eq!(again.json()["findings"], json["findings"], "made again");
    let csv = folder.run("report run.plimsoll --format csv");
    assert_eq!(
        csv.stdout.lines().count(),
        1 + json["findings"]["levels"].as_array().unwrap().len()
    );
    let text = folder.run("report run.plimsoll");
    assert!(
        text.stdout.contains("p99<2x") || text.stdout.contains("twice"),
        "{}",
        text.stdout
    );
    let other_goal = folder.run("report run.plimsoll --goal p50<10s --format json");
    let capacity = &other_goal.json()["findings"]["capacity"][0];
    assert_eq!(capacity["goal"], "p50<10s");
}

#[test]
fn a_sweep_finds_the_rated_rate_of_nginx_by_itself() {
    let nginx = Nginx::start();
    let folder = Folder::new();
    let url = nginx.url();
    let flags = "--levels 10 --cpus 1 --format json";
    let json = folder.run(short(&format!("{flags} {url}"))).json();
    let rated = json["findings"]["rated"]["rate_rps"].as_f64().unwrap();
    let offered = json["findings"]["levels"][0]["offered_rps"].as_f64();
    assert!(rated > 0.0, "{json}");
    // A tenth of it, within five standard deviations of Poisson in 0.2 s.
    let tenth = rated / 10.0;
    let noise = 5.0 * (tenth / 0.2).sqrt();
    assert!((offered.unwrap() - tenth).abs() < noise, "{json}");
}

#[test]
fn another_client_of_the_service_is_named() {
    let nginx = Nginx::start();
    let folder = Folder::new();
    let run = |name: &str| {
        let (url, loud) = (nginx.url(), LOUD.join(" "));
        format!("run {url} --rate 50 --duration 2s {loud} --no-html -o {name}")
    };
    let connect = || std::net::TcpStream::connect(nginx.at()).unwrap();
    let is_named_at = |text: &str, at: SocketAddr| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let at = format!("connection was open to {at}, by ");
        text.contains(&at) && text.contains("counts as that of ours")
    };
    let is_named = |text: &str| is_named_at(text, nginx.at());
    let alone = folder.run(run("alone"));
    assert!(!is_named(&alone.stdout), "{}", alone.stdout);
    let client = connect();
    let beside = folder.run(run("beside"));
    assert!(is_named(&beside.stdout), "{}", beside.stdout);
    drop(client);
    let client = std::net::TcpStream::connect(nginx.second_at()).unwrap();
    let elsewhere = folder.run(run("elsewhere")).stdout;
    assert!(is_named_at(&elsewhere, nginx.second_at()), "{elsewhere}");
    drop(client);
    // The record is made after the first look for clients.
    let late = folder.spawn(run("late"));
    wait("the record", || folder.path("late").exists());
    let client = connect();
    let late = String::from_utf8(late.wait_with_output().unwrap().stdout).unwrap();
    assert!(is_named(&late), "{late}");
    drop(client);
    // One that is gone whenever it is looked for.
    let mut visited = folder.spawn(run("visited"));
    wait("the record", || folder.path("visited").exists());
    while visited.try_wait().unwrap().is_none() {
        drop(connect());
        thread::sleep(Duration::from_millis(100));
    }
    let visited = String::from_utf8(visited.wait_with_output().unwrap().stdout).unwrap();
    let words = visited.split_whitespace().collect::<Vec<_>>().join(" ");
    let visits = format!("connections to {} that were not ours ended", nginx.at());
    assert!(words.contains(&visits) || is_named(&visited), "{visited}");
}

#[test]
fn nginx_answers_over_http2_with_and_without_tls() {
    // So many are under way when a connection ends.
    let after = Duration::from_millis(20);
    let server = KnownServer::start(Behaviour::Answer { after }).unwrap();
    for (secure, scheme) in [(false, "http:"), (true, "https:")] {
        let nginx = Nginx::start_http2(secure, server.addr());
        let folder = Folder::new();
        let url = nginx.url().replace("http:", scheme);
        let flags = "--insecure --http2 --streams 100 -c 1 --rate 1000 --requests 800 --cpus 1 --format json";
        let json = folder
            .run(format!("run {url} {flags} {}", LOUD.join(" ")))
            .json();
        let found = &json["findings"];
        // Each connection ends after 100 requests, and no request is lost by that.
        assert!(found["intended"].as_u64() > Some(500), "{json}");
        assert_eq!(
            (&found["failed"], &found["unfinished"]),
            (&0.into(), &0.into()),
            "{json}"
        );
    }
    let nginx = Nginx::start();
    let folder = Folder::new();
    let refused = folder.run(format!(
        "run {} --http2 --rate 10 --requests 10",
        nginx.url()
    ));
    refused.says(1, &["did not answer with HTTP/2", "leave --http2 out"]);
}

#[test]
fn without_the_right_to_look_the_service_is_loaded_all_the_same() {
    if !is_root("a sweep as nobody") {
        return;
    }
    let nginx = Nginx::start();
    let folder = Folder::new();
    let url = nginx.url();
    let flags = "--levels 50 --rated 500 --cpus 1 --format json";
    let ended = Ended::of(folder.of_nobody(short(&format!("{flags} {url}"))));
    let json = ended.json();
    let stderr = ended.stderr;
    assert!(
        stderr.contains("--service-pid") || stderr.contains("root"),
        "{stderr}"
    );
    assert!(json["findings"]["levels"][0]["cpu_us_per_request"].is_null());
}
