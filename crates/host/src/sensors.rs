//! All counters of a trial: read at the window's edges and once a second
//! between (the clock counters only at the edges).

use crate::cgroup::Cgroups;
use crate::clock::ClockMeter;
use crate::energy::EnergyMeter;
use crate::error::HostError;
use crate::frequency::frequency_hz;
use crate::pressure::pressure;
use crate::process::{Pid, Tid};
use crate::reading::Reading;
use crate::root::Root;
use crate::stat::CpuTimes;
use crate::task::{self, Source, TaskFiles};
use crate::tracking::{OwnProcess, ServiceProcesses, ThreadRoles};
use plimsoll_model::CpuSet;
use std::time::Instant;

/// The location of the service under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Here {
        /// The CPUs that it may run on.
        cpus: CpuSet,
        /// The CPUs that the load generator is pinned to; empty for none.
        generator: CpuSet,
        service: ServiceSource,
    },
    /// On another host: this machine's counters do not describe it;
    /// [`Reading::with_node_metrics`] adds those that do.
    Elsewhere,
}

/// Where the CPU time of a service on this machine is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceSource {
    None,
    /// Threads of this process.
    Threads(Vec<Tid>),
    /// Processes and their descendants.
    Processes(Vec<Pid>),
    /// All descendants of this process. Those that have ended and were waited
    /// for count in full.
    Children,
    /// A cgroup, by its path below the cgroup mount. Provides CPU time only.
    Cgroup(String),
}

/// Reads all counters. With a thousand threads, one reading per second costs
/// well below 1 % of a CPU.
///
/// CPU times of tasks, and energy, are accumulated over readings, so that
/// threads that end and counters that wrap round between the edges of a window
/// are counted.
#[derive(Debug)]
pub struct Sensors {
    files: TaskFiles,
    service_cpus: Option<CpuSet>,
    generator_cpus: CpuSet,
    service: Service,
    own: Option<OwnProcess>,
    energy: Option<EnergyMeter>,
    clock: Option<ClockMeter>,
    has_generator: bool,
    unsupported: Unsupported,
}

#[derive(Debug)]
enum Service {
    Unknown,
    OwnThreads,
    Processes(ServiceProcesses),
    Cgroup(Cgroups, String),
}

impl Sensors {
    /// Opens the counters. `generator` names the threads of this process that
    /// generate load; all its threads that neither generate nor serve count as
    /// the observer, including threads that start later. Create new sensors
    /// when the load generator is restarted.
    ///
    /// # Errors
    /// If the service or a named thread does not exist. A counter that this
    /// machine does not provide is no error: its readings are `None`.
    pub fn new(root: &Root, subject: Subject, generator: &[Tid]) -> Result<Sensors, HostError> {
        let mut files = TaskFiles {
            root: root.clone(),
            source: Source::of(root),
            allowance: files_to_keep(root),
        };
        let mut roles = ThreadRoles {
            generator: generator.iter().copied().collect(),
            ..ThreadRoles::default()
        };
        let (service_cpus, generator_cpus, service) = match subject {
            Subject::Elsewhere => (None, CpuSet::default(), ServiceSource::None),
            Subject::Here {
                cpus,
                generator,
                service,
            } => (Some(cpus), generator, service),
        };
        let service = match service {
            ServiceSource::None => Service::Unknown,
            ServiceSource::Threads(tids) => {
                roles.service = tids.into_iter().collect();
                Service::OwnThreads
            }
            ServiceSource::Processes(pids) => {
                Service::Processes(ServiceProcesses::open(&mut files, &pids)?)
            }
            ServiceSource::Children => Service::Processes(ServiceProcesses::children(&mut files)?),
            ServiceSource::Cgroup(name) => {
                let cgroups = Cgroups::find(root)?;
                // Fails early if the group does not exist.
                cgroups.cpu_time(root, &name)?;
                Service::Cgroup(cgroups, name)
            }
        };
        let has_generator = !roles.generator.is_empty();
        let own = match OwnProcess::open(&mut files, roles) {
            Err(error @ HostError::NoThread { .. }) => return Err(error),
            opened => opened.ok(),
        };
        let here = service_cpus.as_ref();
        let energy = here.and_then(|_| EnergyMeter::open(root).ok()?);
        let clock =
            here.and_then(|cpus| ClockMeter::open(root, cpus, &mut files.allowance).ok()?);
        Ok(Sensors {
            files,
            service_cpus,
            generator_cpus,
            service,
            own,
            energy,
            clock,
            has_generator,
            unsupported: Unsupported::default(),
        })
    }

