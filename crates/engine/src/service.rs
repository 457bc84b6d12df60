//! Where a server runs, its processes, and the CPUs of it and of the generator.

use crate::conduct::RunError;
use crate::other_processes::{self, processes};
use crate::sensors::{ServiceMeter, ServiceTarget, TrialSensors};
use crate::silence::probe;
use plimsoll_host::{
    Cgroups, HostError, Listeners, Pid, Root, cores_of, cpu_quota, ignores_children, listeners,
    online_cpus, own_allowed_cpus, process_name, service_cpus,
};
use plimsoll_load::external::connect;
use plimsoll_load::http::{HttpLoad, Probe};
use plimsoll_model::{
    CpuCapacity, CpuPlan, CpuSet, HttpService, LoadCommand, LoadFormat, Millicores, Outcome,
    Requirement, ServiceAt, shown_url,
};
use std::net::SocketAddr;
use std::time::Duration;

/// A server that has answered one request.
#[derive(Debug)]
pub struct FoundService {
    url: String,
    peer: SocketAddr,
    /// `None` where it is not asked by HTTP.
    probe: Option<Probe>,
    /// The external generator that loads it.
    loaded_by: Option<LoadFormat>,
    target: ServiceTarget,
    /// Its processes on this host, as far as known.
    pids: Vec<Pid>,
    /// Where it may run, if it is on this host.
    may_run_on: Option<CpuSet>,
    allowed: CpuSet,
}

/// Asks the server once, and looks for its processes.
///
/// # Errors
/// The server does not answer as a server does.
pub(crate) fn find(root: &Root, http: &HttpService) -> Result<FoundService, RunError> {
    let allowed = own_allowed_cpus(root)?;
    let load = HttpLoad::new(http, allowed.clone())?;
    let probe = probe(root, &load, &http.service)?;
    let found = at(root, &http.url, &http.service, probe.peer)?;
    Ok(FoundService {
        probe: Some(probe),
        ..found
    })
}

/// Connects once to a service that an external generator loads, and looks for its processes.
///
/// # Errors
/// Nothing takes connections there, or it is not where it should be.
pub(crate) fn find_for(root: &Root, load: &LoadCommand) -> Result<FoundService, RunError> {
    let found = at(root, &load.url, &load.service, connect(&load.url)?)?;
    Ok(FoundService {
        loaded_by: Some(load.format),
        ..found
    })
}

/// Looks for the processes of a service that has taken a connection at `peer`.
///
/// # Errors
/// It is not where it should be.
fn at(
    root: &Root,
    url: &str,
    service: &ServiceAt,
    peer: SocketAddr,
) -> Result<FoundService, RunError> {
    let allowed = own_allowed_cpus(root)?;
    let (target, pids) = match service {
        ServiceAt::Pid(pid) => (ServiceTarget::Process(*pid), vec![*pid]),
        ServiceAt::Cgroup(path) => {
            let cgroups = Cgroups::find(root)?;
            // A missing group is found before a record is made.
            cgroups.cpu_time(root, path)?;
            let pids = cgroups.processes(root, path)?;
            if pids.contains(&std::process::id()) {
                return Err(RunError::Usage(format!(
                    "cgroup {path} has Plimsoll itself in it, whose CPU time would count as the service's: \
                     name the service's own cgroup, or its process with --service-pid"
                )));
            }
            (ServiceTarget::Cgroup(path.clone()), pids)
        }
        ServiceAt::NodeMetrics(url) => (ServiceTarget::Node(url.clone()), vec![]),
        ServiceAt::Find => listening(root, peer)?,
    };
    let may_run_on = match &target {
        ServiceTarget::Node(_) | ServiceTarget::Elsewhere => None,
        _ if pids.is_empty() => Some(allowed.clone()),
        _ => Some(service_cpus(root, &pids)?),
    };
    Ok(FoundService {
        url: shown_url(url),
        peer,
        probe: None,
        loaded_by: None,
        target,
        pids,
        may_run_on,
        allowed,
    })
}

/// The service that listens where the server answered, and its processes.
fn listening(root: &Root, peer: SocketAddr) -> Result<(ServiceTarget, Vec<Pid>), RunError> {
    let target = match listeners(root, peer)? {
        Listeners::Found(pids) => return Ok((ServiceTarget::Listening(peer), pids)),
        Listeners::OtherHost => ServiceTarget::Elsewhere,
        Listeners::Hidden { unreadable } => ServiceTarget::Unseen(format!(
            "{unreadable} processes of other users cannot be looked into"
        )),
        Listeners::HolderInvisible | Listeners::NotListening => {
            ServiceTarget::Unseen("it runs in a container or forwards to one".to_owned())
        }
    };
    Ok((target, vec![]))
}

