//! The CPU time of a service alone, read often.

use crate::cgroup::Cgroups;
use crate::error::HostError;
use crate::root::Root;
use crate::sensors::{ServiceSource, files_to_keep};
use crate::task::{Source, TaskFiles};
use crate::tracking::{OwnProcess, ServiceProcesses, ThreadRoles};
use plimsoll_model::CpuTime;

/// Reads the CPU time of a service, and nothing else: cheap enough for every
/// 20 ms.
#[derive(Debug)]
pub struct CpuMeter {
    files: TaskFiles,
    of: Metered,
}

#[derive(Debug)]
enum Metered {
    Own(Box<OwnProcess>),
    Processes(Box<ServiceProcesses>),
    Cgroup(Cgroups, String),
}

impl CpuMeter {
    /// Counts from now on; `None` if the source names nothing.
    ///
    /// # Errors
    /// If the service does not exist.
    pub fn open(root: &Root, source: &ServiceSource) -> Result<Option<CpuMeter>, HostError> {
        let mut files = TaskFiles {
            root: root.clone(),
            source: Source::of(root),
            allowance: files_to_keep(root),
        };
        let of = match source {
            ServiceSource::None => return Ok(None),
            ServiceSource::Threads(tids) => {
                let roles = ThreadRoles {
                    service: tids.iter().copied().collect(),
                    ..ThreadRoles::default()
                };
                Metered::Own(Box::new(OwnProcess::open(&mut files, roles)?))
            }
            ServiceSource::Processes(pids) => {
                Metered::Processes(Box::new(ServiceProcesses::open(&mut files, pids)?))
            }
            ServiceSource::Children => {
                Metered::Processes(Box::new(ServiceProcesses::children(&mut files)?))
            }
            ServiceSource::Cgroup(name) => Metered::Cgroup(Cgroups::find(root)?, name.clone()),
        };
        Ok(Some(CpuMeter { files, of }))
    }

    /// CPU time so far; only differences mean anything.
    ///
    /// # Errors
    /// If the service has ended, or its counters cannot be read.
    pub fn read(&mut self) -> Result<CpuTime, HostError> {
        match &mut self.of {
            Metered::Own(own) => Ok(own.read(&mut self.files)?.service.cpu),
            Metered::Processes(processes) => Ok(processes.read(&mut self.files)?.cpu),
            Metered::Cgroup(cgroups, name) => cgroups.cpu_time(&self.files.root, name),
        }
    }

    /// What is read, and how fine it is, in words.
    pub fn counter(&self) -> &'static str {
        match (&self.of, self.files.source) {
            (Metered::Cgroup(..), _) => "the cgroup's CPU time",
            (_, Source::Schedstat) => {
                "schedstat of each thread (nanoseconds, brought up to date at each scheduler tick)"
            }
            (_, Source::Stat) => "/proc/PID/stat (clock ticks of 10 ms)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::{FakeProcess, FakeTree};

    #[test]
    fn a_process_is_counted_from_the_opening() {
        let tree = FakeTree::new().file("proc/self/schedstat", "1 1 1\n");
        tree.process(FakeProcess::ANY);
        let task = "proc/100/task/100/schedstat";
        tree.write(task, "5000 0 1\n");
        let source = ServiceSource::Processes(vec![100]);
        let mut meter = CpuMeter::open(tree.root(), &source).unwrap().unwrap();
        let first = meter.read().unwrap();
        tree.write(task, "7500 0 2\n");
        assert_eq!(meter.read().unwrap().since(first).0.as_nanos(), 2500);
        assert!(meter.counter().starts_with("schedstat"));
    }

    #[test]
    fn what_is_not_there_is_an_error_and_nothing_is_none() {
        let tree = FakeTree::new();
        let open = |source| CpuMeter::open(tree.root(), &source);
        assert!(open(ServiceSource::Processes(vec![77])).is_err());
        assert!(open(ServiceSource::None).unwrap().is_none());
    }
}
