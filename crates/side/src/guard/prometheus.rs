//! A guard that queries one number from a Prometheus server.
//!
//! Instant queries, <https://prometheus.io/docs/prometheus/latest/querying/api/>.

use super::Value;
use plimsoll_load::http::get_text;
use serde_json::Value as Json;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(super) const TIMEOUT: Duration = Duration::from_secs(2);
/// The query interval. Servers usually scrape less often.
const EVERY: Duration = Duration::from_secs(1);
/// Maximum age of an answer.
const STALE: Duration = Duration::from_secs(5);

/// The last answer of a thread that queries repeatedly.
pub(super) struct Prometheus {
    shared: Arc<Shared>,
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
        std::thread::spawn(move || {
            while !theirs.stop.load(Ordering::Relaxed) {
                let answer = get_text(&url, TIMEOUT).map_err(|e| e.to_string());
                let value = answer.and_then(|text| number(&text));
                let mut last = theirs.last.lock().unwrap_or_else(PoisonError::into_inner);
                *last = Some((Instant::now(), value));
                drop(last);
                std::thread::sleep(EVERY);
            }
        });
        Prometheus { shared }
    }

    pub(super) fn value(&self) -> Value {
        let last = self.shared.last.lock();
        match &*last.unwrap_or_else(PoisonError::into_inner) {
            Some((at, value)) if at.elapsed() <= STALE => value.clone(),
            Some(_) => Err(format!("no answer for {} s", STALE.as_secs())),
            None => Err("no answer yet".to_owned()),
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
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

/// The single number of an answer.
fn number(answer: &str) -> Value {
    let json: Json = serde_json::from_str(answer).map_err(|_| "the answer is not JSON")?;
    let result = &json["data"]["result"];
    let value = match json["data"]["resultType"].as_str() {
        Some("scalar") => &result[1],
        Some("vector") => match result.as_array().map(Vec::as_slice) {
            Some([one]) => &one["value"][1],
            Some([]) => return Err("the expression gives nothing".into()),
            many => {
                let many = many.map_or(0, <[Json]>::len);
                return Err(format!(
                    "the expression gives {many} numbers; make one of them"
                ));
            }
        },
        _ => return Err("the answer holds no scalar and no vector".into()),
    };
    let value = value.as_str().and_then(|text| text.parse::<f64>().ok());
    let value = value.ok_or("the answer holds no number")?;
    match value.is_finite() {
        true => Ok(value),
        false => Err(format!("the expression gives {value}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            let error = of(kind, result).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(number("<html>").unwrap_err().contains("not JSON"));
    }
}
