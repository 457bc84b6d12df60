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
use crate::task::{Source, TaskTimes};
use crate::tracking::{OwnProcess, ServiceProcesses, ThreadRoles};
use plimsoll_model::CpuSet;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

/// The location of the service under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Here {
        /// The CPUs that it may run on.
        cpus: CpuSet,
        service: ServiceSource,
    },
    /// On another host: this machine's counters do not describe it;
    /// [`Reading::with_elsewhere`] adds those that do.
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

/// A counter that may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// CPU time by mode, and context switches, of the machine.
    MachineCpu,
    Pressure,
    Frequency,
    /// Mean clock while not halted, over a window.
    Clock,
    /// Energy of the CPU packages.
    Energy,
    ServiceCpu,
    RunDelay,
    /// CPU time of Plimsoll's own threads.
    OwnCpu,
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Counter::MachineCpu => "CPU time of the machine",
            Counter::Pressure => "pressure stall information",
            Counter::Frequency => "clock frequency",
            Counter::Clock => "mean clock while busy",
            Counter::Energy => "energy",
            Counter::ServiceCpu => "CPU time of the service",
            Counter::RunDelay => "run delay of the service",
            Counter::OwnCpu => "CPU time of Plimsoll's own threads",
        })
    }
}

/// Reads all counters. With a thousand threads, one reading per second costs
/// well below 1 % of a CPU.
///
/// CPU times of tasks, and energy, are accumulated over readings, so that
/// threads that end and counters that wrap round between the edges of a window
/// are counted.
#[derive(Debug)]
pub struct Sensors {
    root: Root,
    service_cpus: Option<CpuSet>,
    service: Service,
    own: Option<OwnProcess>,
    energy: Option<EnergyMeter>,
    clock: Option<ClockMeter>,
    has_generator: bool,
    /// How many more thread files may be kept open.
    allowance: usize,
    missing: Missing,
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
    /// machine does not provide is no error: see [`Sensors::missing`].
    pub fn new(root: &Root, subject: Subject, generator: &[Tid]) -> Result<Sensors, HostError> {
        let thread_source = Source::of(root);
        let mut allowance = files_to_keep(root);
        let mut missing = Missing::default();
        let mut roles = ThreadRoles {
            generator: generator.iter().copied().collect(),
            ..ThreadRoles::default()
        };
        let (service_cpus, service) = match subject {
            Subject::Elsewhere => (None, ServiceSource::None),
            Subject::Here { cpus, service } => (Some(cpus), service),
        };
        let service = match service {
            ServiceSource::None => Service::Unknown,
            ServiceSource::Threads(tids) => {
                roles.service = tids.into_iter().collect();
                Service::OwnThreads
            }
            ServiceSource::Processes(pids) => Service::Processes(ServiceProcesses::open(
                root,
                &pids,
                thread_source,
                &mut allowance,
            )?),
            ServiceSource::Children => Service::Processes(ServiceProcesses::children(
                root,
                thread_source,
                &mut allowance,
            )?),
            ServiceSource::Cgroup(name) => {
                let cgroups = Cgroups::find(root)?;
                // Fails early if the group does not exist.
                cgroups.cpu_time(root, &name)?;
                Service::Cgroup(cgroups, name)
            }
        };
        let has_generator = !roles.generator.is_empty();
        let own = match OwnProcess::open(root, roles, thread_source, &mut allowance) {
            Ok(own) => Some(own),
            Err(error @ HostError::NoThread { .. }) => return Err(error),
            Err(error) => missing.mark_unsupported(Counter::OwnCpu, error.to_string()),
        };
        let energy = match service_cpus {
            Some(_) => missing.try_open(Counter::Energy, EnergyMeter::open(root)),
            None => None,
        };
        let clock = service_cpus.as_ref().and_then(|cpus| {
            let opened = ClockMeter::open(root, cpus, &mut allowance);
            missing.try_open(Counter::Clock, opened)
        });
        missing.note_run_delay(&service, thread_source);
        Ok(Sensors {
            root: root.clone(),
            service_cpus,
            service,
            own,
            energy,
            clock,
            has_generator,
            allowance,
            missing,
        })
    }

    /// The counters that the last reading lacked, each with the reason. A
    /// counter that the kernel does not provide is not read again; a failed
    /// read is retried at the next reading.
    pub fn missing(&self) -> impl Iterator<Item = (Counter, &str)> {
        let all = self.missing.unsupported.iter().chain(&self.missing.failed);
        all.map(|(counter, why)| (*counter, why.as_str()))
    }

