//! The syntax of guards: `run-delay<30%`, `http URL p99<10ms`.

use plimsoll_host::Pid;
use plimsoll_model::{Share, parse_duration, shown_url};
use std::str::FromStr;
use std::time::Duration;

/// A guard: a measure of the service's health, and its limit.
#[derive(Debug, Clone, PartialEq)]
pub enum GuardSpec {
    /// Run delay as a share of the time that tasks wanted a CPU.
    RunDelay { of: Whose, limit: Share },
    /// Share of the time in which some task waited for a CPU (PSI).
    Psi {
        /// A cgroup; `None` for the whole machine, the sideload included.
        cgroup: Option<String>,
        limit: Share,
    },
    Http {
        url: String,
        percentile: Percentile,
        limit: Duration,
    },
    Prometheus {
        /// The server, without the path of its API.
        url: String,
        /// It must give one number.
        expression: String,
        limit: f64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// All except the sideload's.
    Others,
    /// A process and its descendants.
    Process(Pid),
    Cgroup(String),
}

/// The percentiles that a probe keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Percentile {
    P50,
    P99,
}

impl Default for GuardSpec {
    /// At 50 % tasks wait as long as they run, so the service takes twice the time that
    /// it takes alone. The value is a choice, not a measurement.
    fn default() -> GuardSpec {
        GuardSpec::RunDelay {
            of: Whose::Others,
            limit: share(RUN_DELAY_PCT),
        }
    }
}

const RUN_DELAY_PCT: f64 = 50.0;
const PSI_PCT: f64 = 20.0;

fn share(pct: f64) -> Share {
    Share::new(pct / 100.0).unwrap_or(Share::ONE)
}

impl GuardSpec {
    /// Its name in the log, with the unit of its values.
    pub fn name(&self) -> String {
        match self {
            GuardSpec::RunDelay { of, .. } => match of {
                Whose::Others => "run_delay_pct of everything else".into(),
                Whose::Process(pid) => format!("run_delay_pct of process {pid}"),
                Whose::Cgroup(name) => format!("run_delay_pct of cgroup {name}"),
            },
            GuardSpec::Psi { cgroup: None, .. } => "psi_cpu_pct".into(),
            GuardSpec::Psi {
                cgroup: Some(name), ..
            } => format!("psi_cpu_pct of cgroup {name}"),
            GuardSpec::Http {
                url, percentile, ..
            } => match percentile {
                Percentile::P50 => format!("p50_ms of {}", shown_url(url)),
                Percentile::P99 => format!("p99_ms of {}", shown_url(url)),
            },
            GuardSpec::Prometheus { expression, .. } => expression.clone(),
        }
    }

    /// The limit in the unit of [`GuardSpec::name`].
    pub(crate) fn limit(&self) -> f64 {
        match self {
            GuardSpec::RunDelay { limit, .. } | GuardSpec::Psi { limit, .. } => limit.pct(),
            GuardSpec::Http { limit, .. } => limit.as_secs_f64() * 1e3,
            GuardSpec::Prometheus { limit, .. } => *limit,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{given}' is not a guard: {why}; write run-delay<50%, 'run-delay pid 1234', \
     'psi<20% cgroup NAME', 'http URL p99<10ms' or 'prometheus URL EXPR<LIMIT'"
)]
pub struct GuardError {
    pub given: String,
    pub why: &'static str,
}

impl FromStr for GuardSpec {
    type Err = GuardError;

    fn from_str(text: &str) -> Result<GuardSpec, GuardError> {
        let fail = |why| GuardError {
            given: text.to_owned(),
            why,
        };
        let text = text.trim();
        let (first, rest) = words(text).unwrap_or_default();
        let (kind, limit) = match first.split_once('<') {
            Some((kind, limit)) => (kind, Some(limit)),
            None => (first, None),
        };
        let guard = match (kind, limit) {
            ("run-delay", limit) => run_delay(limit, rest),
            ("psi", limit) => psi(limit, rest),
            ("http", None) => http(rest),
            ("prometheus", None) => prometheus(rest),
            _ => Err("its kind is not run-delay, psi, http or prometheus"),
        };
        guard.map_err(fail)
    }
}

fn run_delay(limit: Option<&str>, of: &str) -> Result<GuardSpec, &'static str> {
    let of = match words(of) {
        None => Whose::Others,
        Some(("pid", pid)) => match pid.parse() {
            Ok(pid) if pid > 0 => Whose::Process(pid),
            _ => return Err("the number of a process is above 0"),
        },
        Some(("cgroup", name)) if !name.is_empty() => Whose::Cgroup(name.to_owned()),
        _ => return Err("only 'pid NUMBER' or 'cgroup NAME' may follow run-delay"),
    };
    let limit = percent(limit, RUN_DELAY_PCT)?;
    Ok(GuardSpec::RunDelay { of, limit })
}

