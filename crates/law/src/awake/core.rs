//! The gaps of one core, and for how long it is held in the next.

use super::HoldRule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Gaps that the learnt hold follows from.
const HISTORY: usize = 16;
/// With fewer, the hold is the break-even time.
const LEAST_HISTORY: usize = 4;

/// What is known of a core. Times are since the start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CoreState {
    /// When a followed task was last seen to have run here; `None` before the first.
    #[serde(rename = "ran_at_ns", with = "plimsoll_model::OptionNs")]
    pub(super) ran_at: Option<Duration>,
    /// Whether a sample since then saw no followed task run.
    pub(super) idle: bool,
    /// For how long it was held in this gap, if it was released in it.
    #[serde(rename = "held_in_gap_ns", with = "plimsoll_model::OptionNs")]
    pub(super) held_in_gap: Option<Duration>,
    /// The last gaps between runs, oldest first.
    #[serde(rename = "gaps_ns", with = "plimsoll_model::NsList")]
    pub(super) gaps: Vec<Duration>,
    /// How much less than twice the cost in hindsight all gaps have cost so far, in time
    /// of burn; at most the break-even time.
    #[serde(rename = "slack_ns", with = "plimsoll_model::Ns")]
    pub(super) slack: Duration,
    /// The hold in a gap that begins now.
    #[serde(rename = "hold_ns", with = "plimsoll_model::Ns")]
    pub(super) hold: Duration,
}

/// What the hold of a core depends on, apart from its gaps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) rule: HoldRule,
    /// The idle time that costs as much as one wake-up.
    pub(super) break_even: Duration,
    pub(super) least_hold: Duration,
    /// Between this sample and the one before.
    pub(super) period: Duration,
}

impl CoreState {
    /// For how long no followed task has run here at `at`; zero before the first run.
    pub(super) fn idle_for(&self, at: Duration) -> Duration {
        match (self.idle, self.ran_at) {
            (true, Some(ran_at)) => at.saturating_sub(ran_at),
            _ => Duration::ZERO,
        }
    }

    /// Whether the hold of the current gap has passed at `at`.
    pub(super) fn is_over(&self, at: Duration) -> bool {
        self.idle && self.idle_for(at) >= self.hold
    }

    /// Notes that the core is released at `at`.
    pub(super) fn release(&mut self, at: Duration) {
        self.held_in_gap = Some(self.idle_for(at));
    }

    /// Notes whether a followed task ran here in the period that ends at `at`.
    pub(super) fn observe(&mut self, ran: bool, at: Duration, terms: &Terms) {
        if !ran {
            self.idle = true;
            return;
        }
        let break_even = terms.break_even;
        match self.ran_at {
            // It was released: one wake-up, which hindsight pays, too.
            None => (self.slack, self.hold) = (break_even, break_even),
            Some(ran_at) if self.idle => self.end_gap(at.saturating_sub(ran_at), terms),
            Some(_) => {}
        }
        self.ran_at = Some(at);
        self.idle = false;
        self.held_in_gap = None;
    }

    fn end_gap(&mut self, gap: Duration, terms: &Terms) {
        let break_even = terms.break_even;
        let cost = match self.held_in_gap {
            Some(held) => held + break_even,
            None => gap,
        };
        let hindsight = gap.min(break_even);
        self.slack = (self.slack + 2 * hindsight)
            .saturating_sub(cost)
            .min(break_even);
        if self.gaps.len() == HISTORY {
            self.gaps.remove(0);
        }
        self.gaps.push(gap);
        self.hold = match terms.rule {
            HoldRule::Rent if self.gaps.len() >= LEAST_HISTORY => self.learnt_hold(terms),
            _ => break_even,
        };
    }

    /// The hold that would have cost least in the last gaps, among those that keep the
    /// bound; of equal ones the longest.
    fn learnt_hold(&self, terms: &Terms) -> Duration {
        let break_even = terms.break_even;
        let least = break_even
            .saturating_sub(self.slack)
            .max(terms.least_hold)
            .min(break_even);
        // A gap of the same length that ends a sample later is still covered.
        let covering = self.gaps.iter().map(|gap| *gap + terms.period);
        let between = covering.filter(|hold| (least..break_even).contains(hold));
        let cost = |hold: Duration| -> Duration {
            let costs = self.gaps.iter().map(|gap| match *gap <= hold {
                true => *gap,
                false => hold + break_even,
            });
            costs.sum()
        };
        let holds = between.chain([least, break_even]);
        holds
            .min_by_key(|hold| (cost(*hold), std::cmp::Reverse(*hold)))
            .unwrap_or(break_even)
    }
}