    /// Whether the service's CPU time includes all these processes; `false` if
    /// the service is not given by processes.
    ///
    /// # Errors
    /// If the processes cannot be listed.
    pub fn count_all(&mut self, pids: &[Pid]) -> Result<bool, HostError> {
        match &mut self.service {
            Service::Processes(processes) => processes.has_all(&self.root, pids),
            Service::Unknown | Service::OwnThreads | Service::Cgroup(..) => Ok(false),
        }
    }

    pub fn read(&mut self) -> Reading {
        let mut reading = Reading::blank(Instant::now());
        self.missing.failed.clear();
        self.read_machine(&mut reading);
        self.read_tasks(&mut reading);
        reading
    }

    /// [`Sensors::read`] plus the clock counters, for an edge of a window. The
    /// clock costs two reads per CPU and is not used between the edges.
    pub fn read_edge(&mut self) -> Reading {
        let mut reading = self.read();
        if let Some(meter) = &self.clock {
            reading.clock = self
                .missing
                .try_read(Counter::Clock, || meter.read().map(Some));
        }
        reading
    }

    fn read_machine(&mut self, reading: &mut Reading) {
        let Some(cpus) = &self.service_cpus else {
            return;
        };
        let (root, missing) = (&self.root, &mut self.missing);
        reading.service_cpus = cpus.clone();
        reading.cpu = missing.try_read(Counter::MachineCpu, || CpuTimes::read(root));
        reading.pressure = missing.try_read(Counter::Pressure, || pressure(root));
        reading.frequency_hz = missing.try_read(Counter::Frequency, || frequency_hz(root, cpus));
        if let Some(meter) = &mut self.energy {
            reading.energy = missing.try_read(Counter::Energy, || meter.read(root).map(Some));
        }
    }

    fn read_tasks(&mut self, reading: &mut Reading) {
        let (root, missing, allowance) = (&self.root, &mut self.missing, &mut self.allowance);
        let own = self.own.as_mut().and_then(|own| {
            missing.try_read(Counter::OwnCpu, || own.read(root, allowance).map(Some))
        });
        reading.observer = own.map(|own| own.other.cpu);
        if self.has_generator {
            reading.generator = own.map(|own| own.generator.cpu);
        }
        reading.service = match &mut self.service {
            Service::Unknown => None,
            Service::OwnThreads => own.map(|own| own.service),
            Service::Processes(processes) => missing.try_read(Counter::ServiceCpu, || {
                processes.read(root, allowance).map(Some)
            }),
            Service::Cgroup(cgroups, name) => missing.try_read(Counter::ServiceCpu, || {
                let cpu = cgroups.cpu_time(root, name)?;
                Ok(Some(TaskTimes {
                    cpu,
                    run_delay: None,
                    context_switches: None,
                }))
            }),
        };
    }
}

/// A quarter of the open-file limit; the rest is for connections. 0 if the
/// limit is unknown.
fn files_to_keep(root: &Root) -> usize {
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

/// The missing counters; unsupported ones are not read again.
#[derive(Debug, Default)]
struct Missing {
    unsupported: BTreeMap<Counter, String>,
    failed: BTreeMap<Counter, String>,
}

impl Missing {
    const NOT_AVAILABLE: &str = "not available on this machine";

    fn try_read<T>(
        &mut self,
        counter: Counter,
        read: impl FnOnce() -> Result<Option<T>, HostError>,
    ) -> Option<T> {
        if self.unsupported.contains_key(&counter) {
            return None;
        }
        match read() {
            Ok(Some(value)) => Some(value),
            Ok(None) => self.mark_unsupported(counter, Missing::NOT_AVAILABLE.to_owned()),
            Err(error) => {
                self.failed.insert(counter, error.to_string());
                None
            }
        }
    }

    /// For a counter that is opened once and not retried.
    fn try_open<T>(&mut self, counter: Counter, opened: Result<Option<T>, HostError>) -> Option<T> {
        match opened {
            Ok(Some(value)) => Some(value),
            Ok(None) => self.mark_unsupported(counter, Missing::NOT_AVAILABLE.to_owned()),
            Err(error) => self.mark_unsupported(counter, error.to_string()),
        }
    }

    fn mark_unsupported<T>(&mut self, counter: Counter, why: String) -> Option<T> {
        self.unsupported.insert(counter, why);
        None
    }

    fn note_run_delay(&mut self, service: &Service, source: Source) {
        let why = match (service, source) {
            (Service::Cgroup(..), _) => "not available for a cgroup",
            (Service::Processes(_) | Service::OwnThreads, Source::Stat) => Missing::NOT_AVAILABLE,
            _ => return,
        };
        self.unsupported.insert(Counter::RunDelay, why.to_owned());
    }
}

#[cfg(test)]
mod tests;
