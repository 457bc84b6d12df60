//! Tasks that wake on CPUs, and the law, on virtual time in steps of a millisecond.

use crate::arrivals::PERIOD;
use crate::random::Random;
use plimsoll_law::{
    AwakeEntry, AwakeSample, AwakeState, Change, KeepAwake, TaskCpus, Why, replay_awake,
};
use plimsoll_model::{CpuId, CpuSet, CpuTime};
use std::time::Duration;

const STEP: Duration = Duration::from_millis(1);

/// A task that wakes, runs for less than a step, and sleeps.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) cpu: CpuId,
    /// Mean time between wake-ups; exponential.
    pub(crate) gap: Duration,
}

/// What the rig counts of a run.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) wakeups: u32,
    /// On a CPU that was not held.
    pub(crate) cold: u32,
    /// Time of held CPUs, summed.
    pub(crate) held: Duration,
    pub(crate) writes: u32,
    pub(crate) changes: Vec<(Duration, Change)>,
}

pub(crate) struct Rig {
    pub(crate) law: KeepAwake,
    pub(crate) online: CpuSet,
    pub(crate) tasks: Vec<Task>,
    /// Whether samples have the tasks.
    pub(crate) readable: bool,
    pub(crate) hold: CpuSet,
    pub(crate) at: Duration,
    state: AwakeState,
    random: Random,
    wakes_at: Vec<Duration>,
    lines: Vec<String>,
}

impl Rig {
    pub(crate) fn new(law: KeepAwake, online: &str, tasks: Vec<Task>) -> Rig {
        let state = law.start();
        let begin = AwakeEntry::AwakeBegin {
            law: law.clone(),
            state: state.clone(),
        };
        Rig {
            state,
            online: online.parse().unwrap(),
            readable: true,
            hold: CpuSet::default(),
            at: Duration::ZERO,
            random: Random::seeded(7),
            wakes_at: vec![Duration::ZERO; tasks.len()],
            tasks,
            law,
            lines: vec![begin.to_line().unwrap()],
        }
    }

    /// Runs for `time`; `place` says where a task runs that wakes, given a random number
    /// in (0, 1).
    pub(crate) fn run(
        &mut self,
        time: Duration,
        place: impl Fn(usize, &Task, f64) -> CpuId,
    ) -> Counted {
        let mut counted = Counted::default();
        let end = self.at + time;
        let mut seen = TaskCpus::default();
        while self.at < end {
            self.at += STEP;
            counted.held += STEP * self.hold.len() as u32;
            for i in 0..self.tasks.len() {
                if self.wakes_at[i] > self.at {
                    continue;
                }
                let cpu = place(i, &self.tasks[i], self.random.unit());
                self.tasks[i].cpu = cpu;
                seen.ran = seen.ran.iter().chain([cpu]).collect();
                counted.wakeups += 1;
                counted.cold += u32::from(!self.hold.contains(cpu));
                self.wakes_at[i] = self.at + self.tasks[i].gap.mul_f64(self.random.exponential());
            }
            if self.at.as_nanos().is_multiple_of(PERIOD.as_nanos()) {
                self.decide(std::mem::take(&mut seen), &mut counted);
            }
        }
        counted
    }

    fn decide(&mut self, mut seen: TaskCpus, counted: &mut Counted) {
        seen.last = self.tasks.iter().map(|task| task.cpu).collect();
        let sample = AwakeSample {
            at: self.at,
            online: self.online.clone(),
            tasks: self.readable.then_some(seen),
            burn: CpuTime(PERIOD * self.hold.and(&self.online).len() as u32),
        };
        let decision = self.law.decide(&self.state, &sample);
        let added = decision.hold.without(&self.hold).len();
        let removed = self.hold.without(&decision.hold).len();
        // A CPU that is offline needs no write.
        let offline = decision.changes.iter().filter(|c| c.why == Why::Offline);
        let offline: usize = offline.map(|c| c.cpus.len()).sum();
        counted.writes += (added + removed - offline) as u32;
        let made = decision.changes.iter().cloned();
        counted.changes.extend(made.map(|change| (self.at, change)));
        let entry = AwakeEntry::AwakeDecision {
            sample,
            hold: decision.hold.clone(),
            changes: decision.changes,
            deferred: decision.deferred,
        };
        self.lines.push(entry.to_line().unwrap());
        self.hold = decision.hold;
        self.state = decision.state;
    }

    /// Lets each task wake now.
    pub(crate) fn wake_all(&mut self) {
        self.wakes_at.fill(self.at);
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Replays the log of the run.
    pub(crate) fn replay(&self) {
        let decisions = replay_awake(self.lines.iter().map(String::as_str)).unwrap();
        assert_eq!(decisions, self.lines.len() - 1);
    }
}
