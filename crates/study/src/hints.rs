//! Bottleneck hints: what grows faster than the load.
//!
//! A counter per request that stays the same at any load is a cost; one that
//! grows with the load is a queue, a lock or a scheduler that begins to cost
//! more than the work. Its growth is the slope of the logarithm of the counter
//! per request over the logarithm of the load: 0 when a request costs the
//! same at any load, 1 when twice the load doubles the cost of each request.
//!
//! The slope is that of Theil and Sen, the median over the slopes of all pairs
//! of trials (Sen, "Estimates of the regression coefficient based on Kendall's
//! tau", Journal of the American Statistical Association 63, 1968), because
//! nearly a third of the trials may be off before it breaks down. Its interval
//! is a bootstrap over trials.

use crate::theil_sen::Line;
use plimsoll_model::{CpuTime, CpuUse, Estimate, HintFinding, Trial, sort_by_number};
use std::fmt;
use std::time::Duration;

/// What the lower end of a slope must exceed: twice the load makes a request
/// at least 7 % dearer.
pub(crate) const LEAST_SLOPE: f64 = 0.1;

/// What a counter must amount to at the highest load, in percent of the CPU
/// time per request.
pub(crate) const LEAST_SHARE_PCT: f64 = 5.0;

/// What a context switch is taken to cost. Li, Ding and Shen ("Quantifying the
/// cost of context switch", ExpCS 2007) measured 3.8 us without cache misses;
/// CPUs have become faster since, so this rather understates.
const SWITCH_US: f64 = 2.0;

/// Two logarithms of loads that are nearer than 5 % are one load: the slope
/// between them is noise over noise.
const LEAST_DISTANCE: f64 = 0.05;

/// Half of the tick in which Linux may count CPU time. A time below may be
/// none, which has no logarithm.
const HALF_TICK: Duration = Duration::from_millis(5);

/// The least that a clock in nanoseconds is asked for, for its logarithm.
const HALF_MICROSECOND: Duration = Duration::from_nanos(500);

/// What is counted per request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counter {
    /// CPU time of the service, else busy time of its CPUs.
    Cpu,
    /// Time in the kernel for tasks, on the service's CPUs.
    SystemTime,
    /// Time that the service's threads were runnable and waited for a CPU.
    RunDelay,
    /// Context switches of the service's threads, else of the machine.
    ContextSwitches,
    /// Time that the hypervisor took from the service's CPUs.
    Steal,
}

impl Counter {
    const ALL: [Counter; 5] = [
        Counter::Cpu,
        Counter::SystemTime,
        Counter::RunDelay,
        Counter::ContextSwitches,
        Counter::Steal,
    ];

    /// In which unit it is counted per request.
    fn unit(self) -> &'static str {
        match self {
            Counter::ContextSwitches => "switches",
            _ => "us",
        }
    }

    /// What one unit takes, in microseconds.
    fn unit_us(self) -> f64 {
        match self {
            Counter::ContextSwitches => SWITCH_US,
            _ => 1.0,
        }
    }

    /// Per request over a whole series, from the first source that every
    /// trial has: a mixture of sources would show steps that are none.
    fn series(self, trials: &[&Trial]) -> Option<Vec<f64>> {
        let sources: &[fn(&Trial) -> Option<f64>] = match self {
            Counter::Cpu => &[
                |t| time(t.service.as_ref()?.cpu, t),
                |t| time(t.machine.service_cpu?.busy(), t),
                |t| time(t.machine.cpu?.busy(), t),
            ],
            Counter::SystemTime => &[|t| time(cpus(t)?.by_kernel(), t)],
            Counter::Steal => &[|t| time(cpus(t)?.steal, t)],
            Counter::RunDelay => &[|t| exact(t.service.as_ref()?.run_delay?, t)],
            Counter::ContextSwitches => &[
                |t| count(t.service.as_ref()?.context_switches?, t),
                |t| count(t.machine.context_switches?, t),
            ],
        };
        let all = |source: &fn(&Trial) -> Option<f64>| trials.iter().map(|t| source(t)).collect();
        sources.iter().find_map(all)
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Counter::Cpu => "CPU time",
            Counter::SystemTime => "time in the kernel",
            Counter::RunDelay => "waiting for a CPU",
            Counter::ContextSwitches => "context switches",
            Counter::Steal => "time taken by the hypervisor",
        })
    }
}

