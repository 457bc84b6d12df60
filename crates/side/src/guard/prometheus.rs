//! A guard that queries one number from a Prometheus server.
//!
//! Instant queries, <https://prometheus.io/docs/prometheus/latest/querying/api/>.

use super::Value;
use plimsoll_load::http::get_text;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(super) const TIMEOUT: Duration = Duration::from_secs(2);
/// The query interval. Servers usually scrape less often.
const EVERY: Duration = Duration::from_secs(1);
/// A number has some hundred bytes. Bounds the memory of an expression, or a server,
/// that is not the one meant.
const MOST_BYTES: usize = 1 << 20;
/// Maximum age of an answer.
const STALE: Duration = Duration::from_secs(5);

/// The last answer of a thread that queries repeatedly.
pub(super) struct Prometheus {
    /// Or why there is no thread.
    shared: Result<Arc<Shared>, String>,
}

struct Shared {
    last: Mutex<Option<(Instant, Value)>>,
    stop: AtomicBool,
}

impl Prometheus {
    pub(super) fn open(url: &str, expression: &str) -> Prometheus {
        let shared = Arc::new(Shared {
            last: Mutex::new(None),
            stop: AtomicBool::new(false),
        });
        let url = query(url, expression);
        let theirs = Arc::clone(&shared);
        // The thread is not joined: it ends soon after the guard is dropped, even if
        // the server does not answer.
        let thread = std::thread::Builder::new().name("prometheus".to_owned());
        let started = thread.spawn(move || {
            while !theirs.stop.load(Ordering::Relaxed) {
                let value = ask(&url);
                let mut last = theirs.last.lock().unwrap_or_else(PoisonError::into_inner);
                *last = Some((Instant::now(), value));
                drop(last);
                std::thread::sleep(EVERY);
            }
        });
        let shared = started.map(|_| shared).map_err(|error| {
            format!("its thread cannot be started ({error}); raise `ulimit -u` or pids.max")
        });
        Prometheus { shared }
    }

    pub(super) fn value(&self) -> Value {
        let shared = self.shared.as_ref().map_err(String::clone)?;
        let last = shared.last.lock();
        match &*last.unwrap_or_else(PoisonError::into_inner) {
            Some((at, value)) if at.elapsed() <= STALE => value.clone(),
            Some(_) => Err(format!("no answer for {} s", STALE.as_secs())),
            None => Err("no answer yet".to_owned()),
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        if let Ok(shared) = &self.shared {
            shared.stop.store(true, Ordering::Relaxed);
        }
    }
}

fn ask(url: &str) -> Value {
    let answer = get_text(url, TIMEOUT, MOST_BYTES).map_err(|error| error.to_string())?;
    number(&answer)
}

fn query(url: &str, expression: &str) -> String {
    let mut query = format!("{url}/api/v1/query?query=");
    for byte in expression.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                query.push(char::from(byte));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(query, "%{byte:02X}")),
        }
    }
    query
}

/// What an answer holds; the rest of it is skipped, not kept.
#[derive(Deserialize)]
struct Answer<R> {
    data: Data<R>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data<R> {
    result_type: Kind,
    result: R,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Scalar,
    Vector,
    #[serde(other)]
    Other,
}

/// A time and a value.
#[derive(Deserialize)]
struct Sample(IgnoredAny, String);

#[derive(Deserialize)]
struct Series {
    value: Option<Sample>,
}

/// The single number of an answer, which is read twice: first for its kind.
pub fn number(answer: &str) -> Result<f64, String> {
    let value = match parse::<IgnoredAny>(answer, "no scalar and no vector")?.result_type {
        Kind::Scalar => Some(parse::<Sample>(answer, "no number")?.result),
        Kind::Vector => {
            let mut all = parse::<Vec<Series>>(answer, "no number")?.result;
            match all.len() {
                0 => return Err("the expression gives nothing".into()),
                1 => all.pop().and_then(|one| one.value),
                n => {
                    return Err(format!(
                        "the expression gives {n} numbers; make one of them"
                    ));
                }
            }
        }
        Kind::Other => return Err("the answer holds no scalar and no vector".into()),
    };
    let value = value.and_then(|Sample(_, text)| text.parse::<f64>().ok());
    let value = value.ok_or("the answer holds no number")?;
    match value.is_finite() {
        true => Ok(value),
        false => Err(format!("the expression gives {value}")),
    }
}

fn parse<'a, R: Deserialize<'a>>(answer: &'a str, lacking: &str) -> Result<Data<R>, String> {
    let parsed: Result<Answer<R>, _> = serde_json::from_str(answer);
    parsed
        .map(|answer| answer.data)
        .map_err(|error| match error.is_data() {
            true => format!("the answer holds {lacking}"),
            false => "the answer is not JSON".to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write as _};
    use std::net::TcpListener;

    #[test]
    fn expressions_are_escaped_in_the_url() {
        assert_eq!(
            query("http://p:9090", "rate(x{a=\"b\"}[1m]) & 1"),
            "http://p:9090/api/v1/query?query=rate%28x%7Ba%3D%22b%22%7D%5B1m%5D%29%20%26%201"
        );
    }

    fn of(kind: &str, result: &str) -> Value {
        number(&format!(
            r#"{{"status":"success","data":{{"resultType":"{kind}","result":{result}}}}}"#
        ))
    }

    #[test]
    fn an_answer_must_be_one_number() {
        assert_eq!(of("scalar", r#"[1.5,"0.25"]"#), Ok(0.25));
        let vector = r#"[{"metric":{},"value":[1.5,"7"]}]"#;
        assert_eq!(of("vector", vector), Ok(7.0));
        for (kind, result, why) in [
            ("vector", "[]", "gives nothing"),
            ("vector", "[{},{}]", "gives 2 numbers"),
            ("vector", "[{}]", "no number"),
            ("matrix", "[]", "no scalar"),
            ("scalar", r#"[1,"NaN"]"#, "gives NaN"),
            ("scalar", "{}", "no number"),
            ("vector", r#"[{"value":"7"}]"#, "no number"),
        ] {
            let error = of(kind, result).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(number("<html>").unwrap_err().contains("not JSON"));
        assert!(number("{}").unwrap_err().contains("no scalar"));
    }

    /// A server that answers once with a scalar and so many spaces.
    fn answered_with_spaces(spaces: usize) -> Value {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let server = std::thread::Builder::new().spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 512]).unwrap();
            let answer = r#"{"data":{"resultType":"scalar","result":[1,"2"]}}"#;
            let spaces = " ".repeat(spaces);
            // The reader may have gone.
            let _ = write!(stream, "HTTP/1.0 200 OK\r\n\r\n{spaces}{answer}");
        });
        let value = ask(&url);
        server.unwrap().join().unwrap();
        value
    }

    #[test]
    fn a_long_answer_is_refused_before_it_is_read() {
        assert_eq!(answered_with_spaces(1000), Ok(2.0));
        let error = answered_with_spaces(2 << 20).unwrap_err();
        assert!(error.contains("more than 1.0 MiB"), "{error}");
    }
}
