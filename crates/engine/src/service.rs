//! Where a server is, who it is, and which CPUs it and the generator have.

use crate::conduct::RunError;
use crate::sensors::{ServiceTarget, TrialSensors};
use plimsoll_host::{
    Listeners, Pid, Root, cores_of, listeners, own_allowed_cpus, process_name, service_cpus,
};
use plimsoll_load::http::{HttpLoad, Probe};
use plimsoll_model::{CpuPlan, CpuSet, HttpService, Outcome, Requirement, ServiceAt};

/// A server that has answered one request.
#[derive(Debug)]
pub struct FoundService {
    url: String,
    probe: Probe,
    who: Who,
    /// Where it may run, if it is on this host.
    may_run_on: Option<CpuSet>,
    allowed: CpuSet,
}

/// The identity of the server, as far as known.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Who {
    /// A process on this host, as it was named.
    Process(Pid),
    /// Processes on this host that listen where the server answered.
    Listening(Vec<Pid>),
    /// A cgroup on this host.
    Cgroup(String),
    /// A host with a node_exporter.
    Node(String),
    /// On this host, but for the reason given it cannot be seen.
    Unseen(String),
    /// On another host.
    Elsewhere,
}

/// Asks the server once, and looks for who it is.
///
/// # Errors
/// The server does not answer as a server does.
pub(crate) fn find(root: &Root, http: &HttpService) -> Result<FoundService, RunError> {
    let allowed = own_allowed_cpus(root)?;
    let probe = HttpLoad::new(http, allowed.clone())?.probe()?;
    let who = match &http.service {
        ServiceAt::Pid(pid) => Who::Process(*pid),
        ServiceAt::Cgroup(path) => Who::Cgroup(path.clone()),
        ServiceAt::NodeMetrics(url) => Who::Node(url.clone()),
        ServiceAt::Find => who_listens(root, &probe)?,
    };
    let may_run_on = match &who {
        Who::Process(pid) => Some(service_cpus(root, &[*pid])?),
        Who::Listening(pids) => Some(service_cpus(root, pids)?),
        Who::Cgroup(_) | Who::Unseen(_) => Some(allowed.clone()),
        Who::Node(_) | Who::Elsewhere => None,
    };
    Ok(FoundService {
        url: http.url.clone(),
        probe,
        who,
        may_run_on,
        allowed,
    })
}

fn who_listens(root: &Root, probe: &Probe) -> Result<Who, RunError> {
    Ok(match listeners(root, probe.peer)? {
        Listeners::Found(pids) => Who::Listening(pids),
        Listeners::OtherHost => Who::Elsewhere,
        Listeners::Hidden { unreadable } => Who::Unseen(format!(
            "{unreadable} processes of other users cannot be looked into"
        )),
        Listeners::HolderInvisible | Listeners::NotListening => {
            Who::Unseen("it runs in a container or forwards to one".to_owned())
        }
    })
}

impl FoundService {
    /// Whether it runs on this machine.
    pub fn is_here(&self) -> bool {
        self.may_run_on.is_some()
    }

    /// The CPUs of the service and of the generator: as asked, or else each
    /// has its own as far as there are any.
    pub fn cpus(
        &self,
        root: &Root,
        service: Option<&CpuSet>,
        generator: Option<&CpuSet>,
    ) -> CpuPlan {
        let service = service.or(self.may_run_on.as_ref()).cloned();
        let generator = generator
            .cloned()
            .unwrap_or_else(|| generator_cpus(&self.allowed, service.as_ref()));
        // Numbers of another host's CPUs say nothing about this one's cores.
        let here = service.as_ref().filter(|_| self.may_run_on.is_some());
        CpuPlan {
            cores: here.map_or_else(Vec::new, |cpus| cores_of(root, cpus)),
            service: service.unwrap_or_default(),
            generator,
        }
    }

    /// What the sensors of its trials look at.
    pub fn sensors(&self, root: &Root, cpus: &CpuPlan) -> TrialSensors {
        let target = match &self.who {
            Who::Process(pid) => ServiceTarget::Process(*pid),
            Who::Listening(_) => ServiceTarget::Listening(self.probe.peer),
            Who::Cgroup(path) => ServiceTarget::Cgroup(path.clone()),
            Who::Node(url) => ServiceTarget::Node(url.clone()),
            Who::Unseen(_) => ServiceTarget::Unseen,
            Who::Elsewhere => ServiceTarget::Elsewhere,
        };
        TrialSensors::new(root.clone(), cpus.service.clone(), target)
    }

