//! What the sensors of a trial look at.

use crate::conduct::RunError;
use plimsoll_host::{
    NodeMetrics, Reading, Root, Sensors, ServiceSource, Subject, Window, difference,
};
use plimsoll_load::http::get_text;
use plimsoll_model::{CpuSet, ServiceUse};
use std::time::Duration;

/// How long a node_exporter may take: it is read within a trial.
const METRICS_TIMEOUT: Duration = Duration::from_millis(500);

/// Where the service under test can be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sight {
    /// Threads of this process, which each load names.
    OwnThreads,
    /// Processes on this host, with all that they start.
    Processes(Vec<u32>),
    /// The processes that this one starts.
    Children,
    /// A cgroup on this host.
    Cgroup(String),
    /// On this host, but it cannot be told from the rest.
    Unseen,
    /// On another host, through its node_exporter.
    Node(String),
    /// On another host, and not at all.
    Elsewhere,
}

/// Opens the sensors for each trial: its threads are new ones.
#[derive(Debug)]
pub(super) struct Eyes {
    root: Root,
    service_cpus: CpuSet,
    sight: Sight,
}

impl Eyes {
    pub(super) fn new(root: Root, service_cpus: CpuSet, sight: Sight) -> Eyes {
        Eyes {
            root,
            service_cpus,
            sight,
        }
    }

    /// Sensors for a trial whose load runs in these threads of this process.
    pub(super) fn open(&self, generator: &[u32], service: &[u32]) -> Result<OpenEyes, RunError> {
        let here = |service| Subject::Here {
            cpus: self.service_cpus.clone(),
            service,
        };
        let subject = match &self.sight {
            Sight::OwnThreads if service.is_empty() => here(ServiceSource::None),
            Sight::OwnThreads => here(ServiceSource::Threads(service.to_vec())),
            Sight::Processes(pids) => here(ServiceSource::Processes(pids.clone())),
            Sight::Cgroup(path) => here(ServiceSource::Cgroup(path.clone())),
            Sight::Children => here(ServiceSource::Children),
            Sight::Unseen => here(ServiceSource::None),
            Sight::Node(_) | Sight::Elsewhere => Subject::Elsewhere,
        };
        let node = match &self.sight {
            Sight::Node(url) => Some(url.clone()),
            _ => None,
        };
        Ok(OpenEyes {
            sensors: Sensors::new(&self.root, subject, generator)?,
            node,
        })
    }
}

/// The sensors of one trial.
#[derive(Debug)]
pub(super) struct OpenEyes {
    sensors: Sensors,
    node: Option<String>,
}

impl OpenEyes {
    /// Everything, now.
    pub(super) fn read(&mut self) -> Result<Reading, RunError> {
        let reading = self.sensors.read();
        let Some(url) = &self.node else {
            return Ok(reading);
        };
        let text = get_text(url, METRICS_TIMEOUT)?;
        let metrics = NodeMetrics::parse(&text)
            .map_err(|error| RunError::Sensor(format!("--node-metrics {url}: {error}")))?;
        Ok(reading.with_elsewhere(metrics))
    }

    /// What was used between two readings. All that another host does counts
    /// as its service's: nothing finer is told.
    pub(super) fn window(&self, earlier: &Reading, later: &Reading) -> Window {
        let mut window = difference(earlier, later);
        if self.node.is_some() {
            window.service = window.machine.cpu.map(|cpu| ServiceUse {
                cpu: cpu.busy(),
                run_delay: None,
                context_switches: None,
            });
        }
        window
    }
}
