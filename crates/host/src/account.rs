//! What one process has used, though its threads come and go.
//!
//! Two sources are weighed. The threads' own files tell to the nanosecond,
//! but not what a thread did after it was last read, nor anything of a thread
//! that lived between two readings. The process' line tells the time of all
//! threads that ever were, but in ticks, twice truncated. So:
//!
//! - the use is the sum over threads, ended ones with what was last known;
//! - what the process has beyond that sum, and beyond what truncation can
//!   explain, was used by threads unseen, and is added.
//!
//! The first is exact where no thread ends. The second only ever adds time
//! that was used, and misses at most four ticks of it in all, not per
//! reading, because it is the largest excess seen so far.

use crate::process::ProcessStat;
use crate::root::Tick;
use crate::task::{Source, TaskTimes, ThreadSample};
use plimsoll_model::CpuTime;
use std::collections::BTreeMap;
use std::time::Duration;

/// A process as it was seen at one moment: its line read first, its threads
/// after it, so that the threads are never behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessSample {
    pub(crate) stat: ProcessStat,
    pub(crate) threads: Vec<ThreadSample>,
}

/// From when on a process counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// From its first sample: it was there before anyone looked.
    Now,
    /// From its beginning: it was started while someone looked.
    Birth,
}

/// To whom a thread's time is put down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The service under test.
    Service,
    /// The load generator.
    Generator,
    /// Everyone else.
    Rest,
}

/// Time per [`Part`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) service: TaskTimes,
    pub(crate) generator: TaskTimes,
    pub(crate) rest: TaskTimes,
}

impl Parts {
    const ZERO: Parts = Parts {
        service: TaskTimes::ZERO,
        generator: TaskTimes::ZERO,
        rest: TaskTimes::ZERO,
    };

    pub(crate) fn sum(&self) -> TaskTimes {
        self.service.plus(self.generator).plus(self.rest)
    }

    fn add(&mut self, part: Part, times: TaskTimes) {
        let slot = match part {
            Part::Service => &mut self.service,
            Part::Generator => &mut self.generator,
            Part::Rest => &mut self.rest,
        };
        *slot = slot.plus(times);
    }
}

/// The running account of one process.
#[derive(Debug)]
pub(crate) struct ProcessAccount {
    source: Source,
    threads: BTreeMap<u64, Thread>,
    ended: Parts,
    /// What ended threads had used in all, the time before we looked included.
    ended_lifetime: CpuTime,
    /// The process' own time by its line: at first, and at last.
    own_at_first: CpuTime,
    own: CpuTime,
    excess: Excess,
}

#[derive(Debug)]
struct Thread {
    part: Part,
    from: TaskTimes,
    last: TaskTimes,
}

impl ProcessAccount {
    pub(crate) fn open(
        sample: &ProcessSample,
        from: From,
        source: Source,
        tick: Tick,
        part_of: &dyn Fn(u32) -> Part,
    ) -> ProcessAccount {
        let mut account = ProcessAccount {
            source,
            threads: BTreeMap::new(),
            ended: Parts::ZERO,
            ended_lifetime: CpuTime::ZERO,
            own_at_first: CpuTime::ZERO,
            own: sample.stat.own,
            excess: Excess::from_birth(),
        };
        if from == From::Now {
            for thread in &sample.threads {
                account.see(thread, thread.times, part_of);
            }
            account.own_at_first = sample.stat.own;
            account.excess = Excess::from_now(sample.stat.own, account.seen_lifetime(), tick);
        }
        account.update(sample, part_of);
        account
    }

    pub(crate) fn update(&mut self, sample: &ProcessSample, part_of: &dyn Fn(u32) -> Part) {
        let live: BTreeMap<u64, &ThreadSample> =
            sample.threads.iter().map(|t| (t.key, t)).collect();
        let (ended, ended_lifetime) = (&mut self.ended, &mut self.ended_lifetime);
        self.threads.retain(|key, thread| {
            let lives = live.contains_key(key);
            if !lives {
                ended.add(thread.part, thread.last.since(thread.from));
                *ended_lifetime = *ended_lifetime + thread.last.cpu;
            }
            lives
        });
        for thread in live.into_values() {
            self.see(thread, TaskTimes::ZERO, part_of);
        }
        self.own = sample.stat.own;
        let seen = self.seen_lifetime();
        self.excess.see(self.own, seen);
    }

    /// What has been used since the account began.
    pub(crate) fn parts(&self) -> Parts {
        let mut parts = self.ended;
        for thread in self.threads.values() {
            parts.add(thread.part, thread.last.since(thread.from));
        }
        match self.source {
            Source::Schedstat => parts.rest.cpu = parts.rest.cpu + self.excess.time(),
            // A sum of truncated times over many threads would be far off;
            // the process' line is truncated but once.
            Source::Stat => {
                let named = parts.service.cpu + parts.generator.cpu;
                parts.rest.cpu = self.own.since(self.own_at_first).since(named);
            }
        }
        parts
    }

    /// All that is known of its CPU time, from its beginning.
    pub(crate) fn lifetime(&self) -> CpuTime {
        match self.source {
            Source::Schedstat => self.own.max(self.seen_lifetime()),
            Source::Stat => self.own,
        }
    }

    fn see(&mut self, sample: &ThreadSample, from: TaskTimes, part_of: &dyn Fn(u32) -> Part) {
        let thread = self.threads.entry(sample.key).or_insert_with(|| Thread {
            part: part_of(sample.tid),
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

/// How far a counter in ticks has run ahead of what was seen in detail: the
/// largest lead so far, beyond what truncation explains.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Excess {
    /// In nanoseconds, because a truncated counter may be behind.
    explained: i128,
    largest: i128,
}

impl Excess {
    /// Both start from nothing, and a truncated counter is never ahead.
    pub(crate) fn from_birth() -> Excess {
        Excess {
            explained: 0,
            largest: 0,
        }
    }

    /// The counter was here, and what was seen there, when the watch began.
    /// User and system time may each have been just short of a tick.
    pub(crate) fn from_now(counter: CpuTime, seen: CpuTime, tick: Tick) -> Excess {
        Excess {
            explained: lead(counter, seen) + tick.times(2).as_nanos() as i128,
            largest: 0,
        }
    }

    pub(crate) fn see(&mut self, counter: CpuTime, seen: CpuTime) {
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