impl FoundService {
    /// Whether it runs on this machine.
    pub fn is_here(&self) -> bool {
        self.may_run_on.is_some()
    }

    /// The length of its first answer's body.
    pub(crate) fn first_answer_bytes(&self) -> Option<u64> {
        self.probe.as_ref().map(|probe| probe.body.0)
    }

    /// How long it took for the request.
    pub fn first_answer(&self) -> Option<Duration> {
        self.probe.as_ref().map(|probe| probe.took)
    }

    /// The CPUs of the service and of the generator: as asked, or else each
    /// has its own as far as there are any.
    pub fn cpus(
        &self,
        root: &Root,
        service: Option<&CpuSet>,
        generator: Option<&CpuSet>,
    ) -> CpuPlan {
        let service = service.or(self.may_run_on.as_ref());
        let generator = generator.cloned();
        let generator = generator.unwrap_or_else(|| generator_cpus(&self.allowed, service));
        // Numbers of another host's CPUs say nothing about this one's cores.
        let here = service.filter(|_| self.is_here());
        let known = here.filter(|_| !matches!(self.target, ServiceTarget::Unseen(_)));
        CpuPlan {
            cores: here.map_or_else(Vec::new, |cpus| cores_of(root, cpus)),
            capacity: known.and_then(|cpus| capacity(root, self.quota(root), cpus)),
            service: service.cloned().unwrap_or_default(),
            generator,
        }
    }

    /// In CPUs; `None` means no limit.
    fn quota(&self, root: &Root) -> Result<Option<f64>, HostError> {
        match &self.target {
            ServiceTarget::Cgroup(path) => Cgroups::find(root)?.cpu_quota(root, path),
            _ => cpu_quota(root, &self.pids),
        }
    }

    /// What the sensors of its trials look at.
    pub fn sensors(&self, root: &Root, cpus: &CpuPlan) -> TrialSensors {
        TrialSensors::new(root.clone(), cpus.service.clone(), self.target.clone())
            .with_plan(cpus)
            .at(self.peer)
    }

    pub(crate) fn shares_processes(&self, other: &FoundService) -> bool {
        self.pids.iter().any(|pid| other.pids.contains(pid))
    }

    pub(crate) fn meter(&self, root: &Root) -> ServiceMeter {
        ServiceMeter::new(root, &self.target)
    }

    /// What was found of it, and what is missed. `since`: how long ago the window of the trial
    /// that just ended began; zero without one.
    pub fn requirements(&self, root: &Root, cpus: &CpuPlan, since: Duration) -> Vec<Requirement> {
        let requirements = [
            (
                match self.probe {
                    Some(_) => "a server that answers and keeps connections",
                    None => "a service that takes connections",
                },
                self.answers(),
            ),
            (Requirement::SERVICE, self.cpu_time(root)),
            (
                "CPUs of its own for the load generator",
                own_cpus(&self.target, cpus),
            ),
        ];
        let requirement = |(name, outcome): (&str, Outcome)| Requirement {
            name: name.to_owned(),
            outcome,
        };
        let lost = self.lost_children(root);
        let lost = lost.map(|outcome| ("CPU time of children that have ended", outcome));
        let listens = other_processes::listeners(root, &self.target, self.peer).map(|lost| {
            const REMEDY: &str = "name a process or a cgroup that has all that answer, unless what listens is a proxy";
            (Requirement::LISTENERS, missed(lost, REMEDY))
        });
        let clients = self.other_clients(root, since).map(|lost| {
            const REMEDY: &str =
                "end them, or take CPU use and CPU time per request for those of all clients";
            (Requirement::NO_OTHER_CLIENTS, missed(lost, REMEDY))
        });
        let slip = self.loaded_by.map(|by| ("slip", unknown_slip(by)));
        requirements
            .into_iter()
            .chain(lost)
            .chain(listens)
            .chain(clients)
            .chain(slip)
            .map(requirement)
            .collect()
    }

    fn other_clients(&self, root: &Root, since: Duration) -> Option<String> {
        if !self.is_here() {
            return None;
        }
        let connected = other_processes::clients(root, &self.target, self.peer);
        // Those of a load command have ended with it.
        match self.loaded_by {
            Some(_) => connected,
            None => connected.or_else(|| {
                other_processes::departed_clients(root, &self.target, self.peer, since)
            }),
        }
    }

    /// A process of it that does not wait for its children: the parents' counters
    /// do not have them.
    fn lost_children(&self, root: &Root) -> Option<Outcome> {
        match self.target {
            ServiceTarget::Process(_) | ServiceTarget::Listening(_) => {
                lost_children(root, &self.pids)
            }
            _ => None,
        }
    }

