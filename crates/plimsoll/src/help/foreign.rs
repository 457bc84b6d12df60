//! Flags of wrk, oha, vegeta, hey and k6 that are others here.

/// A flag of theirs, and what to use.
const FLAGS: [(&str, &str); 9] = [
    ("-n", "for a number of requests: plimsoll run --requests N"),
    ("-q", "for requests per second: plimsoll run --rate RATE"),
    ("-R", "for requests per second: plimsoll run --rate RATE"),
    ("--qps", "for requests per second: plimsoll run --rate RATE"),
    ("--rps", "for requests per second: plimsoll run --rate RATE"),
    (
        "-t",
        "the generator has a thread on each CPU of --cpus; a time limit is --timeout",
    ),
    (
        "--vus",
        "requests arrive at a rate, whether others are answered or not: --rate RATE",
    ),
    ("--body-file", "for a body in a file: --data @FILE"),
    ("--latency", "latency is always measured"),
];

pub(super) fn tip(flag: &str) -> Option<&'static str> {
    let found = FLAGS.iter().find(|(theirs, _)| *theirs == flag);
    found.map(|(_, tip)| *tip)
}
