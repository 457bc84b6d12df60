//! Guards: measures of the service's health besides CPU time. Interpreting a
//! reading is pure; reading is at the edge.
//!
//! A guard never blocks the loop: guards that query a server use their own threads.
//! An unreadable guard is unknown, with a reason, and the law closes.

mod http;
mod kernel;
mod prometheus;
mod spec;

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
    /// Cannot be read; the reason.
    Delay(Result<Delay, String>),
    Psi(Psi),
    Http(Http),
    Prometheus(Prometheus),
}

/// Checks the guards before the command runs: URLs that no server could answer,
/// targets that do not exist. A server that does not answer yet is no error.
pub(crate) fn check(root: &Root, specs: &[GuardSpec], cpus: &CpuSet) -> Result<(), SideError> {
    for spec in specs {
        match spec {
            GuardSpec::Http { url, limit, .. } => {
                http::prepare(url, *limit, cpus).map_err(SideError::Guard)?;
            }
            GuardSpec::Prometheus { url, .. } => {
                // The same URL grammar and host lookup as for a load.
                http::prepare(url, prometheus::TIMEOUT, cpus).map_err(SideError::Guard)?;
            }
            GuardSpec::RunDelay { of, .. } => {
                let counts = Delay::open(root, of).map_err(SideError::Target)?.counts();
                counts.map_err(|reason| never(spec, reason))?;
            }
            GuardSpec::Psi { cgroup, .. } => {
                let psi = Psi::open(root, cgroup.clone());
                let counts = psi.counts().map_err(SideError::Target)?;
                counts.map_err(|reason| never(spec, reason))?;
            }
        }
    }
    Ok(())
}

/// The error for a guard that would freeze the command for ever.
fn never(spec: &GuardSpec, reason: &str) -> SideError {
    SideError::NotHere {
        what: format!("the guard {}", spec.name()),
        reason: reason.to_owned(),
        way_out: "choose another --guard",
    }
}

impl fmt::Debug for Guards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.all.iter().map(|watched| &watched.spec))
            .finish()
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
        let mut all: Vec<Watched> = Vec::new();
        let mut left_out = None;
        for spec in specs {
            all.push(Watched::open(root, spec.clone(), cpus));
        }
        if specs.is_empty() {
            let mut usual = Watched::open(root, GuardSpec::default(), cpus);
            match usual.watch.value(cpus, except) {
                Err(why) if !kernel::is_first(&why) => left_out = Some(why),
                _ => all.push(usual),
            }
        } else {
            for watched in &mut all {
                // Take the first reading of counters now.
                if let Watch::Delay(_) | Watch::Psi(_) = watched.watch {
                    let _ = watched.watch.value(cpus, except);
                }
            }
        }
        (Guards { all }, left_out)
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
        let of_others =
            |w: &Watched| matches!(&w.spec, GuardSpec::RunDelay { of, .. } if *of == Whose::Others);
        self.all.iter().any(of_others)
    }
}

/// Rounded to one decimal, the precision of display and log.
fn reading(value: Value, limit: f64) -> Reading {
    match value {
        Ok(value) => Reading::of((value * 10.0).round() / 10.0, limit),
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
