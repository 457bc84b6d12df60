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

    /// Whether it counts all of this source, and can go on doing so.
    pub fn counts(&mut self, source: &ServiceSource) -> bool {
        let is_same = match (&mut self.of, source) {
            (Metered::Processes(processes), ServiceSource::Processes(pids)) => {
                let is_in = processes.has_all(&self.files.root, pids);
                processes.is_of(pids) && is_in.unwrap_or(false)
            }
            (Metered::Cgroup(_, own), ServiceSource::Cgroup(name)) => own == name,
            // Threads of this process are new ones in each load.
            _ => false,
        };
        is_same && self.read().is_ok()
    }

    /// What is read, and how fine it is, in words.
    pub fn counter(&self) -> &'static str {
        let is_in_ticks = match &self.of {
            Metered::Processes(processes) => processes.has_unseen(),
            Metered::Own(_) | Metered::Cgroup(..) => false,
        };
        match (&self.of, self.files.source) {
            (Metered::Cgroup(..), _) => "the cgroup's CPU time",
            (_, Source::Schedstat) if is_in_ticks => {
                "schedstat of each thread (nanoseconds), and for threads and children that ended between \
                 two readings /proc/PID/stat (clock ticks, mostly of 10 ms; the first two of each \
                 process may be missing)"
            }
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

    /// A process whose threads live for one request each, between two readings.
    fn serves(tree: &FakeTree, ticks: u64) {
        tree.process(FakeProcess {
            own_ticks: ticks,
            ..FakeProcess::ANY.threads(&[(100, 5000, 0, 1)])
        });
    }

    #[test]
    fn a_meter_that_goes_on_misses_ticks_of_ended_threads_once() {
        let tree = FakeTree::new().file("proc/self/schedstat", "1 1 1\n");
        serves(&tree, 0);
        let source = ServiceSource::Processes(vec![100]);
        let mut meter = CpuMeter::open(tree.root(), &source).unwrap().unwrap();
        assert!(!meter.counter().contains("ticks,"), "{}", meter.counter());
        let mut used = Vec::new();
        for cycle in 1..=3 {
            assert!(meter.counts(&source));
            let before = meter.read().unwrap();
            serves(&tree, cycle * 6);
            used.push(meter.read().unwrap().since(before).0.as_millis());
        }
        // Six ticks each; the two that truncation may explain, once.
        assert_eq!(used, [40, 60, 60]);
        assert!(meter.counter().contains("clock ticks, mostly of 10 ms"));
    }

    #[test]
    fn a_meter_goes_on_with_the_same_service_only() {
        let tree = FakeTree::new().file("proc/self/schedstat", "1 1 1\n");
        serves(&tree, 0);
        tree.process(FakeProcess::new(200, 1));
        tree.process(FakeProcess::new(101, 100));
        let of = |pids: &[u32]| ServiceSource::Processes(pids.to_vec());
        let mut meter = CpuMeter::open(tree.root(), &of(&[100])).unwrap().unwrap();
        assert!(meter.counts(&of(&[100])));
        assert!(!meter.counts(&of(&[101])), "another head");
        assert!(!meter.counts(&of(&[100, 200])));
        tree.process(FakeProcess::ANY.started(6));
        assert!(!meter.counts(&of(&[100])), "started again");
    }

    #[test]
    fn what_is_not_there_is_an_error_and_nothing_is_none() {
        let tree = FakeTree::new();
        let open = |source| CpuMeter::open(tree.root(), &source);
        assert!(open(ServiceSource::Processes(vec![77])).is_err());
        assert!(open(ServiceSource::None).unwrap().is_none());
    }
}
