//! What the sensors of a trial look at.

use crate::conduct::RunError;
use crate::other_processes;
use plimsoll_host::{
    CpuMeter, HostError, Listeners, NodeDoubt, NodeMetrics, Pid, ProcessStat, ReadTimes, Reading,
    Root, Sensors, ServiceSource, Subject, Window, difference, listeners, process_name,
};
use plimsoll_load::http::get_text;
use plimsoll_model::{CpuPlan, CpuSet, Millicores, ServiceUse, shown_url};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

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

impl ServiceTarget {
    /// Where its CPU time is read now; `threads` are its threads in this process.
    fn source(&self, root: &Root, threads: &[u32]) -> Result<ServiceSource, RunError> {
        Ok(match self {
            ServiceTarget::OwnThreads if threads.is_empty() => ServiceSource::None,
            ServiceTarget::OwnThreads => ServiceSource::Threads(threads.to_vec()),
            ServiceTarget::Process(pid) => ServiceSource::Processes(vec![*pid]),
            ServiceTarget::Listening(at) => match listeners(root, *at)? {
                Listeners::Found(pids) => ServiceSource::Processes(pids),
                // It may just be restarting. If it stays away, requests fail.
                _ => ServiceSource::None,
            },
            ServiceTarget::Cgroup(path) => ServiceSource::Cgroup(path.clone()),
            ServiceTarget::Children => ServiceSource::Children,
            ServiceTarget::Unseen(_) | ServiceTarget::Node(_) | ServiceTarget::Elsewhere => {
                ServiceSource::None
            }
        })
    }
}

/// Reads the CPU time of a service often, besides the sensors of a trial.
#[derive(Debug, Clone)]
pub struct ServiceMeter {
    root: Root,
    target: ServiceTarget,
}

impl ServiceMeter {
    pub(crate) fn new(root: &Root, target: &ServiceTarget) -> ServiceMeter {
        ServiceMeter {
            root: root.clone(),
            target: target.clone(),
        }
    }

    /// A meter of the service as it is now; `threads` are its threads in this
    /// process. `None` if it has no CPU time that can be read.
    ///
    /// # Errors
    /// The service is not there.
    pub fn open(&self, threads: &[u32]) -> Result<Option<CpuMeter>, RunError> {
        let source = self.target.source(&self.root, threads)?;
        match CpuMeter::open(&self.root, &source) {
            // Found a moment ago, and already gone: look again who listens.
            Err(HostError::NoProcess { .. }) if self.is_found() => {
                let source = self.target.source(&self.root, threads)?;
                Ok(CpuMeter::open(&self.root, &source)?)
            }
            opened => Ok(opened?),
        }
    }

    /// Whether nobody named its processes.
    fn is_found(&self) -> bool {
        matches!(self.target, ServiceTarget::Listening(_))
    }

    /// The same, but `kept` goes on if it still counts the service. What each new
    /// meter misses of ended threads and children is then missed once.
    ///
    /// # Errors
    /// The service is not there.
    pub fn go_on(
        &self,
        kept: Option<CpuMeter>,
        threads: &[u32],
    ) -> Result<Option<CpuMeter>, RunError> {
        if let Some(mut meter) = kept {
            let source = self.target.source(&self.root, threads)?;
            if meter.counts(&source) {
                return Ok(Some(meter));
            }
        }
        self.open(threads)
    }

    /// When the oldest of its processes started, in clock ticks after the boot; `None` where
    /// none is seen.
    pub fn started(&self) -> Result<Option<u64>, RunError> {
        let ServiceSource::Processes(pids) = self.target.source(&self.root, &[])? else {
            return Ok(None);
        };
        let mut oldest: Option<u64> = None;
        for pid in pids {
            if let Some(stat) = ProcessStat::read(&self.root, pid)? {
                oldest = Some(oldest.map_or(stat.started, |one| one.min(stat.started)));
            }
        }
        Ok(oldest)
    }

