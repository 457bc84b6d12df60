//! CPU time of one process, correct across threads that start and end.
//!
//! Two sources are combined. The per-thread files have nanosecond resolution
//! but miss the time a thread used after its last reading, and threads that
//! lived between two readings. /proc/PID/stat covers all threads that ever ran,
//! but in ticks, truncated separately for user and system time. Therefore:
//!
//! - CPU time is the sum over threads; an ended thread counts with its last
//!   value.
//! - Process time beyond that sum, and beyond what truncation explains, was
//!   used by unobserved threads and is added.
//!
//! The sum is exact if no thread ends. The correction never overestimates, and
//! misses at most four ticks in total rather than per reading, because it is
//! the largest excess seen so far.

use crate::process::ProcessStat;
use crate::root::Tick;
use crate::task::{self, Source, TaskTimes, ThreadSample};
use plimsoll_model::CpuTime;
use std::collections::BTreeMap;
use std::time::Duration;

/// One reading of a process. The process file is read before the thread files,
/// so the threads are never behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessSample {
    pub(crate) stat: ProcessStat,
    pub(crate) threads: Vec<ThreadSample>,
}

/// The moment from which a process counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountFrom {
    /// From its first sample: it ran before observation began.
    FirstSample,
    /// From its start: it started during observation.
    Start,
}

/// The role to which a thread's time is assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Service,
    Generator,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoleTimes {
    pub(crate) service: TaskTimes,
    pub(crate) generator: TaskTimes,
    pub(crate) other: TaskTimes,
}

impl RoleTimes {
    const ZERO: RoleTimes = RoleTimes {
        service: task::ZERO,
        generator: task::ZERO,
        other: task::ZERO,
    };

    pub(crate) fn sum(&self) -> TaskTimes {
        task::plus(task::plus(self.service, self.generator), self.other)
    }

    fn add(&mut self, role: Role, times: TaskTimes) {
        let slot = match role {
            Role::Service => &mut self.service,
            Role::Generator => &mut self.generator,
            Role::Other => &mut self.other,
        };
        *slot = task::plus(*slot, times);
    }
}

#[derive(Debug)]
pub(crate) struct ProcessAccount {
    source: Source,
    threads: BTreeMap<u64, Thread>,
    ended: RoleTimes,
    /// Lifetime CPU time of ended threads, including time before observation.
    ended_lifetime: CpuTime,
    /// Process CPU time from /proc/PID/stat, at the first and the last sample.
    own_at_first: CpuTime,
    own: CpuTime,
    excess: Excess,
}

#[derive(Debug)]
struct Thread {
    role: Role,
    from: TaskTimes,
    last: TaskTimes,
}

impl ProcessAccount {
    pub(crate) fn open(
        sample: &ProcessSample,
        from: CountFrom,
        source: Source,
        tick: Tick,
        role_of: &dyn Fn(u32) -> Role,
    ) -> ProcessAccount {
        let mut account = ProcessAccount {
            source,
            threads: BTreeMap::new(),
            ended: RoleTimes::ZERO,
            ended_lifetime: CpuTime::ZERO,
            own_at_first: CpuTime::ZERO,
            own: sample.stat.own,
            excess: Excess::from_start(),
        };
        if from == CountFrom::FirstSample {
            for thread in &sample.threads {
                account.record(thread, thread.times, role_of);
            }
            account.own_at_first = sample.stat.own;
            account.excess =
                Excess::from_first_sample(sample.stat.own, account.seen_lifetime(), tick);
        }
        account.update(sample, role_of);
        account
    }

    pub(crate) fn update(&mut self, sample: &ProcessSample, role_of: &dyn Fn(u32) -> Role) {
        let live: BTreeMap<u64, &ThreadSample> =
            sample.threads.iter().map(|t| (t.key, t)).collect();
        let (ended, ended_lifetime) = (&mut self.ended, &mut self.ended_lifetime);
        self.threads.retain(|key, thread| {
            let lives = live.contains_key(key);
            if !lives {
                ended.add(thread.role, task::since(thread.last, thread.from));
                *ended_lifetime = *ended_lifetime + thread.last.cpu;
            }
            lives
        });
        for thread in live.into_values() {
            self.record(thread, task::ZERO, role_of);
        }
        self.own = sample.stat.own;
        let seen = self.seen_lifetime();
        self.excess.observe(self.own, seen);
    }

    /// CPU time since the account was opened.
    pub(crate) fn parts(&self) -> RoleTimes {
        let mut parts = self.ended;
        for thread in self.threads.values() {
            parts.add(thread.role, task::since(thread.last, thread.from));
        }
        match self.source {
            Source::Schedstat => parts.other.cpu = parts.other.cpu + self.excess.time(),
            // The sum of truncated times over many threads has a large error;
            // the process total is truncated only once.
            Source::Stat => {
                let named = parts.service.cpu + parts.generator.cpu;
                parts.other.cpu = self.own.since(self.own_at_first).since(named);
            }
        }
        parts
    }

    /// Whether threads that ended unobserved have used CPU time.
    pub(crate) fn has_unseen(&self) -> bool {
        self.source == Source::Schedstat && self.excess.time() > CpuTime::ZERO
    }

    /// Known CPU time since the process started.
    pub(crate) fn lifetime(&self) -> CpuTime {
        match self.source {
            Source::Schedstat => self.own.max(self.seen_lifetime()),
            Source::Stat => self.own,
        }
    }

    fn record(&mut self, sample: &ThreadSample, from: TaskTimes, role_of: &dyn Fn(u32) -> Role) {
        let thread = self.threads.entry(sample.key).or_insert_with(|| Thread {
            role: role_of(sample.tid),
            from,
            last: from,
        });
        thread.last = sample.times;
    }

    fn seen_lifetime(&self) -> CpuTime {
        let live: CpuTime = self.threads.values().map(|t| t.last.cpu).sum();
        live + self.ended_lifetime
    }
}

/// The largest lead so far of a tick counter over the detailed counters, beyond
/// what truncation explains.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Excess {
    /// Nanoseconds; signed, because a truncated counter can lag.
    explained: i128,
    largest: i128,
}

impl Excess {
    /// Both counters start at zero, and a truncated counter never leads.
    pub(crate) fn from_start() -> Excess {
        Excess {
            explained: 0,
            largest: 0,
        }
    }

    /// Starts from the counter values at the beginning of observation. User and
    /// system time may each have been just short of a tick.
    pub(crate) fn from_first_sample(counter: CpuTime, seen: CpuTime, tick: Tick) -> Excess {
        let exact = Excess::from_first_exact(counter, seen);
        Excess {
            explained: exact.explained + tick.times(2).as_nanos() as i128,
            ..exact
        }
    }

    /// The same for a counter that is not truncated.
    pub(crate) fn from_first_exact(counter: CpuTime, seen: CpuTime) -> Excess {
        Excess {
            explained: lead(counter, seen),
            largest: 0,
        }
    }

    pub(crate) fn observe(&mut self, counter: CpuTime, seen: CpuTime) {
        self.largest = self.largest.max(lead(counter, seen) - self.explained);
    }

    pub(crate) fn time(&self) -> CpuTime {
        let nanos = u64::try_from(self.largest).unwrap_or(0);
        CpuTime(Duration::from_nanos(nanos))
    }
}

fn lead(counter: CpuTime, seen: CpuTime) -> i128 {
    counter.0.as_nanos() as i128 - seen.0.as_nanos() as i128
}

#[cfg(test)]
pub(crate) mod tests;
