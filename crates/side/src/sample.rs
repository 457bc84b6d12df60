//! Samples for the law: readings of the machine and their differences.

use plimsoll_host::{CpuTimes, Root};
use plimsoll_law::{Guard, Sample};
use plimsoll_model::{CpuSet, CpuTime};
use std::time::Instant;

#[derive(Debug, Clone)]
struct Seen {
    at: Instant,
    machine: Option<CpuTimes>,
    sideload: Option<CpuTime>,
}

#[derive(Debug)]
pub(crate) struct Sampler {
    pub(crate) root: Root,
    pub(crate) allowed: CpuSet,
    gives_way: bool,
    began: Instant,
    last: Seen,
}

impl Sampler {
    /// Starts counting. `allowed` are the CPUs that the sideload may run on without
    /// limits, `gives_way` is [`Sample::gives_way`].
    pub(crate) fn new(
        root: &Root,
        allowed: CpuSet,
        gives_way: bool,
        sideload: Option<CpuTime>,
    ) -> Sampler {
        let last = read(root, sideload);
        Sampler {
            root: root.clone(),
            allowed,
            gives_way,
            began: last.at,
            last,
        }
    }

    /// Restarts the period after an interruption.
    pub(crate) fn renew(&mut self, sideload: Option<CpuTime>) {
        self.last = read(&self.root, sideload);
    }

    /// The CPUs that the sideload may run on and that are online.
    pub(crate) fn present(&self) -> CpuSet {
        present(&self.last, &self.allowed).unwrap_or_else(|| self.allowed.clone())
    }

    /// The difference to the previous reading; `sideload` is its CPU time so far.
    pub(crate) fn sample(&mut self, sideload: Option<CpuTime>, guards: Vec<Guard>) -> Sample {
        let now = read(&self.root, sideload);
        let sample = Sample {
            at: now.at.saturating_duration_since(self.began),
            gives_way: self.gives_way,
            guards,
            ..between(&self.last, &now, &self.allowed)
        };
        self.last = now;
        sample
    }
}

fn read(root: &Root, sideload: Option<CpuTime>) -> Seen {
    Seen {
        at: Instant::now(),
        // A failed reading is missing; the law reports it.
        machine: CpuTimes::read(root).ok().flatten(),
        sideload,
    }
}

fn on(times: &CpuTimes) -> CpuSet {
    times.each.keys().copied().collect()
}

/// `None` if the kernel reports all CPUs in one line, or nothing was read.
fn present(seen: &Seen, allowed: &CpuSet) -> Option<CpuSet> {
    let there = seen.machine.as_ref().map(|now| allowed.and(&on(now)));
    there.filter(|cpus| !cpus.is_empty())
}

fn between(then: &Seen, now: &Seen, allowed: &CpuSet) -> Sample {
    let cpus = present(now, allowed);
    let count = cpus.as_ref().unwrap_or(allowed).len();
    let machine = now.machine.as_ref().zip(then.machine.as_ref());
    let machine = machine.and_then(|(now, then)| {
        let added = now.since(then);
        match &cpus {
            Some(cpus) => added.of(&cpus.and(&on(&added))),
            None => Some(added.all),
        }
    });
    let sideload = now.sideload.zip(then.sideload);
    Sample {
        period: now.at.saturating_duration_since(then.at),
        cpus: u32::try_from(count).unwrap_or(u32::MAX),
        machine,
        sideload: sideload.map(|(now, then)| now.since(then)),
        ..Sample::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::CpuUse;
    use std::time::Duration;

    fn ms(n: u64) -> CpuTime {
        CpuTime(Duration::from_millis(n))
    }

    fn seen(at: Instant, cpus: &[(u32, u64)]) -> Seen {
        let idle = |n| CpuUse {
            idle: ms(n),
            ..CpuUse::default()
        };
        let each = cpus.iter().map(|(cpu, n)| (*cpu, idle(*n))).collect();
        Seen {
            at,
            machine: Some(CpuTimes {
                each,
                ..CpuTimes::default()
            }),
            sideload: Some(ms(5)),
        }
    }

    #[test]
    fn only_allowed_cpus_are_counted() {
        let start = Instant::now();
        let then = seen(start, &[(0, 0), (1, 0), (2, 0)]);
        let later = start + Duration::from_secs(1);
        let now = seen(later, &[(0, 900), (1, 500), (2, 100)]);
        let sample = between(&then, &now, &"1-2".parse().unwrap());
        assert_eq!((sample.cpus, sample.machine.unwrap().idle), (2, ms(600)));
        assert_eq!((sample.period.as_secs(), sample.sideload), (1, Some(ms(0))));
    }

    #[test]
    fn offline_cpus_are_not_counted() {
        let start = Instant::now();
        let then = seen(start, &[(0, 0), (1, 0)]);
        let now = seen(start, &[(0, 900)]);
        let sample = between(&then, &now, &"0-1".parse().unwrap());
        assert_eq!((sample.cpus, sample.machine.unwrap().idle), (1, ms(900)));
        assert_eq!(present(&now, &"0-1".parse().unwrap()), "0".parse().ok());
    }

    #[test]
    fn a_difference_to_a_failed_reading_is_unknown() {
        let start = Instant::now();
        let mut then = seen(start, &[(0, 0)]);
        (then.machine, then.sideload) = (None, None);
        let now = seen(start, &[(0, 900)]);
        let sample = between(&then, &now, &"0".parse().unwrap());
        assert_eq!((sample.machine, sample.sideload), (None, None));
    }
}
