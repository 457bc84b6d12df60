//! Checks that two runs had the same workload and goals, and two of one machine the
//! same settings.

use super::{CompareError, Run};
use plimsoll_model::{FileUse, HIDDEN, HttpService, WorkUnit, Workload, shown_url};

pub(super) fn workload(first: &Run, other: &Run) -> Result<(), CompareError> {
    match difference(&first.workload, &other.workload) {
        None => Ok(()),
        Some(difference) => Err(CompareError::Workload {
            first: first.name.clone(),
            other: other.name.clone(),
            difference,
        }),
    }
}

/// Refuses other goals; their order does not matter.
pub(super) fn goals(first: &Run, other: &Run) -> Result<(), CompareError> {
    let (a, b) = (sorted(first), sorted(other));
    if a == b {
        return Ok(());
    }
    Err(CompareError::Goals {
        first: first.name.clone(),
        first_goals: a.join(", "),
        other: other.name.clone(),
        other_goals: b.join(", "),
    })
}

/// Refuses runs that cannot be repetitions of each other.
pub(super) fn settings(first: &Run, other: &Run) -> Result<(), CompareError> {
    let http = |run: &Run| match &run.workload {
        Workload::Http(http) => Some((authority(&http.url).to_lowercase(), http.connections)),
        _ => None,
    };
    let (one, two) = (http(first), http(other));
    let of = |part: fn(&(String, u32)) -> String| one.as_ref().map(part) != two.as_ref().map(part);
    let differs = [
        ("server", of(|http| http.0.clone())),
        ("number of connections", of(|http| http.1.to_string())),
        ("arrivals", first.arrivals != other.arrivals),
        ("number of CPUs of the service", first.cpus != other.cpus),
    ];
    match differs.iter().find(|d| d.1) {
        None => Ok(()),
        Some((respect, _)) => Err(CompareError::Runs {
            first: first.name.clone(),
            other: other.name.clone(),
            respect,
        }),
    }
}

fn sorted(run: &Run) -> Vec<String> {
    let goals = run.capacities.iter().map(|c| c.goal.to_string());
    let mut texts: Vec<String> = goals.collect();
    texts.sort_unstable();
    texts
}

/// The differences between two plans, in a few words and without values that may be
/// secret.
fn difference(a: &Workload, b: &Workload) -> Option<String> {
    match (a, b) {
        (Workload::Hash(a), Workload::Hash(b)) => {
            let same = a.request_cpu == b.request_cpu
                && a.deviation_share == b.deviation_share
                && a.memory == b.memory
                && same_files(a.files.as_ref(), b.files.as_ref());
            (!same).then(|| "the hash service with requests of another kind".to_owned())
        }
        (Workload::Http(a), Workload::Http(b)) => request_difference(a, b),
        (Workload::Command(a), Workload::Command(b)) => {
            let same = (&a.command, a.format) == (&b.command, b.format);
            (!same).then(|| "loads by different commands".to_owned())
        }
        (Workload::Imported(_), Workload::Imported(_)) => None,
        _ => Some(format!("{} and {}", kind(a), kind(b))),
    }
}

/// Wherever they lie: the disk is a part of the machine.
fn same_files(a: Option<&FileUse>, b: Option<&FileUse>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => {
            let there = FileUse {
                dir: b.dir.clone(),
                ..a.clone()
            };
            there == *b
        }
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn kind(workload: &Workload) -> &'static str {
    match workload {
        Workload::Hash(_) => "the hash service",
        Workload::Http(_) => "an HTTP server",
        Workload::Command(_) => "a service that an external generator loads",
        Workload::Imported(_) => "an imported table",
    }
}

