//! What is hidden, and what is left.

use super::*;
use std::time::Duration;

#[test]
fn a_header_is_shown_only_if_it_is_known_to_be_harmless() {
    for name in ["Accept", "content-type", "User-Agent", "Host"] {
        assert!(is_shown_header(name), "{name}");
    }
    for name in ["Authorization", "X-Customer-Key", "X-Request-Id", "Cookie"] {
        assert!(!is_shown_header(name), "{name}");
    }
}

#[test]
fn a_url_keeps_what_names_the_service_and_nothing_else() {
    for (given, shown) in [
        (
            "http://u:p@h:1/a@b?c=d",
            "http://(hidden)@h:1/a@b?c=(hidden)",
        ),
        ("http://u:p@ss@h/", "http://(hidden)@h/"),
        ("http://u:p/w@h/", "http://(hidden)@h/"),
        ("http://u:p?w@h/", "http://(hidden)@h/"),
        ("https://token@h", "https://(hidden)@h"),
        ("http://h/a:b@c", "http://h/a:b@c"),
        ("http://[::1]/a@b", "http://[::1]/a@b"),
        ("http://h?token", "http://h?(hidden)"),
        (
            "http://h/?a=b&c=&d=e=f&",
            "http://h/?a=(hidden)&c=&d=(hidden)&",
        ),
        ("http://h/?a=?b#c", "http://h/?a=(hidden)#(hidden)"),
        ("http://h/?to=http://u:p@h/", "http://h/?to=(hidden)"),
        ("u:p@h:80/?a=b", "(hidden)@h:80/?a=(hidden)"),
        ("http://h:80/?#", "http://h:80/?#"),
        ("no address", "no address"),
        ("", ""),
    ] {
        assert_eq!(shown_url(given), shown);
        assert_eq!(shown_url(shown), shown, "again");
    }
}

#[test]
fn the_secrets_of_a_url_are_what_is_hidden_of_it() {
    let url = "postgres://bench:pa%40ss:w@h:5432/db?sslmode=disable&key=abc%21&x=1#frag";
    let secrets = secrets_of_url(url);
    assert_eq!(
        secrets,
        [
            "bench:pa%40ss:w",
            "pa%40ss:w",
            "disable",
            "abc%21",
            "bench",
            "frag"
        ]
    );
    let shown = shown_url(url);
    assert!(
        secrets.iter().all(|secret| !shown.contains(secret)),
        "{shown}"
    );
    assert!(secrets_of_url("http://h/path").is_empty());
}

#[test]
fn the_urls_of_a_sentence_are_shown_like_any() {
    assert_eq!(
        shown_urls("see 'http://u:p@h/?a=b', and\n\"http://h/?c=d\" at 10:30 a=b"),
        "see 'http://(hidden)@h/?a=(hidden)', and\n\"http://h/?c=(hidden)\" at 10:30 a=b"
    );
}

#[test]
fn a_request_has_no_secret_left_and_says_what_was_there() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let http = HttpService {
        headers: vec![pair("Accept", "*/*"), pair("X-Key", "swordfish")],
        omitted_headers: vec!["Cookie".to_owned()],
        body: b"swordfish".to_vec(),
        service: ServiceAt::NodeMetrics("http://u:swordfish@h/".to_owned()),
        ..HttpService::get("http://h/?k=swordfish", 1, Duration::from_secs(1))
    };
    let shown = http.without_secrets();
    assert!(!format!("{shown:?}").contains("swordfish"), "{shown:?}");
    let headers = [
        pair("Accept", "*/*"),
        pair("X-Key", HIDDEN),
        pair("Cookie", HIDDEN),
    ];
    assert_eq!(shown.headers, headers);
    assert_eq!((shown.body_bytes(), http.body_bytes()), (9, 9));
    assert_eq!(shown.without_secrets(), shown);
    let empty = HttpService::get("http://h/", 1, Duration::from_secs(1));
    assert_eq!(empty.without_secrets(), empty);
}
