//! What the sensors of a trial look at.

use crate::conduct::RunError;
use plimsoll_host::{
    HostError, Listeners, NodeMetrics, Pid, Reading, Root, Sensors, ServiceSource, Subject, Window,
    difference, listeners,
};
use plimsoll_load::http::get_text;
use plimsoll_model::{CpuPlan, CpuSet, Millicores, ServiceUse, shown_url};
use std::net::SocketAddr;
use std::time::Duration;

/// How long a node_exporter may take: it is read within a trial.
const METRICS_TIMEOUT: Duration = Duration::from_millis(500);
/// Bytes: far more than any machine's metrics.
const MOST_METRICS: usize = 16 << 20;

/// Where the service under test can be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceTarget {
    /// Threads of this process, which each load names.
    OwnThreads,
    /// A process on this host, with all that it starts.
    Process(Pid),
    /// The processes that listen at this address of this host, with all that
    /// they start. Found anew for each trial, because a service may restart.
    Listening(SocketAddr),
    /// The processes that this one starts.
    Children,
    /// A cgroup on this host.
    Cgroup(String),
    /// On this host, but its processes are unknown, for this reason.
    Unseen(String),
    /// On another host, through its node_exporter.
    Node(String),
    /// On another host, and not at all.
    Elsewhere,
}

/// Opens the sensors for each trial: its threads are new ones.
#[derive(Debug)]
pub struct TrialSensors {
    root: Root,
    service_cpus: CpuSet,
    generator_cpus: CpuSet,
    quota: Option<Millicores>,
    target: ServiceTarget,
}

impl TrialSensors {
    /// Sensors of a service at `target` that runs on `service_cpus`.
    pub fn new(root: Root, service_cpus: CpuSet, target: ServiceTarget) -> TrialSensors {
        TrialSensors {
            root,
            service_cpus,
            generator_cpus: CpuSet::default(),
            quota: None,
            target,
        }
    }

    /// With the generator's CPUs on this machine and the service's quota.
    #[must_use]
    pub fn with_plan(self, cpus: &CpuPlan) -> TrialSensors {
        TrialSensors {
            generator_cpus: cpus.generator.clone(),
            quota: cpus.quota(),
            ..self
        }
    }

    /// Sensors for a trial whose load runs in these threads of this process.
    pub fn open(&self, generator: &[u32], service: &[u32]) -> Result<OpenSensors, RunError> {
        let source = match &self.target {
            ServiceTarget::OwnThreads if service.is_empty() => ServiceSource::None,
            ServiceTarget::OwnThreads => ServiceSource::Threads(service.to_vec()),
            ServiceTarget::Process(pid) => ServiceSource::Processes(vec![*pid]),
            ServiceTarget::Listening(at) => match listeners(&self.root, *at)? {
                Listeners::Found(pids) => ServiceSource::Processes(pids),
                // It may just be restarting. If it stays away, requests fail.
                _ => ServiceSource::None,
            },
            ServiceTarget::Cgroup(path) => ServiceSource::Cgroup(path.clone()),
            ServiceTarget::Children => ServiceSource::Children,
            ServiceTarget::Unseen(_) | ServiceTarget::Node(_) | ServiceTarget::Elsewhere => {
                ServiceSource::None
            }
        };
        let sensors = match self.sensors(source, generator) {
            // Found a moment ago, and already gone.
            Err(HostError::NoProcess { .. })
                if matches!(self.target, ServiceTarget::Listening(_)) =>
            {
                self.sensors(ServiceSource::None, generator)?
            }
            sensors => sensors?,
        };
        Ok(OpenSensors {
            root: self.root.clone(),
            sensors,
            quota: self.quota,
            target: self.target.clone(),
        })
    }

    fn sensors(&self, service: ServiceSource, generator: &[u32]) -> Result<Sensors, HostError> {
        let subject = match self.target {
            ServiceTarget::Node(_) | ServiceTarget::Elsewhere => Subject::Elsewhere,
            _ => Subject::Here {
                cpus: self.service_cpus.clone(),
                generator: self.generator_cpus.clone(),
                service,
            },
        };
        Sensors::new(&self.root, subject, generator)
    }
}

/// The sensors of one trial.
#[derive(Debug)]
pub struct OpenSensors {
    root: Root,
    sensors: Sensors,
    quota: Option<Millicores>,
    target: ServiceTarget,
}

impl OpenSensors {
    /// Everything that is looked at once a second, now.
    pub fn read(&mut self) -> Result<Reading, RunError> {
        let reading = self.sensors.read();
        self.with_elsewhere(reading)
    }

    /// Everything at an edge of a window, now.
    pub fn read_edge(&mut self) -> Result<Reading, RunError> {
        let reading = self.sensors.read_edge();
        self.with_elsewhere(reading)
    }

    fn with_elsewhere(&self, reading: Reading) -> Result<Reading, RunError> {
        let ServiceTarget::Node(url) = &self.target else {
            return Ok(reading);
        };
        let text = get_text(url, METRICS_TIMEOUT, MOST_METRICS)?;
        let metrics = NodeMetrics::parse(&text).map_err(|error| {
            RunError::Sensor(format!("--node-metrics {}: {error}", shown_url(url)))
        })?;
        Ok(reading.with_node_metrics(metrics))
    }

    /// What was used between two readings. All CPU time of another host is its
    /// service's: node_exporter has nothing finer.
    pub fn window(&self, earlier: &Reading, later: &Reading) -> Window {
        let mut window = difference(earlier, later);
        window.machine.service_quota = self.quota;
        if matches!(self.target, ServiceTarget::Node(_)) {
            window.service = window.machine.cpu.map(|cpu| ServiceUse {
                cpu: cpu.busy(),
                run_delay: None,
                context_switches: None,
            });
        }
        window
    }

    /// The same for the whole window of a trial. If the service's processes
    /// changed in it, its CPU time is unknown: that of new processes is not
    /// counted, while their answers are.
    pub fn whole(&mut self, earlier: &Reading, later: &Reading) -> Result<Window, RunError> {
        let mut window = self.window(earlier, later);
        if let ServiceTarget::Listening(at) = self.target {
            let same = match listeners(&self.root, at)? {
                Listeners::Found(pids) => self.sensors.includes_all(&pids)?,
                _ => false,
            };
            window.service = window.service.filter(|_| same);
        }
        Ok(window)
    }
}

#[cfg(test)]
mod tests;
