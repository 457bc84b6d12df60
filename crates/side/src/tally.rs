//! Sums over the decisions of a sideload: its CPU time, and what restricted it.

use crate::limit::Limit;
use plimsoll_control::{Group, MemoryEvents, MemoryLimits, Usage};
use plimsoll_law::{Guard, Reading, Reason, Sample};
use plimsoll_model::{CpuTime, Share, human_duration};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::mem::{Discriminant, discriminant};
use std::time::Duration;

#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    frozen: Duration,
    /// Duration by kind of reason, and the last sentence of each.
    causes: HashMap<Discriminant<Reason>, (Duration, String)>,
    /// Guards that could not be read at the last decision.
    unknown: BTreeMap<String, String>,
    throttled: u64,
    /// Sum of the periods so far.
    counted: Duration,
}

impl Tally {
    /// Adds the time from the last decision to the command's end, under the limit in
    /// force then.
    pub(crate) fn rest(&mut self, elapsed: Duration, limit: &Limit) {
        if *limit == Limit::Frozen {
            self.frozen += elapsed.saturating_sub(self.counted);
        }
    }

    /// Adds one period: its limit and the reason, `None` before the first decision.
    pub(crate) fn add(
        &mut self,
        sample: &Sample,
        limit: &Limit,
        reason: Option<&Reason>,
        usage: Option<Usage>,
    ) {
        self.counted += sample.period;
        if *limit == Limit::Frozen {
            self.frozen += sample.period;
        }
        let throttled = usage.and_then(|u| u.throttled).unwrap_or(0);
        let held = match limit {
            Limit::Runs => false,
            Limit::Quota(..) => throttled > self.throttled,
            Limit::Cpus(_, share) => *share < Share::ONE,
            Limit::Frozen => true,
        };
        self.throttled = throttled;
        if let Some(reason) = reason.filter(|_| held) {
            let cause = self.causes.entry(discriminant(reason)).or_default();
            *cause = (cause.0 + sample.period, reason.to_string());
        }
        self.unknown = sample.guards.iter().filter_map(unknown).collect();
    }

    pub(crate) fn summary(
        self,
        elapsed: Duration,
        cpus: usize,
        cpu: Option<CpuTime>,
        usage: Option<Usage>,
    ) -> Summary {
        let throttled = usage.and_then(|u| u.throttled.zip(u.periods).filter(|(_, of)| *of > 0));
        let mut causes: Vec<(Duration, String)> = self.causes.into_values().collect();
        causes.sort();
        Summary {
            elapsed,
            cpus,
            cpu,
            frozen: self.frozen.min(elapsed),
            throttled: throttled.and_then(|(n, of)| Share::new(n as f64 / of as f64)),
            memory: None,
            cause: causes.pop().map(|(_, words)| words),
            unknown: self.unknown.into_iter().collect(),
        }
    }
}

fn unknown(guard: &Guard) -> Option<(String, String)> {
    match &guard.reading {
        Reading::Unknown { why } => Some((guard.name.clone(), why.clone())),
        _ => None,
    }
}

/// CPU time of a sideload, and what restricted it. `Display` gives one line.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub elapsed: Duration,
    /// Number of CPUs that it may run on.
    pub cpus: usize,
    pub cpu: Option<CpuTime>,
    pub frozen: Duration,
    /// Share of quota periods that were throttled; `None` without a quota.
    pub throttled: Option<Share>,
    /// Events of its memory limits; `None` without limits, or if the kernel does not
    /// count them.
    pub memory: Option<MemoryHeld>,
    /// The reason that restricted it longest.
    pub cause: Option<String>,
    /// Guards unreadable at the end, and why.
    pub unknown: Vec<(String, String)>,
}

