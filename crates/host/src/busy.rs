//! How busy CPUs were between two readings of their counters.

use plimsoll_model::{CpuTime, CpuUse};
use std::time::{Duration, Instant};

/// The moments between which counters were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadTimes {
    /// Before they were read, or asked for.
    pub asked: Instant,
    /// After they were read, or answered.
    pub answered: Instant,
}

impl ReadTimes {
    /// A reading that took no time.
    pub fn at(at: Instant) -> ReadTimes {
        ReadTimes {
            asked: at,
            answered: at,
        }
    }

    /// The time until a later reading.
    pub(crate) fn until(self, later: ReadTimes) -> Passed {
        Passed {
            least: later.asked.saturating_duration_since(self.answered),
            most: later.answered.saturating_duration_since(self.asked),
        }
    }
}

/// The time between two readings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passed {
    pub(crate) least: Duration,
    pub(crate) most: Duration,
}

/// What one CPU did, from what its modes counted within the time that passed.
///
/// With NO_HZ, Linux measures idle time (get_idle_time in fs/proc/stat.c) and the
/// CPU time of tasks, but samples busy time at ticks: of load in step with them all
/// or none, and of short work on an idle CPU too little, since its tick is stopped.
/// So busy is what is neither idle nor stolen. A kernel that samples idle time too
/// (nohz=off) counts as much as passed, and nothing changes.
///
/// Steal may be counted twice, as an idle CPU that was to wake up: a CPU was at
/// least as busy as its tasks, if they are known.
///
/// Counters that stand still stay so: they do not show a busy CPU.
pub(crate) fn from_idle(counted: CpuUse, passed: Passed) -> CpuUse {
    if counted.total() == CpuTime::ZERO {
        return counted;
    }
    let whole = counted
        .total()
        .clamp(CpuTime(passed.least), CpuTime(passed.most));
    let not_idle = |steal| whole.since(counted.idle + counted.iowait + steal);
    let tasks = counted
        .tasks
        .unwrap_or_default()
        .min(not_idle(CpuTime::ZERO));
    let busy = not_idle(counted.steal).max(tasks);
    let sampled = counted.busy();
    if busy >= sampled {
        return CpuUse {
            unsampled: busy.since(sampled),
            ..counted
        };
    }
    let part = busy.0.as_secs_f64() / sampled.0.as_secs_f64();
    let scaled = |mode: CpuTime| CpuTime(mode.0.mul_f64(part));
    CpuUse {
        user: scaled(counted.user),
        system: scaled(counted.system),
        irq: scaled(counted.irq),
        softirq: scaled(counted.softirq),
        guest: scaled(counted.guest),
        ..counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::ms;

    fn second(counted: CpuUse) -> CpuUse {
        let passed = Duration::from_secs(1);
        from_idle(
            counted,
            Passed {
                least: passed,
                most: passed,
            },
        )
    }

    fn used(user: u64, idle: u64) -> CpuUse {
        CpuUse {
            user: ms(user),
            idle: ms(idle),
            ..CpuUse::default()
        }
    }

    #[test]
    fn work_that_no_tick_saw_is_busy_time() {
        let found = second(used(5, 690));
        assert_eq!((found.busy(), found.unsampled), (ms(310), ms(305)));
        assert_eq!(found.total(), ms(1000));
    }

    #[test]
    fn work_that_each_tick_saw_is_scaled_down() {
        let found = second(CpuUse {
            softirq: ms(100),
            ..used(900, 700)
        });
        assert_eq!((found.user, found.softirq), (ms(270), ms(30)));
        assert_eq!((found.busy(), found.unsampled), (ms(300), ms(0)));
    }

    #[test]
    fn counters_that_stand_still_show_nothing() {
        assert_eq!(second(CpuUse::default()), CpuUse::default());
    }

    #[test]
    fn what_may_have_passed_is_no_busy_time() {
        let passed = |least, most| Passed {
            least: ms(least).0,
            most: ms(most).0,
        };
        for (least, most, busy) in [(900, 1100, 300), (1050, 1100, 350), (800, 950, 250)] {
            let found = from_idle(used(300, 700), passed(least, most));
            assert_eq!(found.busy(), ms(busy), "{least} to {most}");
        }
    }

    #[test]
    fn stolen_time_that_counts_as_idle_too_hides_no_task() {
        let stolen = CpuUse {
            steal: ms(200),
            tasks: Some(ms(280)),
            ..used(300, 700)
        };
        assert_eq!(second(stolen).busy(), ms(280));
        let impossible = CpuUse {
            tasks: Some(ms(900)),
            ..stolen
        };
        assert_eq!(second(impossible).busy(), ms(300));
        let fully_idle = CpuUse {
            tasks: None,
            ..used(0, 1010)
        };
        assert_eq!(second(fully_idle).busy(), ms(0));
    }
}