fn psi(limit: Option<&str>, of: &str) -> Result<GuardSpec, &'static str> {
    let cgroup = match words(of) {
        None => None,
        Some(("cgroup", name)) if !name.is_empty() => Some(name.to_owned()),
        _ => return Err("only 'cgroup NAME' may follow psi"),
    };
    let limit = percent(limit, PSI_PCT)?;
    Ok(GuardSpec::Psi { cgroup, limit })
}

fn http(rest: &str) -> Result<GuardSpec, &'static str> {
    let (url, goal) = words(rest).ok_or("http needs a URL and a limit")?;
    let (percentile, limit) = goal.split_once('<').ok_or("its limit has no '<'")?;
    let percentile = match percentile.trim() {
        "p50" => Percentile::P50,
        "p99" => Percentile::P99,
        _ => return Err("of a probe only p50 and p99 are kept"),
    };
    let limit = parse_duration(limit)
        .filter(|d| (Duration::from_micros(10)..=Duration::from_secs(60)).contains(d))
        .ok_or("its limit is not a time from 10us to 60s with a unit")?;
    Ok(GuardSpec::Http {
        url: url.to_owned(),
        percentile,
        limit,
    })
}

fn prometheus(rest: &str) -> Result<GuardSpec, &'static str> {
    let (url, rest) = words(rest).ok_or("prometheus needs a URL, an expression and a limit")?;
    // PromQL has comparison operators; the limit comes last.
    let (expression, limit) = rest.rsplit_once('<').ok_or("its limit has no '<'")?;
    let limit: f64 = limit.trim().parse().unwrap_or(f64::NAN);
    if !limit.is_finite() {
        return Err("its limit is not a number");
    }
    match expression.trim() {
        "" => Err("it has no expression"),
        expression => Ok(GuardSpec::Prometheus {
            url: url.trim_end_matches('/').to_owned(),
            expression: expression.to_owned(),
            limit,
        }),
    }
}

/// The first word and the rest; `None` if empty.
fn words(text: &str) -> Option<(&str, &str)> {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (!first.is_empty()).then_some((first, rest.trim()))
}

fn percent(limit: Option<&str>, usual: f64) -> Result<Share, &'static str> {
    let Some(limit) = limit else {
        return Ok(share(usual));
    };
    let number = limit.strip_suffix('%').and_then(|n| n.trim().parse().ok());
    number
        .filter(|n: &f64| *n > 0.0 && *n < 100.0)
        .map(share)
        .ok_or("its limit is not between 0% and 100%, written with its unit like 50%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_are_read_as_they_are_typed() {
        assert_eq!("run-delay".parse(), Ok(GuardSpec::default()));
        for (text, name, limit) in [
            ("run-delay<30%", "run_delay_pct of everything else", 30.0),
            ("run-delay<5% pid 12", "run_delay_pct of process 12", 5.0),
            (
                " run-delay  cgroup a/b c ",
                "run_delay_pct of cgroup a/b c",
                50.0,
            ),
            ("psi", "psi_cpu_pct", 20.0),
            ("psi<7.5% cgroup x", "psi_cpu_pct of cgroup x", 7.5),
            ("http http://a:1/x p99<10ms", "p99_ms of http://a:1/x", 10.0),
            (
                "http http://a/?k=v p50<1ms",
                "p50_ms of http://a/?k=(hidden)",
                1.0,
            ),
            (
                "prometheus http://p:9090/ max(a) < bool 2 < 0.5",
                "max(a) < bool 2",
                0.5,
            ),
        ] {
            let guard: GuardSpec = text.parse().unwrap();
            assert_eq!(
                (guard.name().as_str(), guard.limit()),
                (name, limit),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_guard_is_refused_with_the_way_out() {
        for (text, why) in [
            ("", "kind"),
            ("latency", "kind"),
            ("run-delay<", "between 0% and 100%"),
            ("run-delay<0%", "between 0% and 100%"),
            ("run-delay<30", "with its unit like 50%"),
            ("run-delay pid", "above 0"),
            ("run-delay pid x", "above 0"),
            ("run-delay of 3", "may follow run-delay"),
            ("psi cgroup", "may follow psi"),
            ("psi pid 3", "may follow psi"),
            ("http", "needs a URL"),
            ("http http://a", "no '<'"),
            ("http http://a p95<1ms", "p50 and p99"),
            ("http http://a p99<1", "with a unit"),
            ("prometheus http://a", "no '<'"),
            ("prometheus http://a x<y", "not a number"),
            ("prometheus http://a <1", "no expression"),
        ] {
            let error = text.parse::<GuardSpec>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
            assert!(error.contains("write run-delay<50%"), "{error}");
        }
    }
}