impl Summary {
    /// Its share of the machine's CPU time.
    pub fn share(&self) -> Option<Share> {
        let whole = self.elapsed.checked_mul(u32::try_from(self.cpus).ok()?)?;
        Share::of(self.cpu?.0, whole)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cpu {
            Some(cpu) => write!(f, "got {:.2} CPU s", cpu.0.as_secs_f64())?,
            None => write!(f, "got CPU time that could not be counted")?,
        }
        let cpus = match self.cpus {
            1 => "1 CPU".to_owned(),
            n => format!("{n} CPUs"),
        };
        let elapsed = human_duration(self.elapsed);
        match self.share() {
            Some(share) => write!(f, ", {share} of {cpus}, in {elapsed}")?,
            None => write!(f, " in {elapsed}")?,
        }
        let frozen = Share::of(self.frozen, self.elapsed).unwrap_or(Share::ZERO);
        match self.frozen.is_zero() {
            true => write!(f, "; never frozen")?,
            false => write!(f, "; frozen for {frozen} of the time")?,
        }
        if let Some(share) = self.throttled {
            write!(
                f,
                ", stopped by its quota in {share} of the quota's periods"
            )?;
        }
        if let Some(cause) = &self.cause {
            write!(f, ", mostly because {cause}")?;
        }
        if let Some(memory) = &self.memory {
            write!(f, "{memory}")?;
        }
        for (name, why) in &self.unknown {
            write!(f, "; {name} could not be read in the end ({why})")?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryHeld {
    pub limits: MemoryLimits,
    pub events: MemoryEvents,
}

impl MemoryHeld {
    /// `None` if the group does not count events.
    pub(crate) fn of(limits: MemoryLimits, group: &Group) -> Option<MemoryHeld> {
        let events = group.memory_events().ok()?;
        Some(MemoryHeld { limits, events })
    }
}

impl fmt::Display for MemoryHeld {
    /// Empty without events, else a clause that begins with a semicolon.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let felt = |count: Option<u64>| count.filter(|n| *n > 0);
        if let (Some(high), Some(_)) = (self.limits.high, felt(self.events.high)) {
            write!(f, "; slowed down at its {high} of memory")?;
        }
        if let Some(killed) = felt(self.events.killed) {
            let processes = if killed == 1 { "process" } else { "processes" };
            write!(
                f,
                "; the kernel killed {killed} {processes} of it for want of memory"
            )?;
            if let Some(max) = self.limits.max {
                write!(f, ", of which it may have {max}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Bytes;

    fn share(x: f64) -> Share {
        Share::new(x).unwrap()
    }

    fn sample(guards: Vec<Guard>) -> Sample {
        Sample {
            period: Duration::from_secs(1),
            guards,
            ..Sample::default()
        }
    }

    #[test]
    fn the_summary_has_cpu_time_and_the_longest_cause() {
        let needs = Reason::ServiceNeedsCpu {
            left: share(0.03),
            headroom: share(0.2),
        };
        let held = Reason::Held {
            remaining: Duration::from_secs(1),
        };
        let mut tally = Tally::default();
        tally.add(&sample(Vec::new()), &Limit::Runs, Some(&held), None);
        tally.add(&sample(Vec::new()), &Limit::Frozen, Some(&held), None);
        for _ in 0..2 {
            tally.add(&sample(Vec::new()), &Limit::Frozen, Some(&needs), None);
        }
        let cpu = Some(CpuTime(Duration::from_millis(2500)));
        tally.rest(Duration::from_secs(10), &Limit::Runs);
        let summary = tally.clone().summary(Duration::from_secs(10), 2, cpu, None);
        assert_eq!(
            summary.to_string(),
            "got 2.50 CPU s, 12.5 % of 2 CPUs, in 10s; frozen for 30.0 % of the time, mostly \
             because others need the CPU: 3 % left of 20 % headroom"
        );
        // Four of ten seconds were decided about; the last decision froze it.
        tally.rest(Duration::from_secs(10), &Limit::Frozen);
        let summary = tally.summary(Duration::from_secs(10), 2, cpu, None);
        assert!(
            summary.to_string().contains("frozen for 90.0 %"),
            "{summary}"
        );
    }

    #[test]
    fn an_unrestricted_command_and_an_unreadable_guard_are_described() {
        let guard = Guard {
            name: "psi_pct".into(),
            reading: Reading::Unknown {
                why: "it is gone".into(),
            },
        };
        let mut tally = Tally::default();
        tally.add(&sample(vec![guard]), &Limit::Runs, None, None);
        let summary = tally.summary(Duration::from_millis(20), 1, None, None);
        assert_eq!(
            summary.to_string(),
            "got CPU time that could not be counted in 20ms; never frozen; psi_pct could not be \
             read in the end (it is gone)"
        );
    }

    #[test]
    fn memory_limits_with_events_are_described() {
        let mib = |n: u64| Some(Bytes(n << 20));
        let described = |high, killed| {
            let held = MemoryHeld {
                limits: MemoryLimits {
                    high: mib(16),
                    max: mib(32),
                    swap_max: None,
                },
                events: MemoryEvents { high, killed },
            };
            held.to_string()
        };
        assert_eq!(described(Some(0), Some(0)), "");
        assert_eq!(described(None, None), "");
        let slowed = "; slowed down at its 16.0 MiB of memory";
        assert_eq!(described(Some(3), Some(0)), slowed);
        assert_eq!(
            described(Some(3), Some(2)),
            format!(
                "{slowed}; the kernel killed 2 processes of it for want of memory, of which it may \
                 have 32.0 MiB"
            )
        );
    }
}