/// The service's CPUs, else all.
fn cpus(trial: &Trial) -> Option<CpuUse> {
    trial.machine.service_cpu.or(trial.machine.cpu)
}

/// A time that may be counted in ticks.
fn time(time: CpuTime, trial: &Trial) -> Option<f64> {
    CpuTime(time.0.max(HALF_TICK)).us_per(trial.sensed_answers())
}

/// A time that the scheduler adds up in nanoseconds.
fn exact(time: Duration, trial: &Trial) -> Option<f64> {
    CpuTime(time.max(HALF_MICROSECOND)).us_per(trial.sensed_answers())
}

fn count(n: u64, trial: &Trial) -> Option<f64> {
    let answers = trial.sensed_answers();
    (answers > 0.0).then(|| (n as f64).max(0.5) / answers)
}

/// How a counter per request goes with the load.
#[derive(Debug, Clone, PartialEq)]
struct Growth {
    counter: Counter,
    /// By the fit.
    found: HintFinding,
    /// What it amounts to at the highest load, in percent of the CPU time per
    /// request there. May exceed 100. `None` where CPU time is not known.
    share_of_cpu_pct: Option<f64>,
}

impl Growth {
    /// Whether it is worth a look: it surely grows, and it matters.
    fn is_hint(&self) -> bool {
        let grows = self.found.slope.low.is_some_and(|low| low > LEAST_SLOPE);
        grows && self.matters()
    }

    /// Whether it could be, before its interval is known: that holds the slope.
    fn may_be_hint(&self) -> bool {
        self.found.slope.value > LEAST_SLOPE && self.matters()
    }

    fn matters(&self) -> bool {
        let share = self.share_of_cpu_pct;
        share.is_some_and(|share| share >= LEAST_SHARE_PCT)
    }
}

/// Every counter that all trials have, the fastest growing first. Those that are
/// `wanted` have an interval, which takes by far the most time.
///
/// Uses those of `trials` that are valid and have an answer. Give it trials that the
/// service carried; a growing backlog makes anything grow.
fn grown(trials: &[&Trial], seed: u64, wanted: impl Fn(&Growth) -> bool) -> Vec<Growth> {
    let counts = |t: &&Trial| t.verdict.is_valid() && t.work.completed > 0;
    let trials: Vec<&Trial> = trials.iter().copied().filter(counts).collect();
    let loads: Vec<f64> = trials.iter().map(|t| t.achieved().get()).collect();
    let lowest_rps = loads.iter().copied().fold(f64::INFINITY, f64::min);
    let highest_rps = loads.iter().copied().fold(0.0, f64::max);
    let line = |counter: Counter| {
        let values = counter.series(&trials)?;
        let logs = loads.iter().zip(&values).map(|(x, y)| (x.ln(), y.ln()));
        Line::through(&logs.collect::<Vec<_>>(), LEAST_DISTANCE)
    };
    let cpu_at_highest = line(Counter::Cpu).map(|line| line.at(highest_rps.ln()).exp());
    let one = |counter: Counter| {
        let line = line(counter)?;
        let at_highest = line.at(highest_rps.ln()).exp();
        let found = HintFinding {
            counter: counter.to_string(),
            unit: counter.unit(),
            slope: Estimate::alone(line.slope()),
            at_lowest: line.at(lowest_rps.ln()).exp(),
            at_highest,
            from_rps: lowest_rps,
            to_rps: highest_rps,
        };
        let mut growth = Growth {
            counter,
            found,
            share_of_cpu_pct: cpu_at_highest
                .map(|cpu| 100.0 * at_highest * counter.unit_us() / cpu),
        };
        if wanted(&growth) {
            growth.found.slope = line.slope_with_interval(seed);
        }
        Some(growth)
    };
    let mut found: Vec<Growth> = Counter::ALL.into_iter().filter_map(one).collect();
    sort_by_number(&mut found, |one| -one.found.slope.value);
    found
}

/// Those counters that surely grow faster than the load and matter, the
/// fastest growing first.
pub(crate) fn hints(trials: &[&Trial], seed: u64) -> Vec<HintFinding> {
    let found = grown(trials, seed, Growth::may_be_hint).into_iter();
    found
        .filter(Growth::is_hint)
        .map(|growth| growth.found)
        .collect()
}

#[cfg(test)]
mod tests;
