//! Guards: measures of the service's health besides CPU time. Interpreting a
//! reading is pure; reading is at the edge.
//!
//! A guard never blocks the loop: guards that query a server use their own threads.
//! An unreadable guard is unknown, with a reason, and the law closes.

mod http;
mod kernel;
mod prometheus;
mod spec;

pub use prometheus::number as prometheus_number;
pub use spec::{GuardError, GuardSpec, Percentile, Whose};

use crate::error::SideError;
use http::Http;
use kernel::{Delay, Psi};
use plimsoll_host::{Pid, Root};
use plimsoll_law::{Guard, Reading};
use plimsoll_model::CpuSet;
use prometheus::Prometheus;
use std::fmt;

/// A value in the guard's unit, or the reason for its absence.
type Value = Result<f64, String>;

pub(crate) struct Guards {
    all: Vec<Watched>,
}

struct Watched {
    spec: GuardSpec,
    watch: Watch,
}

enum Watch {
    /// Or why it cannot be read.
    Delay(Result<Delay, String>),
    Psi(Psi),
    Http(Http),
    Prometheus(Prometheus),
}

/// Checks the guards before the command runs: each target exists, and each server answers.
/// One that never does would freeze the command for ever.
pub(crate) fn check(root: &Root, specs: &[GuardSpec], cpus: &CpuSet) -> Result<(), SideError> {
    for spec in specs {
        let counts = match spec {
            GuardSpec::Http { url, limit, .. } => {
                // A cold service may take longer than it is allowed later.
                let within = (*limit).max(prometheus::TIMEOUT);
                let probe = http::prepare(url, within, cpus).and_then(|load| load.probe());
                probe.map_err(SideError::Guard)?;
                continue;
            }
            GuardSpec::Prometheus {
                url, expression, ..
            } => {
                // The same URL grammar and host lookup as for a load.
                http::prepare(url, prometheus::TIMEOUT, cpus).map_err(SideError::Guard)?;
                prometheus::check(url, expression).map_err(|why| SideError::Unread {
                    name: spec.name(),
                    why,
                })?;
                continue;
            }
            GuardSpec::RunDelay { of, .. } => Delay::open(root, of).map(|delay| delay.counts()),
            GuardSpec::Psi { cgroup, .. } => Psi::open(root, cgroup.clone()).counts(),
        };
        counts
            .map_err(SideError::Target)?
            .map_err(|reason| SideError::NotHere {
                what: format!("the guard {}", spec.name()),
                reason: reason.to_owned(),
                way_out: "choose another --guard",
            })?;
    }
    Ok(())
}

impl fmt::Debug for Guards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let specs = self.all.iter().map(|watched| &watched.spec);
        f.debug_list().entries(specs).finish()
    }
}

impl Guards {
    /// Opens the guards. Without any, opens the default guard if it is readable; the
    /// second value is the reason if it is not.
    pub(crate) fn open(
        root: &Root,
        specs: &[GuardSpec],
        cpus: &CpuSet,
        except: &[Pid],
    ) -> (Guards, Option<String>) {
        if specs.is_empty() {
            let mut usual = Watched::open(root, GuardSpec::default(), cpus);
            return match usual.watch.value(cpus, except) {
                Err(why) if !kernel::is_first(&why) => (Guards { all: Vec::new() }, Some(why)),
                _ => (Guards { all: vec![usual] }, None),
            };
        }
        let open = |spec: &GuardSpec| Watched::open(root, spec.clone(), cpus);
        let mut all: Vec<Watched> = specs.iter().map(open).collect();
        for watched in &mut all {
            // Take the first reading of counters now.
            if let Watch::Delay(_) | Watch::Psi(_) = watched.watch {
                let _ = watched.watch.value(cpus, except);
            }
        }
        (Guards { all }, None)
    }

    /// Reads all guards. `except` are the sideload's processes and our own.
    pub(crate) fn read(&mut self, cpus: &CpuSet, except: &[Pid]) -> Vec<Guard> {
        let all = self.all.iter_mut();
        all.map(|watched| Guard {
            name: watched.spec.name(),
            reading: reading(watched.watch.value(cpus, except), watched.spec.limit()),
        })
        .collect()
    }

    /// Whether any guard needs the PIDs of the sideload.
    pub(crate) fn needs_processes(&self) -> bool {
        let mut specs = self.all.iter().map(|watched| &watched.spec);
        let of = Whose::Others;
        specs.any(|spec| matches!(spec, GuardSpec::RunDelay { of: whose, .. } if *whose == of))
    }
}

/// Compares the exact value, which the log keeps; it is rounded where it is shown.
fn reading(value: Value, limit: f64) -> Reading {
    match value {
        Ok(value) => Reading::of(value, limit),
        Err(why) => Reading::Unknown { why },
    }
}

impl Watched {
    fn open(root: &Root, spec: GuardSpec, cpus: &CpuSet) -> Watched {
        let watch = match &spec {
            GuardSpec::RunDelay { of, .. } => {
                Watch::Delay(Delay::open(root, of).map_err(|e| e.to_string()))
            }
            GuardSpec::Psi { cgroup, .. } => Watch::Psi(Psi::open(root, cgroup.clone())),
            GuardSpec::Http {
                url,
                percentile,
                limit,
            } => Watch::Http(Http::open(url, *percentile, *limit, cpus)),
            GuardSpec::Prometheus {
                url, expression, ..
            } => Watch::Prometheus(Prometheus::open(url, expression)),
        };
        Watched { spec, watch }
    }
}

impl Watch {
    fn value(&mut self, cpus: &CpuSet, except: &[Pid]) -> Value {
        match self {
            Watch::Delay(delay) => match delay {
                Ok(delay) => delay.value(cpus.len(), except),
                Err(why) => Err(why.clone()),
            },
            Watch::Psi(psi) => psi.value(),
            Watch::Http(http) => http.value(),
            Watch::Prometheus(prometheus) => prometheus.value(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_compared_exactly() {
        for (spec, value) in [
            ("prometheus http://p:9090 error_ratio<0.01", 0.0499),
            ("http http://a/ p99<40us", 0.0401),
            ("run-delay<0.3%", 0.301),
        ] {
            let limit = spec.parse::<GuardSpec>().unwrap().limit();
            let over = reading(Ok(value), limit);
            assert_eq!(over, Reading::Over { value, limit }, "{spec}");
            let at = reading(Ok(limit), limit);
            assert!(matches!(at, Reading::Fine { .. }), "{spec}: {at:?}");
        }
    }

    #[test]
    fn an_unreadable_value_is_unknown() {
        let why = "no answer yet".to_owned();
        let unknown = Reading::Unknown { why: why.clone() };
        assert_eq!(reading(Err(why), 1.0), unknown);
    }
}