    fn answers(&self) -> Outcome {
        let (url, peer) = (&self.url, self.peer);
        let Some(probe) = &self.probe else {
            return met(format!("{url} at {peer}"));
        };
        let Probe { status, body, .. } = probe;
        match probe.keeps_alive {
            true => met(format!("{url} at {peer}: status {status}, {body}")),
            false => missed(
                format!("{url} at {peer} closes each connection: every request pays for a new one"),
                "switch keep-alive on in the server, unless this is what you want to measure",
            ),
        }
    }

    fn cpu_time(&self, root: &Root) -> Outcome {
        match &self.target {
            ServiceTarget::Cgroup(path) => met(format!("cgroup {path}")),
            ServiceTarget::Node(url) => met(format!("all of the host, by {}", shown_url(url))),
            ServiceTarget::Unseen(why) => missed(
                format!("the service's own CPU time is not known: {why}"),
                "run as root, or name it with --service-pid or --service-cgroup",
            ),
            ServiceTarget::Elsewhere => missed(
                "the service is on another host: its CPU use is not known".to_owned(),
                "run plimsoll there; a sweep can also name its node_exporter with --node-metrics",
            ),
            _ => met(processes(root, &self.pids)),
        }
    }
}

/// What a service can use at once on these CPUs. A host without cgroups has no
/// quotas; a limit that cannot be read is taken for none.
pub(crate) fn capacity(
    root: &Root,
    quota: Result<Option<f64>, HostError>,
    may_run_on: &CpuSet,
) -> Option<CpuCapacity> {
    let quota = quota.ok().flatten().and_then(Millicores::nearest);
    CpuCapacity::least(quota, may_run_on, &online_cpus(root).ok()?)
}

fn met(found: String) -> Outcome {
    Outcome::Met { found }
}

fn missed(lost: String, remedy: &str) -> Outcome {
    Outcome::Missed {
        lost,
        remedy: remedy.to_owned(),
    }
}

/// What is lost because an external generator offers the load.
fn unknown_slip(by: LoadFormat) -> Outcome {
    let from = match by {
        LoadFormat::K6 | LoadFormat::Fortio => {
            "and measures latency from there: a service that stands still at times looks faster than \
             it is (coordinated omission)"
        }
        LoadFormat::Wrk2 | LoadFormat::Pgbench => {
            "and latency, which is measured from when they were due, has its own delay in it"
        }
        LoadFormat::Json => "and latency is what it calls so",
    };
    let who = match by {
        LoadFormat::Json => "the load command".to_owned(),
        _ => by.to_string(),
    };
    missed(
        format!("{who} does not say how late it sends requests, {from}"),
        "look at the generator's CPU use, and see docs/load-commands.md",
    )
}

fn lost_children(root: &Root, pids: &[Pid]) -> Option<Outcome> {
    // What cannot be looked into is no reason for a doubt.
    let pid = ignores_children(root, pids).ok().flatten()?;
    let name = process_name(root, pid).unwrap_or_default();
    Some(missed(
        format!(
            "process {pid} ({name}) does not wait for its children (SIGCHLD is ignored): if it starts any, \
             CPU time that they use shortly before they end is missing, and all CPU figures of the service \
             are too low"
        ),
        "name the service with --service-cgroup",
    ))
}

fn own_cpus(target: &ServiceTarget, cpus: &CpuPlan) -> Outcome {
    let shared = cpus.generator.and(&cpus.service);
    if shared.is_empty() || matches!(target, ServiceTarget::Node(_)) {
        return met(format!("generator on CPU {}", cpus.generator));
    }
    missed(
        format!(
            "the service may run on CPU {shared}, where the generator is: at high load they disturb each other, and trials become invalid"
        ),
        "pin the service to other CPUs (taskset -c), or move the generator with --cpus",
    )
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
    fn children_that_nobody_waits_for_are_said_to_be_missing() {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("proc/7");
        std::fs::create_dir_all(&folder).unwrap();
        let stat = format!("7 (forker) S 1 {}0 0 0 20 0 1 0 7 0 0\n", "0 ".repeat(10));
        std::fs::write(folder.join("stat"), stat).unwrap();
        let said = |mask: &str| {
            std::fs::write(folder.join("status"), format!("SigIgn:\t{mask}\n")).unwrap();
            lost_children(&Root::at(tree.path()), &[7])
        };
        assert_eq!(said("0000000000001000"), None);
        let lost = said("0000000000010000");
        assert!(
            matches!(&lost, Some(Outcome::Missed { lost, .. }) if lost.contains("process 7 ")),
            "{lost:?}"
        );
    }

    #[test]
    fn shared_cpus_are_missed_with_a_way_out() {
        let shared = CpuPlan {
            service: set("0-1"),
            generator: set("1"),
            ..CpuPlan::default()
        };
        let missed = own_cpus(&ServiceTarget::Process(1), &shared);
        assert!(matches!(missed, Outcome::Missed { remedy, .. } if remedy.contains("taskset")));
    }
}
