//! What a gate did.

use plimsoll_model::{CpuTime, human_duration};
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct GateTally {
    held: Duration,
    burn: Duration,
    changes: u32,
    spun: Duration,
    longest_period: Duration,
    rounds: u32,
    answers: u32,
    longest_answer: Duration,
    unplaced: usize,
    /// CPU time of this program at the start.
    own_before: Option<Duration>,
}

fn own_cpu() -> Option<Duration> {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).ok()
}

/// What a gate did, as a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct GateSummary {
    pub elapsed: Duration,
    /// Summed over CPUs.
    pub held: CpuTime,
    /// Of that, what the followed tasks did not use: an upper bound of the burn.
    pub burn: CpuTime,
    /// How often a CPU was held or released.
    pub changes: u32,
    /// Between two looks where the tasks ran, at the longest.
    pub longest_period: Duration,
    /// How often a task moved to a CPU that was not held, as the kernel told, and how long at
    /// the longest until that CPU was held.
    pub answers: (u32, Duration),
    /// Threads that could not be restricted to the pool.
    pub unplaced: usize,
    /// CPU time of this program without its spinners.
    pub own: Option<CpuTime>,
}

impl GateTally {
    pub(super) fn start() -> GateTally {
        GateTally {
            own_before: own_cpu(),
            ..GateTally::default()
        }
    }

    pub(super) fn add(&mut self, elapsed: Duration, kept: u32, burn: CpuTime) {
        self.held += elapsed * kept;
        self.burn += burn.0;
        self.rounds += 1;
        if self.rounds > 1 {
            self.longest_period = self.longest_period.max(elapsed);
        }
    }

    /// A task moved to a CPU that was not held, and `after` that the CPU was held.
    pub(super) fn answered(&mut self, after: Duration) {
        self.answers += 1;
        self.longest_answer = self.longest_answer.max(after);
    }

    pub(super) fn not_placed(&mut self, threads: usize) {
        self.unplaced += threads;
    }

    pub(super) fn changed(&mut self) {
        self.changes += 1;
    }

    pub(super) fn spun(&mut self, spun: Duration) {
        self.spun += spun;
    }

    pub(super) fn summary(&self, elapsed: Duration) -> GateSummary {
        let own = own_cpu().zip(self.own_before);
        let own = own.map(|(now, before)| now.saturating_sub(before + self.spun));
        GateSummary {
            elapsed,
            held: CpuTime(self.held),
            burn: CpuTime(self.burn),
            changes: self.changes,
            longest_period: self.longest_period,
            answers: (self.answers, self.longest_answer),
            unplaced: self.unplaced,
            own: own.map(CpuTime),
        }
    }
}

impl fmt::Display for GateSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
        write!(
            f,
            "held CPUs for {} of CPU time in {}, with {} changes; burn at most {}",
            seconds(self.held.0),
            seconds(self.elapsed),
            self.changes,
            seconds(self.burn.0),
        )?;
        match self.answers {
            (0, _) if self.longest_period.is_zero() => {}
            (0, _) => {
                let longest = human_duration(self.longest_period);
                write!(f, "; looked where tasks ran at least every {longest}")?;
            }
            (1, after) => write!(
                f,
                "; 1 move to another CPU, held after {}",
                human_duration(after)
            )?,
            (moves, after) => {
                let after = human_duration(after);
                write!(f, "; {moves} moves to other CPUs, held within {after}")?;
            }
        }
        match self.unplaced {
            0 => {}
            1 => f.write_str("; 1 thread was not restricted to the pool")?,
            n => write!(f, "; {n} threads were not restricted to the pool")?,
        }
        match self.own {
            // Shorter ones are mostly start and end.
            Some(own) if self.elapsed >= Duration::from_secs(5) => {
                let share = own.0.as_secs_f64() / self.elapsed.as_secs_f64();
                write!(f, "; own cost {:.2} % of a CPU", share * 100.0)
            }
            _ => Ok(()),
        }
    }
}
