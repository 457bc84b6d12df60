//! The processes that use the most CPU time, by name: what disturbs trials.

use crate::error::HostError;
use crate::process::{Pid, ProcessStat, process_name};
use crate::root::Root;
use plimsoll_model::sort_by_number;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::{Duration, Instant};

/// Below this share of a CPU a process is not named.
const LEAST: f64 = 0.05;
/// So many are named.
const MOST: usize = 3;

/// A process and the CPU time that it used, in CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct BusyProcess {
    pub pid: Pid,
    pub name: String,
    /// 1 is one CPU.
    pub cpus: f64,
}

/// `ffmpeg (pid 4711) 98 % of a CPU`
impl fmt::Display for BusyProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BusyProcess { pid, name, cpus } = self;
        write!(f, "{name} (pid {pid}) {:.0} % of a CPU", 100.0 * cpus)
    }
}

/// Watches the CPU time of all processes that this user may see.
#[derive(Debug)]
pub struct BusyWatch {
    began: Instant,
    before: Vec<ProcessStat>,
}

impl BusyWatch {
    /// # Errors
    /// /proc cannot be read.
    pub fn begin(root: &Root) -> Result<BusyWatch, HostError> {
        Ok(BusyWatch {
            began: Instant::now(),
            before: ProcessStat::all(root)?,
        })
    }

    /// The busiest since then, this process apart, in descending order.
    ///
    /// # Errors
    /// /proc cannot be read.
    pub fn end(self, root: &Root) -> Result<Vec<BusyProcess>, HostError> {
        let after = ProcessStat::all(root)?;
        let seconds = self.began.elapsed().as_secs_f64();
        let found = busiest(&self.before, &after, seconds, std::process::id());
        let named = found.into_iter().map(|(pid, cpus)| BusyProcess {
            pid,
            name: process_name(root, pid).unwrap_or_else(|| "a process that ended".to_owned()),
            cpus,
        });
        Ok(named.collect())
    }
}

fn busiest(
    before: &[ProcessStat],
    after: &[ProcessStat],
    seconds: f64,
    own: Pid,
) -> Vec<(Pid, f64)> {
    let id = |stat: &ProcessStat| (stat.pid, stat.started);
    let lives: HashSet<_> = after.iter().map(id).collect();
    let mut earlier: HashMap<_, Duration> = HashMap::new();
    // A parent that waits for a child gets all of its time, also that of before.
    let mut of_children: HashMap<Pid, Duration> = HashMap::new();
    for stat in before {
        match lives.contains(&id(stat)) {
            true => *earlier.entry(id(stat)).or_default() += stat.cpu().0,
            false => *of_children.entry(stat.parent).or_default() += stat.cpu().0,
        }
    }
    let used = after.iter().filter(|stat| stat.pid != own).map(|stat| {
        let earlier = earlier.get(&id(stat)).copied().unwrap_or_default();
        let of_children = of_children.get(&stat.pid).copied().unwrap_or_default();
        let used = stat.cpu().0.saturating_sub(earlier + of_children);
        (stat.pid, used.as_secs_f64() / seconds.max(1e-3))
    });
    let mut used: Vec<(Pid, f64)> = used.filter(|(_, cpus)| *cpus >= LEAST).collect();
    sort_by_number(&mut used, |one| -one.1);
    used.truncate(MOST);
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::CpuTime;

    fn stat(pid: Pid, started: u64, ms: u64) -> ProcessStat {
        ProcessStat {
            pid,
            parent: 1,
            state: 'R',
            group: pid,
            session: pid,
            own: CpuTime(Duration::from_millis(ms)),
            reaped: CpuTime::ZERO,
            threads: 1,
            started,
        }
    }

    #[test]
    fn those_that_used_the_most_are_named_first() {
        let before = [
            stat(1, 0, 9000),
            stat(2, 0, 100),
            stat(3, 0, 0),
            stat(4, 0, 0),
        ];
        let after = [
            stat(1, 0, 9010),
            stat(2, 0, 600),
            stat(3, 0, 990),
            stat(4, 0, 990),
            // Another process with a number that was in use.
            stat(5, 7, 300),
        ];
        let found = busiest(&before, &after, 1.0, 4);
        assert_eq!(found, [(3, 0.99), (2, 0.5), (5, 0.3)]);
    }

    #[test]
    fn a_parent_is_not_charged_for_what_its_child_used_before() {
        let child = ProcessStat {
            parent: 2,
            ..stat(3, 0, 60_000)
        };
        let waited = ProcessStat {
            reaped: CpuTime(Duration::from_millis(60_400)),
            ..stat(2, 0, 100)
        };
        let found = busiest(&[stat(2, 0, 100), child], &[waited], 1.0, 4);
        assert_eq!(found, [(2, 0.4)]);
    }
}
