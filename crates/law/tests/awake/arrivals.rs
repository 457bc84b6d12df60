//! Seeded wake-ups of one task on one CPU, and the cost of a rule against hindsight.

use crate::random::Random;
use plimsoll_law::{AwakeSample, HoldRule, KeepAwake, Price, TaskCpus};
use plimsoll_model::{CpuTime, Share};
use std::time::Duration;

/// Sampled at 50 Hz, and a wake-up is worth 100 ms of burn: the program's defaults.
pub(crate) const PERIOD: Duration = Duration::from_millis(20);
pub(crate) const WAKEUP: Duration = Duration::from_millis(100);

/// Seconds of 300 wake-ups: one of four patterns, its mean gap log-uniform from 1 ms to
/// 10 s, which is from a twentieth of a sampling period to a hundred holds.
pub(crate) fn arrivals(seed: u64) -> Vec<f64> {
    let mut random = Random::seeded(seed);
    let mean = random.log_uniform(1e-3, 10.0);
    let in_burst = 1.0 + 49.0 * random.unit();
    let pause = random.log_uniform(0.1, 10.0);
    let mut at = 0.0;
    (0..300)
        .map(|_| {
            at += match seed % 4 {
                0 => mean * random.exponential(),
                1 => mean * (0.9 + 0.2 * random.unit()),
                // Bursts with short gaps, and pauses between them.
                2 if random.unit() < 1.0 / in_burst => pause * random.exponential(),
                2 => mean.min(0.05) * random.exponential(),
                // Pareto with an infinite variance: mostly short, sometimes very long.
                _ => (mean / 3.0 * random.unit().powf(-1.0 / 1.5)).min(60.0),
            };
            at
        })
        .collect()
}

pub(crate) fn law(rule: HoldRule, period: Duration) -> KeepAwake {
    let price = Price {
        wakeup: CpuTime(WAKEUP),
        burn: Share::ONE,
    };
    KeepAwake::new(rule, price, Vec::new(), period)
}

/// In seconds of burn.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Costs {
    pub(crate) burn: f64,
    /// Wake-ups on a released CPU.
    pub(crate) cold: u32,
    /// Burn and wake-ups of the best decisions in hindsight.
    pub(crate) hindsight: f64,
}

impl Costs {
    pub(crate) fn cost(&self) -> f64 {
        self.burn + f64::from(self.cold) * WAKEUP.as_secs_f64()
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.cost() / self.hindsight
    }
}

/// Up to the last arrival, with times as sampled: an arrival counts at the end of its
/// period, for the rule and for hindsight alike.
pub(crate) fn sampled_costs(rule: HoldRule, arrivals: &[f64], period: Duration) -> Costs {
    let law = law(rule, period);
    let seconds = period.as_secs_f64();
    let mut costs = Costs::default();
    let mut state = law.start();
    let mut held = false;
    let (mut tick, mut last_run) = (0u32, None::<Duration>);
    let mut arrivals = arrivals.iter().peekable();
    while let Some(next) = arrivals.peek() {
        let jump = idle_periods(
            **next,
            period * tick,
            last_run.map(|at: Duration| at.as_secs_f64()),
            period,
        );
        costs.burn += if held { seconds * f64::from(jump) } else { 0.0 };
        tick += jump + 1;
        let at = period * tick;
        let mut ran = false;
        while arrivals.next_if(|t| **t <= at.as_secs_f64()).is_some() {
            ran = true;
        }
        if held {
            costs.burn += seconds;
        } else if ran {
            costs.cold += 1;
        }
        if ran {
            let gap = last_run.map_or(WAKEUP, |then| at - then);
            costs.hindsight += gap.min(WAKEUP).as_secs_f64();
            last_run = Some(at);
        }
        let cpu = "0".parse().unwrap_or_default();
        let decision = law.decide(&state, &sample(at, ran, &cpu));
        held = decision.hold.contains(0);
        state = decision.state;
    }
    costs
}

/// The same with the true times: burn runs from the arrival, not from its sample, and
/// hindsight knows each arrival.
pub(crate) fn true_costs(rule: HoldRule, arrivals: &[f64], period: Duration) -> Costs {
    let law = law(rule, period);
    let mut costs = Costs::default();
    let (mut state, mut held) = (law.start(), false);
    let (mut now, mut last) = (0.0, None::<f64>);
    let mut next = arrivals.iter().peekable();
    let mut tick = 0u32;
    while let Some(coming) = next.peek() {
        tick += idle_periods(**coming, period * tick, last, period) + 1;
        let at = period * tick;
        let mut ran = false;
        while let Some(t) = next.next_if(|t| **t <= at.as_secs_f64()) {
            ran = true;
            costs.burn += if held { t - now } else { 0.0 };
            costs.cold += u32::from(!held);
            let wakeup = WAKEUP.as_secs_f64();
            costs.hindsight += last.map_or(wakeup, |then| (t - then).min(wakeup));
            (now, last) = (*t, Some(*t));
        }
        costs.burn += if held { at.as_secs_f64() - now } else { 0.0 };
        now = at.as_secs_f64();
        let cpu = "0".parse().unwrap_or_default();
        let decision = law.decide(&state, &sample(at, ran, &cpu));
        held = decision.hold.contains(0);
        state = decision.state;
    }
    costs
}

/// Periods that need no decision, because a second has passed since the last arrival and
/// none is near: each rule has decided by then.
fn idle_periods(next: f64, now: Duration, since: Option<f64>, period: Duration) -> u32 {
    let settled = since.is_none_or(|last| now.as_secs_f64() - last > 1.0);
    let ahead = (next - now.as_secs_f64()) / period.as_secs_f64() - 2.0;
    if settled && ahead > 0.0 {
        ahead as u32
    } else {
        0
    }
}

fn sample(at: Duration, ran: bool, cpu: &plimsoll_model::CpuSet) -> AwakeSample {
    AwakeSample {
        at,
        online: cpu.clone(),
        tasks: Some(TaskCpus {
            ran: if ran { cpu.clone() } else { Default::default() },
            last: cpu.clone(),
        }),
        burn: CpuTime::ZERO,
    }
}
