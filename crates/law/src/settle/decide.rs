//! The decision of one period.

use super::evidence::{Evidence, Saturation};
use super::goal::RESOLUTION;
use super::{Settle, SettleDecision, SettlePhase, SettleReason, SettleSample, Stage};
use plimsoll_model::{Rate, Share};
use std::time::Duration;

/// The largest change of the target in one period.
const MOST_UP: f64 = 1.25;
const MOST_DOWN: f64 = 0.5;

/// While a queue drains, at least this share of the target is offered: without requests
/// nothing is measured.
const LEAST_WHILE_DRAINING: f64 = 0.25;

/// Settled when the standard error, and the distance to the estimate, are below this share of the rate. At 0.05, half of the
/// simulated runs with a rare share above the limit were not settled after 30 s.
const SETTLED: f64 = 0.1;

/// For at least this long, so that it is more than one look.
const SETTLED_S: f64 = 3.0;

/// At most this long, a queue is given time to adapt. Close to saturation its relaxation
/// takes minutes, and then the backlog tells sooner.
const ADAPTS_S: f64 = 2.0;

/// More than this share of a period of waiting work is no stall.
const SURE_OVERLOAD: f64 = 0.5;

impl Settle {
    /// Decides from the state and the sample alone. A sample without length or requests
    /// changes nothing.
    pub fn decide(&mut self, sample: &SettleSample) -> SettleDecision {
        let seconds = sample.period.as_secs_f64();
        if seconds <= 0.0 || (sample.ended == 0 && sample.in_flight == 0) {
            return self.decided(self.target, SettleReason::NoRequests);
        }
        if sample.ended == 0 {
            return self.back_off(sample);
        }
        let throughput = sample.ended as f64 / seconds;
        let backlog = sample.in_flight as f64 / throughput;
        let busy = self.was_busy(sample, seconds);
        let lowest = self.target <= self.floor();
        if !lowest && backlog > self.goal.overload() {
            self.overloaded += 1;
            let falls_behind = throughput < sample.offered.get();
            let sure = self.overloaded > 1
                || self.stage == Stage::Rise
                || backlog > SURE_OVERLOAD * seconds;
            if falls_behind && sure {
                return self.leave_overload(sample, throughput, backlog);
            }
        } else {
            self.overloaded = 0;
        }
        let reason = self.judge(sample, seconds);
        self.stay_below_saturation();
        let waits_long = busy && backlog > self.goal.limit().as_secs_f64();
        if waits_long || self.overloaded > 0 {
            let rate = self.payback(sample, seconds);
            let backlog = time(backlog);
            return self.decided(rate, SettleReason::Drain { backlog });
        }
        self.decided(self.target, reason)
    }

    /// Whether the workers were busy throughout; if so, the throughput is remembered. A queue
    /// that relaxes slower than a period and is there at both ends was there in between.
    fn was_busy(&mut self, sample: &SettleSample, seconds: f64) -> bool {
        let rate = self.target.get();
        let queue = self.in_flight.min(sample.in_flight) as f64;
        self.in_flight = sample.in_flight;
        let busy =
            self.goal.relaxation_s(rate) > seconds && queue > self.goal.usual_in_flight(rate);
        self.saturation.pass(seconds, busy.then_some(sample.ended));
        busy
    }

    /// The highest rate that the throughput at saturation leaves to the goal, once it was seen.
    fn most(&self) -> Option<f64> {
        let throughput = self.saturation.throughput()?;
        Some(self.goal.below_saturation(throughput))
    }

    fn is_at_saturation(&self) -> bool {
        let least = |most: f64| most * (1.0 - RESOLUTION);
        self.most()
            .is_some_and(|most| self.target.get() >= least(most))
    }

    fn stay_below_saturation(&mut self) {
        if let Some(most) = self.most()
            && most < self.target.get()
        {
            self.follow(most / self.target.get());
        }
    }

    /// Nothing ended: half of the rate, at once.
    fn back_off(&mut self, sample: &SettleSample) -> SettleDecision {
        self.restart(Stage::Refine);
        self.move_to(self.target.get() * MOST_DOWN);
        let in_flight = sample.in_flight;
        self.decided(self.target, SettleReason::Stuck { in_flight })
    }

    /// The queue never emptied, so the throughput is that of saturation.
    fn leave_overload(
        &mut self,
        sample: &SettleSample,
        throughput: f64,
        backlog: f64,
    ) -> SettleDecision {
        let overloaded = self.overloaded;
        self.restart(Stage::Refine);
        self.overloaded = overloaded;
        self.saturation = Saturation::default();
        let seconds = sample.period.as_secs_f64();
        self.saturation.pass(seconds, Some(sample.ended));
        let below = self.goal.below_saturation(throughput);
        self.move_to(below.min(self.target.get()));
        self.adapts_s = self.adaption();
        let rate = self.payback(sample, seconds);
        let reason = SettleReason::Overload {
            backlog: time(backlog),
            bound: time(self.goal.overload()),
            throughput: Rate::per_second(throughput).unwrap_or(Rate::ZERO),
        };
        self.decided(rate, reason)
    }