/// The host is the subject of the comparison.
fn request_difference(a: &HttpService, b: &HttpService) -> Option<String> {
    let (url_a, url_b) = match [a, b].iter().any(|http| http.url.contains(HIDDEN)) {
        true => (shown_url(&a.url), shown_url(&b.url)),
        false => (a.url.clone(), b.url.clone()),
    };
    let (scheme_a, path_a) = parts(&url_a);
    let (scheme_b, path_b) = parts(&url_b);
    let differs = [
        ("http and https", scheme_a != scheme_b),
        ("another path", path_a != path_b),
        ("another method", a.method != b.method),
        ("other headers", !have_same_headers(a, b)),
        ("another body", !have_same_body(a, b)),
        (
            "another expected status",
            a.expected_status != b.expected_status,
        ),
        (
            "another text expected of the body",
            a.expected_text != b.expected_text,
        ),
        ("other requests", !have_same_requests(a, b)),
        (
            "another version of HTTP, or number of streams",
            a.http2_streams != b.http2_streams,
        ),
        ("gRPC and plain requests", a.grpc != b.grpc),
        (
            "another number of requests per connection",
            a.requests_per_connection != b.requests_per_connection,
        ),
    ];
    let found: Vec<&str> = differs.iter().filter(|d| d.1).map(|d| d.0).collect();
    (!found.is_empty()).then(|| found.join(", "))
}

/// Values are compared where both records hold them.
fn have_same_headers(a: &HttpService, b: &HttpService) -> bool {
    let omitted = |name: &str| {
        let given = a.headers.iter().chain(&b.headers);
        let hidden = given
            .filter(|(_, value)| value == HIDDEN)
            .map(|(name, _)| name);
        let mut names = hidden.chain(&a.omitted_headers).chain(&b.omitted_headers);
        names.any(|other| other.eq_ignore_ascii_case(name))
    };
    let known = |http: &HttpService| {
        let given = http.headers.iter().map(|(name, value)| {
            let value = (!omitted(name)).then(|| value.clone());
            (name.to_ascii_lowercase(), value)
        });
        let names = http.omitted_headers.iter();
        let names = names.map(|name| (name.to_ascii_lowercase(), None));
        let mut all: Vec<_> = given.chain(names).collect();
        all.sort_unstable();
        all
    };
    known(a) == known(b)
}

/// The name of their file does not matter.
fn have_same_requests(a: &HttpService, b: &HttpService) -> bool {
    let sha1 = |http: &HttpService| http.requests.as_ref().map(|file| file.sha1.clone());
    sha1(a) == sha1(b)
}

/// The bodies are compared where both records hold them, and else their lengths.
fn have_same_body(a: &HttpService, b: &HttpService) -> bool {
    let is_known = a.omitted_body_bytes.or(b.omitted_body_bytes).is_none();
    a.body_bytes() == b.body_bytes() && (!is_known || a.body == b.body)
}

/// Host and port of an address, with what precedes them.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or(rest)
}

/// Scheme, and path with query, of an address.
fn parts(url: &str) -> (String, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let path = rest.find(['/', '?']).map_or("/", |at| &rest[at..]);
    (scheme.to_lowercase(), path)
}

/// The unit of a workload's rates across machines.
pub(super) fn unit(workload: &Workload) -> WorkUnit {
    match workload {
        Workload::Hash(_) => WorkUnit::HashedBytes,
        Workload::Http(_) | Workload::Command(_) | Workload::Imported(_) => WorkUnit::Requests,
    }
}

pub(super) fn work_per_request(workload: &Workload) -> f64 {
    match workload {
        Workload::Hash(hash) => hash.mean_block.0 as f64,
        Workload::Http(_) | Workload::Command(_) | Workload::Imported(_) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_hidden_query_is_compared_by_what_is_shown_of_it() {
        let get = |url: &str| HttpService::get(url, 64, Duration::from_secs(1));
        let hidden = format!("http://a/items?key={HIDDEN}");
        for (other, expected) in [
            ("http://b/items?key=swordfish", None),
            ("http://b/items?other=swordfish", Some("another path")),
            ("http://b/item?key=swordfish", Some("another path")),
            ("http://b/items", Some("another path")),
        ] {
            let (a, b) = (get(&hidden), get(other));
            let both = [request_difference(&a, &b), request_difference(&b, &a)];
            assert_eq!(
                both.each_ref().map(Option::as_deref),
                [expected; 2],
                "{other}"
            );
        }
        let (a, b) = (get("http://a/?key=one"), get("http://b/?key=two"));
        let path = Some("another path".to_owned());
        assert_eq!(request_difference(&a, &b), path, "both are known");
    }
}
