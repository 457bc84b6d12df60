//! A guard that queries one number from a Prometheus server.
//!
//! Instant queries, <https://prometheus.io/docs/prometheus/latest/querying/api/>.

use super::Value;
use plimsoll_load::http::{get_text, percent_encoded};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(super) const TIMEOUT: Duration = Duration::from_secs(2);
/// The query interval. Servers usually scrape less often.
const EVERY: Duration = Duration::from_secs(1);
/// A number has some hundred bytes. Bounds the memory of an expression, or a server,
/// that is not the one meant.
const MOST_BYTES: usize = 1 << 20;
/// Maximum age of an answer, and of the time that the server states in it.
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
            let mut clock = ServerClock::default();
            while !theirs.stop.load(Ordering::Relaxed) {
                let answered = ask(&url);
                let value = answered.and_then(|sample| clock.fresh(sample, Instant::now()));
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

/// Detects answers that are repeated: an instant query is evaluated at the server's
/// present time, so the time of the sample moves with each query. It is compared with
/// the one before, because the server's clock may differ from ours.
#[derive(Default)]
struct ServerClock {
    /// The time of the last sample, and when it was seen first.
    last: Option<(f64, Instant)>,
}

impl ServerClock {
    fn fresh(&mut self, Sample(time, value): Sample, now: Instant) -> Value {
        match self.last {
            Some((last, since)) if last == time => {
                if now.duration_since(since) > STALE {
                    let seconds = STALE.as_secs();
                    return Err(format!(
                        "the same answer for {seconds} s, of time {time}: a cache may repeat it"
                    ));
                }
            }
            _ => self.last = Some((time, now)),
        }
        Ok(value)
    }
}

fn ask(url: &str) -> Result<Sample, String> {
    let answer = get_text(url, TIMEOUT, MOST_BYTES).map_err(|error| error.to_string())?;
    sample(&answer)
}

/// Whether there is a Prometheus server that evaluates the expression. It may have no value now:
/// a quantile of no requests.
///
/// # Errors
/// Why not, as a clause.
pub(super) fn check(url: &str, expression: &str) -> Result<(), String> {
    let answer = get_text(&query(url, expression), TIMEOUT, MOST_BYTES);
    succeeded(&answer.map_err(|error| error.to_string())?)
}

fn succeeded(answer: &str) -> Result<(), String> {
    let outcome: Result<Outcome, _> = serde_json::from_str(answer);
    let Outcome { status, warnings } = outcome.map_err(|error| lacks(&error, "no status"))?;
    match (status.as_str(), warnings.first()) {
        ("success", None) => Ok(()),
        ("success", Some(warning)) => Err(format!("the answer warns: {}", shown(warning))),
        _ => Err(format!("the answer has status '{}'", shown(&status))),
    }
}

fn query(url: &str, expression: &str) -> String {
    format!("{url}/api/v1/query?query={}", percent_encoded(expression))
}

/// What an answer holds; the rest of it is skipped, not kept.
#[derive(Deserialize)]
struct Answer<R> {
    data: Data<R>,
}

/// Whether an answer is one. It may have data even if it is not.
#[derive(Deserialize)]
struct Outcome {
    status: String,
    /// Such as that a part of the data could not be read.
    #[serde(default)]
    warnings: Vec<String>,
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

/// The server's time, in seconds since 1970, and a value.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample(f64, f64);

/// The same in JSON.
#[derive(Deserialize)]
struct Pair(f64, String);

#[derive(Deserialize)]
struct Series {
    value: Option<Pair>,
}

/// The single number of an answer.
///
/// # Errors
/// Why there is none, as a clause.
pub fn number(answer: &str) -> Result<f64, String> {
    sample(answer).map(|Sample(_, value)| value)
}

/// An answer is read thrice: for its status, for its kind, and for its number.
fn sample(answer: &str) -> Result<Sample, String> {
    succeeded(answer)?;
    let pair = match parse::<IgnoredAny>(answer, "no scalar and no vector")?.result_type {
        Kind::Scalar => Some(parse::<Pair>(answer, "no number")?.result),
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
    let sample = pair.and_then(|Pair(time, text)| Some(Sample(time, text.parse().ok()?)));
    let sample = sample.ok_or("the answer holds no number")?;
    match sample.1.is_finite() {
        true => Ok(sample),
        false => Err(format!("the expression gives {}", sample.1)),
    }
}

/// The beginning of a text of the server.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

fn lacks(error: &serde_json::Error, lacking: &str) -> String {
    match error.is_data() {
        true => format!("the answer holds {lacking}"),
        false => "the answer is not JSON".to_owned(),
    }
}

fn parse<'a, R: Deserialize<'a>>(answer: &'a str, lacking: &str) -> Result<Data<R>, String> {
    let parsed: Result<Answer<R>, _> = serde_json::from_str(answer);
    parsed
        .map(|answer| answer.data)
        .map_err(|error| lacks(&error, lacking))
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
        assert!(number("{}").unwrap_err().contains("no status"));
        let empty = r#"{"status":"success"}"#;
        assert!(number(empty).unwrap_err().contains("no scalar"));
    }

    #[test]
    fn an_answer_without_success_is_no_number() {
        let data = r#""data":{"resultType":"scalar","result":[1,"0.001"]}"#;
        for status in ["error", "SUCCESS", ""] {
            let answer = format!(r#"{{"status":"{status}",{data}}}"#);
            let error = number(&answer).unwrap_err();
            assert!(error.contains(&format!("status '{status}'")), "{error}");
        }
        assert!(number(&format!("{{{data}}}")).is_err());
        let partial = format!(r#"{{"status":"success","warnings":["partial response"],{data}}}"#);
        assert!(
            number(&partial)
                .unwrap_err()
                .contains("warns: partial response")
        );
    }

    #[test]
    fn an_answer_whose_own_time_stands_still_is_stale() {
        let (mut clock, start) = (ServerClock::default(), Instant::now());
        let mut fresh = |time, after| clock.fresh(Sample(time, 7.0), start + after);
        let second = Duration::from_secs(1);
        assert_eq!(fresh(100.0, Duration::ZERO), Ok(7.0));
        assert_eq!(fresh(100.0, STALE), Ok(7.0));
        let error = fresh(100.0, STALE + second).unwrap_err();
        assert!(error.contains("of time 100"), "{error}");
        assert_eq!(
            fresh(90.0, STALE + 2 * second),
            Ok(7.0),
            "its clock was set"
        );
        assert_eq!(fresh(90.0, 2 * STALE + 2 * second), Ok(7.0));
    }

    /// A server that answers once with a scalar and so many spaces.
    fn answered_with_spaces(spaces: usize) -> Value {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let server = std::thread::Builder::new().spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 512]).unwrap();
            let answer = r#"{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}"#;
            let spaces = " ".repeat(spaces);
            // The reader may have gone.
            let _ = write!(stream, "HTTP/1.0 200 OK\r\n\r\n{spaces}{answer}");
        });
        let value = ask(&url).map(|Sample(_, value)| value);
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