    /// What was found of it, and what is missed.
    pub fn requirements(&self, root: &Root, cpus: &CpuPlan) -> Vec<Requirement> {
        vec![
            self.answers(),
            self.cpu_time(root),
            own_cpus(&self.who, cpus),
        ]
    }

    fn answers(&self) -> Requirement {
        let Probe {
            peer,
            status,
            body,
            keeps_alive,
        } = &self.probe;
        let outcome = if *keeps_alive {
            Outcome::Met {
                found: format!("{} at {peer}: status {status}, {body}", self.url),
            }
        } else {
            Outcome::Missed {
                lost: format!(
                    "{} at {peer} closes each connection: every request pays for a new one",
                    self.url
                ),
                remedy:
                    "switch keep-alive on in the server, unless this is what you want to measure"
                        .to_owned(),
            }
        };
        Requirement {
            name: "a server that answers and keeps connections".to_owned(),
            outcome,
        }
    }

    fn cpu_time(&self, root: &Root) -> Requirement {
        let outcome = match &self.who {
            Who::Process(pid) => Outcome::Met {
                found: processes(root, &[*pid]),
            },
            Who::Listening(pids) => Outcome::Met {
                found: processes(root, pids),
            },
            Who::Cgroup(path) => Outcome::Met {
                found: format!("cgroup {path}"),
            },
            Who::Node(url) => Outcome::Met {
                found: format!("all of the host, by {url}"),
            },
            Who::Unseen(why) => Outcome::Missed {
                lost: format!("the service's own CPU time is not known: {why}"),
                remedy: "run as root, or name it with --service-pid or --service-cgroup".to_owned(),
            },
            Who::Elsewhere => Outcome::Missed {
                lost: "the service is on another host: its CPU use is not known".to_owned(),
                remedy: "name its node_exporter with --node-metrics".to_owned(),
            },
        };
        Requirement {
            name: Requirement::SERVICE.to_owned(),
            outcome,
        }
    }
}

fn processes(root: &Root, pids: &[u32]) -> String {
    let names: Vec<String> = pids
        .iter()
        .map(|pid| match process_name(root, *pid) {
            Some(name) => format!("{name} ({pid})"),
            None => pid.to_string(),
        })
        .collect();
    names.join(", ")
}

fn own_cpus(who: &Who, cpus: &CpuPlan) -> Requirement {
    let shared = cpus.generator.and(&cpus.service);
    let outcome = if shared.is_empty() || matches!(who, Who::Node(_)) {
        Outcome::Met {
            found: format!("generator on CPU {}", cpus.generator),
        }
    } else {
        Outcome::Missed {
            lost: format!(
                "the service may run on CPU {shared}, where the generator is: at high load they disturb each other, and trials become invalid"
            ),
            remedy: "pin the service to other CPUs (taskset -c), or move the generator with --cpus"
                .to_owned(),
        }
    };
    Requirement {
        name: "CPUs of its own for the load generator".to_owned(),
        outcome,
    }
}

/// The CPUs that the service leaves; if it leaves none, the upper half.
fn generator_cpus(allowed: &CpuSet, service: Option<&CpuSet>) -> CpuSet {
    let Some(service) = service else {
        return allowed.clone();
    };
    let free = allowed.without(service);
    if free.is_empty() {
        allowed.iter().skip(allowed.len() / 2).collect()
    } else {
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    #[test]
    fn the_generator_takes_what_the_service_leaves() {
        assert_eq!(generator_cpus(&set("0-3"), Some(&set("0-1"))), set("2-3"));
        assert_eq!(generator_cpus(&set("0-3"), Some(&set("0-3"))), set("2-3"));
        assert_eq!(generator_cpus(&set("0"), Some(&set("0"))), set("0"));
        assert_eq!(generator_cpus(&set("0-2"), Some(&set("0-2"))), set("1-2"));
        assert_eq!(generator_cpus(&set("0-3"), None), set("0-3"));
    }

    #[test]
    fn shared_cpus_are_missed_with_a_way_out() {
        let shared = CpuPlan {
            service: set("0-1"),
            generator: set("1"),
            cores: Vec::new(),
        };
        let missed = own_cpus(&Who::Process(1), &shared);
        assert!(
            matches!(missed.outcome, Outcome::Missed { remedy, .. } if remedy.contains("taskset"))
        );
    }
}