    /// A sentence about a process of the service that is stopped, if one is.
    pub fn stopped(&self) -> Result<Option<String>, RunError> {
        let pids = match self.target.source(&self.root, &[])? {
            ServiceSource::Processes(pids) => pids,
            _ => return Ok(None),
        };
        for pid in pids {
            match stopped(&self.root, pid) {
                Ok(None) => {}
                Err(HostError::NoProcess { .. }) if self.is_found() => {}
                why => return Ok(why?),
            }
        }
        Ok(None)
    }

    /// Why its CPU time cannot be read, if that is known beforehand.
    pub fn hidden(&self) -> Option<String> {
        match &self.target {
            ServiceTarget::Unseen(why) => Some(format!(
                "the service's own CPU time is not known: {why}; run as root, or name it with \
                 --service-pid or --service-cgroup"
            )),
            ServiceTarget::Elsewhere | ServiceTarget::Node(_) => Some(
                "the service is on another host, where its CPU time cannot be read; start \
                 plimsoll there"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// A sentence about a process that is stopped: a paused virtual machine, say.
///
/// # Errors
/// There is no such process.
pub fn stopped(root: &Root, pid: Pid) -> Result<Option<String>, HostError> {
    let stat = ProcessStat::read(root, pid)?.ok_or(HostError::NoProcess { pid })?;
    let name = process_name(root, pid).unwrap_or_default();
    Ok(matches!(stat.state, 'T' | 't').then(|| {
        format!(
            "process {pid} ({name}) is paused (state {}), so it serves nothing; continue it with \
             kill -CONT {pid}",
            stat.state
        )
    }))
}

/// Opens the sensors for each trial: its threads are new ones.
#[derive(Debug)]
pub struct TrialSensors {
    root: Root,
    service_cpus: CpuSet,
    generator_cpus: CpuSet,
    quota: Option<Millicores>,
    target: ServiceTarget,
    /// The address at which the service answered.
    peer: Option<SocketAddr>,
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
            peer: None,
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

    /// The same of a service that answered at `peer`.
    pub(crate) fn at(self, peer: SocketAddr) -> TrialSensors {
        TrialSensors {
            peer: Some(peer),
            ..self
        }
    }

    /// Which processes listen where the service answered and are not of it; see [`other_processes::listeners`].
    pub(crate) fn other_listeners(&self) -> Option<String> {
        other_processes::listeners(&self.root, &self.target, self.peer?)
    }

    /// Sensors for a trial whose load runs in these threads of this process.
    pub fn open(&self, generator: &[u32], service: &[u32]) -> Result<OpenSensors, RunError> {
        let source = self.target.source(&self.root, service)?;
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
            mixed: None,
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
    /// Why the readings so far are not of one host.
    mixed: Option<NodeDoubt>,
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
        let asked = Instant::now();
        let text = get_text(url, METRICS_TIMEOUT, MOST_METRICS)?;
        let times = ReadTimes {
            asked,
            answered: Instant::now(),
        };
        let metrics = NodeMetrics::parse(&text).map_err(|error| {
            RunError::Sensor(format!("--node-metrics {}: {error}", shown_url(url)))
        })?;
        Ok(reading.with_node_metrics(metrics, times))
    }

    /// What was used between two readings. All CPU time of another host is its
    /// service's: node_exporter has nothing finer.
    pub fn window(&mut self, earlier: &Reading, later: &Reading) -> Window {
        let window = difference(earlier, later);
        if let Some(doubt) = window.doubt.as_ref().filter(|doubt| doubt.is_lasting()) {
            self.mixed.get_or_insert_with(|| doubt.clone());
        }
        self.completed(window)
    }

    fn completed(&self, mut window: Window) -> Window {
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
    /// counted, while their answers are. So it is if two hosts answered in
    /// turns within it, though one did at both edges.
    pub fn whole(&mut self, earlier: &Reading, later: &Reading) -> Result<Window, RunError> {
        let mut window = self.window(earlier, later);
        if let Some(doubt) = self.mixed.clone() {
            window = self.completed(window.doubted(doubt));
        }
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
