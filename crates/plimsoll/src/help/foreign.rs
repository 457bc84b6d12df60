//! Flags of wrk, oha, vegeta, hey, k6 and hyperfine that are others here.

use std::ffi::OsString;

/// Flags of theirs, and what to use.
const FLAGS: [(&[&str], &str); 15] = [
    (
        &["-n", "-i", "--iterations"],
        "for a number of requests: plimsoll run --requests N",
    ),
    (
        &["-q", "-R", "--qps", "--rps"],
        "for requests per second: plimsoll run --rate RATE, and versus",
    ),
    (
        &["-t", "--threads"],
        "the generator has a thread on each CPU of --cpus; a time limit is --timeout",
    ),
    (
        &["-u", "--vus"],
        "requests arrive at a rate, whether others are answered or not: --rate RATE",
    ),
    (
        &["--stages"],
        "for a rate that changes: plimsoll run --pattern 60s@500,10s@5000",
    ),
    (
        &["-p"],
        "for several requests at a time on a connection of HTTP/2: --http2 --streams N",
    ),
    (&["-m"], "for a method: -X METHOD"),
    (&["-T"], "for a type of the body: -H 'content-type: TYPE'"),
    (
        &["-a"],
        "for a user and password: -H 'authorization: Basic …'",
    ),
    (
        &["--disable-keepalive"],
        "for a connection for each request: --no-keepalive",
    ),
    (&["--body-file", "-D"], "for a body in a file: --data @FILE"),
    (&["--latency"], "latency is always measured"),
    (
        &["-r", "--runs", "--repeat", "--trials"],
        "for how often each is measured: --passes N",
    ),
    (
        &["--base", "--baseline", "--reference"],
        "for the service to compare with: --against URL of plimsoll versus",
    ),
    (
        &["--no-tui", "--quiet"],
        "for lines in place of the live view: --plain",
    ),
];

/// The commands that offer requests.
const COMMANDS: [&str; 5] = ["run", "versus", "sweep", "yield", "burst"];

pub(super) fn tip(words: &[OsString], flag: &str) -> Option<&'static str> {
    let command = words.get(1)?.to_str()?;
    let found = FLAGS.iter().find(|(theirs, _)| theirs.contains(&flag));
    found
        .filter(|_| COMMANDS.contains(&command))
        .map(|(_, tip)| *tip)
}