    /// Whether the service's CPU time includes all these processes; `false` if
    /// the service is not given by processes.
    pub fn includes_all(&mut self, pids: &[Pid]) -> Result<bool, HostError> {
        match &mut self.service {
            Service::Processes(processes) => processes.has_all(&self.files.root, pids),
            Service::Unknown | Service::OwnThreads | Service::Cgroup(..) => Ok(false),
        }
    }

    pub fn read(&mut self) -> Reading {
        let mut reading = Reading::blank(Instant::now());
        self.read_machine(&mut reading);
        self.read_tasks(&mut reading);
        reading
    }

    /// [`Sensors::read`] plus the clock counters, for an edge of a window. The
    /// clock costs two reads per CPU and is not used between the edges.
    pub fn read_edge(&mut self) -> Reading {
        let mut reading = self.read();
        reading.clock = self.clock.as_ref().and_then(|meter| meter.read().ok());
        reading
    }

    fn read_machine(&mut self, reading: &mut Reading) {
        let Some(cpus) = &self.service_cpus else {
            return;
        };
        let (root, lacks) = (&self.files.root, &mut self.unsupported);
        reading.service_cpus = cpus.clone();
        reading.generator_cpus = self.generator_cpus.clone();
        reading.cpu = read_unless(&mut lacks.cpu, || CpuTimes::read(root));
        reading.pressure = read_unless(&mut lacks.pressure, || pressure(root));
        reading.frequency_hz = read_unless(&mut lacks.frequency, || frequency_hz(root, cpus));
        let energy = self.energy.as_mut();
        reading.energy = energy.and_then(|meter| meter.read(root).ok());
    }

    fn read_tasks(&mut self, reading: &mut Reading) {
        let files = &mut self.files;
        let own = self.own.as_mut().and_then(|own| own.read(files).ok());
        reading.observer = own.map(|own| own.other.cpu);
        if self.has_generator {
            reading.generator = own.map(|own| own.generator.cpu);
        }
        reading.service = match &mut self.service {
            Service::Unknown => None,
            Service::OwnThreads => own.map(|own| own.service),
            Service::Processes(processes) => processes.read(files).ok(),
            Service::Cgroup(cgroups, name) => {
                let cpu = cgroups.cpu_time(&files.root, name).ok();
                cpu.map(task::cpu_only)
            }
        };
    }
}

/// A quarter of the open-file limit; the rest is for connections. 0 if the
/// limit is unknown.
pub(crate) fn files_to_keep(root: &Root) -> usize {
    const MOST: u64 = 4096;
    let limit = open_files_limit(root).unwrap_or(0);
    usize::try_from((limit / 4).min(MOST)).unwrap_or(0)
}

pub(crate) fn open_files_limit(root: &Root) -> Option<u64> {
    let text = root.text("/proc/self/limits").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_ascii_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        limit => limit.parse().ok(),
    }
}

/// The counters of the machine that the kernel does not provide. They are not
/// read again; a failed read is retried at the next reading.
#[derive(Debug, Default)]
struct Unsupported {
    cpu: bool,
    pressure: bool,
    frequency: bool,
}

fn read_unless<T>(
    unsupported: &mut bool,
    read: impl FnOnce() -> Result<Option<T>, HostError>,
) -> Option<T> {
    if *unsupported {
        return None;
    }
    let value = read().ok()?;
    *unsupported = value.is_none();
    value
}

#[cfg(test)]
mod tests;
