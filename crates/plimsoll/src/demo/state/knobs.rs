//! The sliders.

use crate::demo::scenario::Scenario;
use std::time::Duration;

/// A step of a slider, in percent.
pub(crate) const STEP: f64 = 5.0;
pub(crate) const MOST_LOAD: f64 = 120.0;
/// The least headroom that a sideload can have.
const LEAST_HEADROOM: f64 = 1.0;
pub(crate) const MOST_HEADROOM: f64 = 50.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Knob {
    Load,
    Headroom,
    Goal,
}

impl Knob {
    pub(crate) const ALL: [Knob; 3] = [Knob::Load, Knob::Headroom, Knob::Goal];

    pub(super) fn next(self, forward: bool) -> Knob {
        match (self, forward) {
            (Knob::Goal, true) | (Knob::Headroom, false) => Knob::Load,
            (Knob::Load, true) | (Knob::Goal, false) => Knob::Headroom,
            (Knob::Headroom, true) | (Knob::Load, false) => Knob::Goal,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Knobs {
    /// In percent of the rating.
    pub(crate) load_pct: f64,
    /// In percent of the CPU time.
    pub(crate) headroom_pct: f64,
    /// Whether the load follows the latency goal.
    pub(crate) goal: bool,
    /// When one was moved last.
    pub(super) changed: Duration,
}

impl Knobs {
    pub(super) fn of(scenario: &Scenario) -> Knobs {
        Knobs {
            load_pct: within(scenario.load_pct, 0.0, MOST_LOAD),
            headroom_pct: within(scenario.headroom_pct, LEAST_HEADROOM, MOST_HEADROOM),
            goal: false,
            changed: Duration::ZERO,
        }
    }

    pub(super) fn change(&mut self, knob: Knob, steps: i32) {
        let to = |value: f64| ((value / STEP).round() + f64::from(steps)) * STEP;
        match knob {
            Knob::Load => self.load_pct = within(to(self.load_pct), 0.0, MOST_LOAD),
            Knob::Headroom => {
                let headroom = to(self.headroom_pct);
                self.headroom_pct = within(headroom, LEAST_HEADROOM, MOST_HEADROOM);
            }
            Knob::Goal => self.goal = steps > 0,
        }
    }

    pub(super) fn set(&mut self, knob: Knob, share: f64) {
        let to = |most: f64| (within(share, 0.0, 1.0) * most / STEP).round() * STEP;
        match knob {
            Knob::Load => self.load_pct = to(MOST_LOAD),
            Knob::Headroom => {
                self.headroom_pct = within(to(MOST_HEADROOM), LEAST_HEADROOM, MOST_HEADROOM);
            }
            Knob::Goal => self.goal = !self.goal,
        }
    }

    /// Where a slider stands, 0 to 1.
    pub(crate) fn share(&self, knob: Knob) -> f64 {
        match knob {
            Knob::Load => self.load_pct / MOST_LOAD,
            Knob::Headroom => self.headroom_pct / MOST_HEADROOM,
            Knob::Goal => f64::from(u8::from(self.goal)),
        }
    }
}

/// A value between two others; the least of what is no number.
fn within(value: f64, least: f64, most: f64) -> f64 {
    value.max(least).min(most)
}
