//! CPU time as the kernel would count it.

use crate::random::SeededRng;
use plimsoll_model::{CpuTime, CpuUse, Second, Share};
use std::time::Duration;

/// Resolution of /proc/stat, in seconds.
const TICK: f64 = 0.01;

/// The fraction of busy time in user mode.
const USER_SHARE: f64 = 0.75;

/// CPU time of the window.
pub(crate) struct Used {
    /// In whole ticks, as /proc/stat counts.
    pub(crate) machine: CpuUse,
    /// Exact, as the scheduler counts for a task.
    pub(crate) service: CpuTime,
}

/// Sets the CPU use of each measured second and returns the sums. Each answer
/// costs `per_answer` seconds on one of `cpus` CPUs.
///
/// Counters advance in whole ticks from a random phase, so each difference is
/// off by up to a tick, and the errors of the seconds add up to that of the
/// window.
pub(crate) fn account(
    seconds: &mut [Second],
    per_answer: f64,
    cpus: u32,
    rng: &mut SeededRng,
) -> Used {
    let mut user = Counter::new(rng);
    let mut system = Counter::new(rng);
    let mut used = Used {
        machine: CpuUse::default(),
        service: CpuTime::ZERO,
    };
    for second in seconds.iter_mut().filter(|s| s.measured) {
        let there = second.length * cpus;
        let busy = (second.completed as f64 * per_answer).min(there.as_secs_f64());
        let mut counted = CpuUse {
            user: user.add(busy * USER_SHARE),
            system: system.add(busy * (1.0 - USER_SHARE)),
            ..CpuUse::default()
        };
        counted.idle = CpuTime(there).since(counted.busy());
        second.cpu = counted.busy_share();
        second.steal = Some(Share::ZERO);
        used.machine = used.machine + counted;
        used.service = used.service + CpuTime(Duration::from_secs_f64(busy));
    }
    used
}

/// A kernel counter in whole ticks.
struct Counter {
    /// Seconds since the counter's last whole tick.
    rest: f64,
}

impl Counter {
    fn new(rng: &mut SeededRng) -> Counter {
        Counter {
            rest: rng.unit() * TICK,
        }
    }

    /// The counter's increment for `seconds` of CPU time.
    fn add(&mut self, seconds: f64) -> CpuTime {
        self.rest += seconds;
        let ticks = (self.rest / TICK).floor();
        self.rest -= ticks * TICK;
        CpuTime(Duration::from_secs_f64(ticks * TICK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_lose_no_time_from_second_to_second() {
        let second = Second {
            at: Duration::from_secs(1),
            length: Duration::from_secs(1),
            measured: true,
            sent: 0,
            completed: 333,
            errors: 0,
            in_flight: 0,
            p50: None,
            p99: None,
            cpu: None,
            steal: None,
        };
        let mut seconds = vec![second; 100];
        let used = account(&mut seconds, 0.002, 2, &mut SeededRng::seeded(1));
        let service = used.service.0.as_secs_f64();
        assert!((service - 66.6).abs() < 1e-6, "{service}");
        let machine = used.machine.busy().0.as_secs_f64();
        assert!((machine - service).abs() <= 2.0 * TICK, "{machine}");
        assert_eq!(used.machine.total().0, Duration::from_secs(200));
        assert!(seconds.iter().any(|s| s.cpu != seconds[0].cpu), "noise");
    }
}