    /// The target less what waits too much, so that it is gone after one period.
    fn payback(&self, sample: &SettleSample, seconds: f64) -> Rate {
        let target = self.target.get();
        let excess = sample.in_flight as f64 - self.goal.usual_in_flight(target);
        let least = (target * LEAST_WHILE_DRAINING).max(self.floor().get());
        let rate = (target - excess.max(0.0) / seconds).max(least);
        Rate::per_second(rate).unwrap_or(self.target)
    }

    fn judge(&mut self, sample: &SettleSample, seconds: f64) -> SettleReason {
        match self.stage {
            Stage::Rise => self.rise(sample, seconds),
            Stage::Refine if self.adapts_s > seconds / 4.0 => {
                self.adapts_s -= seconds;
                SettleReason::QueueAdapts
            }
            Stage::Refine => self.refine(sample, seconds),
        }
    }

    /// Rises while clearly less than half of what is allowed is above the limit.
    fn rise(&mut self, sample: &SettleSample, seconds: f64) -> SettleReason {
        let allowed = self.goal.allowed() * sample.ended as f64;
        let ratio = (allowed + 1.0) / (sample.over_limit as f64 + 1.0);
        let at_ceiling = self.target >= self.ceiling();
        if ratio < 2.0 || at_ceiling {
            self.restart(Stage::Refine);
            return self.refine(sample, seconds);
        }
        // From afar the slope is at most that of the largest step.
        let slope = self.goal.slope(self.target.get()).min(1.0 / MOST_UP.ln());
        let factor = ratio.powf(1.0 / slope).min(MOST_UP);
        self.move_to(self.target.get() * factor);
        SettleReason::FarBelow {
            over: share(sample.over_limit as f64 / sample.ended as f64),
            allowed: share(self.goal.allowed()),
        }
    }

    fn refine(&mut self, sample: &SettleSample, seconds: f64) -> SettleReason {
        let (goal, rate) = (self.goal, self.target);
        let counts = (sample.ended, sample.over_limit);
        self.evidence.add(goal, rate, seconds, counts);
        if rate <= self.floor() && self.evidence.clearly_missed(goal, rate) {
            self.phase = SettlePhase::Unreachable;
            return SettleReason::MissedAtFloor;
        }
        let standard_error = self.evidence.standard_error(goal, rate);
        let looks = seconds / goal.relaxation_s(rate.get());
        let (offered, in_flight) = (sample.offered, sample.in_flight);
        let is_refuted = self.saturation.is_refuted(offered, in_flight, looks);
        if (self.evidence.far_below() || is_refuted) && rate < self.ceiling() {
            self.saturation = Saturation::default();
            self.restart(Stage::Rise);
            return self.rise(sample, seconds);
        }
        let estimate = self.evidence.factor(goal, rate);
        // A rate that is far from where the evidence points is not held but on its way, unless the
        // throughput at saturation holds it back.
        let is_there = estimate.ln().abs() <= SETTLED || self.is_at_saturation();
        let precise = standard_error < SETTLED && self.evidence.seconds() >= SETTLED_S;
        let known = precise && is_there;
        self.phase = match known {
            true => SettlePhase::Settled,
            false => SettlePhase::Settling,
        };
        let (margin, most) = match known {
            true => ((-standard_error).exp(), 1.0 + RESOLUTION * seconds),
            false => (1.0, MOST_UP),
        };
        let factor = estimate * margin;
        self.follow(factor.clamp(MOST_DOWN, most));
        // Where nearly all are above the limit, their number says little about the distance.
        let saturated = (1.0 + goal.allowed()) / 2.0 * sample.ended as f64;
        if sample.over_limit as f64 > saturated && self.target > self.floor() {
            self.evidence = Evidence::default();
            self.adapts_s = self.adaption();
        }
        match self.target >= self.ceiling() {
            true => SettleReason::AtCeiling,
            false => SettleReason::Estimate { standard_error },
        }
    }

    /// Moves the target, and keeps what the evidence says about rates as near as this.
    fn follow(&mut self, factor: f64) {
        let before = self.target;
        self.move_to(before.get() * factor);
        let moved = self.target.get() / before.get();
        self.evidence.rescale(self.goal, before, moved);
    }

    fn adaption(&self) -> f64 {
        self.goal.relaxation_s(self.target.get()).min(ADAPTS_S)
    }

    fn move_to(&mut self, rate: f64) {
        let within = rate.clamp(self.floor().get(), self.ceiling().get());
        self.target = Rate::per_second(within).unwrap_or(self.target);
    }

    fn decided(&self, rate: Rate, reason: SettleReason) -> SettleDecision {
        SettleDecision {
            rate,
            phase: self.phase,
            reason,
        }
    }
}

fn time(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

fn share(x: f64) -> Share {
    Share::new(x.clamp(0.0, 1.0)).unwrap_or(Share::ZERO)
}
