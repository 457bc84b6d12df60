//! The law and the queue in a loop.

use crate::queue::{Queue, Spec};
use plimsoll_law::{LatencyGoal, Settle, SettleDecision, SettlePhase, SettleSample};
use plimsoll_model::{Goal, Rate};
use std::time::Duration;

pub(crate) const PERIOD: f64 = 0.5;

pub(crate) fn goal(text: &str) -> LatencyGoal {
    LatencyGoal::try_from(text.parse::<Goal>().unwrap()).unwrap()
}

pub(crate) fn rate(per_second: f64) -> Rate {
    Rate::per_second(per_second).unwrap()
}

/// One period and the decision after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// The end of the period, in seconds.
    pub(crate) at: f64,
    pub(crate) seen: SettleSample,
    pub(crate) decision: SettleDecision,
}

pub(crate) struct Rig {
    pub(crate) law: Settle,
    pub(crate) queue: Queue,
    pub(crate) steps: Vec<Step>,
    offered: Rate,
    at: f64,
}

impl Rig {
    /// `rating` is relative to saturation.
    pub(crate) fn new(goal: LatencyGoal, spec: Spec, rating: f64, seed: u64) -> Rig {
        let law = Settle::new(goal, rate(rating * spec.saturation()));
        Rig {
            offered: law.target(),
            law,
            queue: Queue::new(spec, seed),
            steps: Vec::new(),
            at: 0.0,
        }
    }

    pub(crate) fn run(&mut self, seconds: f64) {
        let until = self.at + seconds - 1e-9;
        while self.at < until {
            let limit = self.law.goal().limit().as_secs_f64();
            let counts = self.queue.run(self.offered.get(), PERIOD, limit);
            self.at += PERIOD;
            let seen = SettleSample {
                period: Duration::from_secs_f64(PERIOD),
                offered: self.offered,
                ended: counts.ended,
                over_limit: counts.over,
                in_flight: counts.in_flight,
            };
            let decision = self.law.decide(&seen);
            self.offered = decision.rate;
            self.steps.push(Step {
                at: self.at,
                seen,
                decision,
            });
        }
    }

    pub(crate) fn set_goal(&mut self, goal: LatencyGoal) {
        self.offered = self.law.set_goal(goal).rate;
    }

    fn between(&self, from: f64, to: f64) -> impl Iterator<Item = &Step> {
        let inside = move |step: &&Step| step.at > from + 1e-6 && step.at < to + 1e-6;
        self.steps.iter().filter(inside)
    }

    /// The mean of the offered rate.
    pub(crate) fn mean_rate(&self, from: f64, to: f64) -> f64 {
        let rates: Vec<f64> = self
            .between(from, to)
            .map(|s| s.seen.offered.get())
            .collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    }

    /// Of all requests that ended, the share above the limit.
    pub(crate) fn over_share(&self, from: f64, to: f64) -> f64 {
        let ended: u64 = self.between(from, to).map(|s| s.seen.ended).sum();
        let over: u64 = self.between(from, to).map(|s| s.seen.over_limit).sum();
        over as f64 / ended.max(1) as f64
    }

    /// When it was settled first after `from`, in seconds since then.
    pub(crate) fn settled_after(&self, from: f64) -> Option<f64> {
        let mut later = self.steps.iter().filter(|step| step.at > from);
        let settled = later.find(|step| step.decision.phase == SettlePhase::Settled)?;
        Some(settled.at - from)
    }
}
