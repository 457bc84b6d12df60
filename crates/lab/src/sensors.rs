//! What is read of the machine at each step.

use crate::LabError;
use plimsoll_host::{CpuMeter, CpuTimes, Root, ServiceSource, interrupt_time};
use plimsoll_model::{CpuSet, CpuTime, InterruptTime, Share};

/// Reads CPU times of the service, of this process and of the CPUs, each since the reading before.
pub(crate) struct LabSensors {
    root: Root,
    cpus: CpuSet,
    service: Meter,
    process: Meter,
    machine: Option<CpuTimes>,
    interrupts: InterruptTime,
}

/// A meter and what it read last.
struct Meter {
    meter: Option<CpuMeter>,
    before: Option<CpuTime>,
}

/// CPU time since the reading before. What cannot be read is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Spent {
    /// Of the service's threads.
    pub(crate) service: Option<CpuTime>,
    /// The share of the CPUs that is not idle.
    pub(crate) busy: Option<Share>,
    /// The share of the CPUs that anything but this process used, or a hypervisor took.
    pub(crate) others: Option<Share>,
}

impl LabSensors {
    /// With a first reading; `threads` are the service's.
    pub(crate) fn new(root: &Root, cpus: &CpuSet, threads: &[u32]) -> Result<LabSensors, LabError> {
        let mut sensors = LabSensors {
            root: root.clone(),
            cpus: cpus.clone(),
            service: Meter::open(root, &ServiceSource::Threads(threads.to_vec()))?,
            process: Meter::open(root, &ServiceSource::Processes(vec![std::process::id()]))?,
            machine: None,
            interrupts: interrupt_time(root),
        };
        sensors.read()?;
        Ok(sensors)
    }

    /// Counts all of this process as the service from now on: threads of connections come and go.
    pub(crate) fn count_the_process(&mut self) -> Result<(), LabError> {
        let process = ServiceSource::Processes(vec![std::process::id()]);
        self.service = Meter::open(&self.root, &process)?;
        self.service.since()?;
        Ok(())
    }

    pub(crate) fn read(&mut self) -> Result<Spent, LabError> {
        let (service, process) = (self.service.since()?, self.process.since()?);
        let now = CpuTimes::read(&self.root)?;
        let spent = now.as_ref().zip(self.machine.as_ref());
        let spent = spent.and_then(|(now, then)| now.since(then).of(&self.cpus));
        self.machine = now;
        let others = spent.zip(process).and_then(|(spent, process)| {
            let used = spent.by_tasks(self.interrupts) + spent.steal;
            Share::of(used.since(process).0, spent.total().0)
        });
        Ok(Spent {
            service,
            busy: spent.and_then(|spent| spent.busy_share()),
            others,
        })
    }
}

impl Meter {
    fn open(root: &Root, source: &ServiceSource) -> Result<Meter, LabError> {
        Ok(Meter {
            meter: CpuMeter::open(root, source)?,
            before: None,
        })
    }

    fn since(&mut self) -> Result<Option<CpuTime>, LabError> {
        let now = self.meter.as_mut().map(CpuMeter::read).transpose()?;
        let since = now.zip(self.before).map(|(now, then)| now.since(then));
        self.before = now;
        Ok(since)
    }
}
