//! Upper bounds on the sideload's share, and the strictest of them.

use super::{Plimsoll, PlimsollState};
use crate::view::{View, missing, share};
use crate::{Reason, Sample};
use plimsoll_model::Share;

pub(super) struct Bound {
    pub(super) share: f64,
    pub(super) reason: Reason,
}

pub(super) struct Evaluation {
    /// The share that the sideload may use while the headroom stays free;
    /// `None` if the machine could not be read.
    pub(super) room: Option<f64>,
    pub(super) bound: Bound,
    /// Consecutive periods with a missing input, including this one.
    pub(super) blind_periods: u32,
}

impl Plimsoll {
    /// Evaluates a sample for a sideload with the share `has`.
    pub(super) fn evaluate(&self, state: &PlimsollState, has: f64, sample: &Sample) -> Evaluation {
        let view = View::of(sample);
        let missing = missing(sample, &view);
        let by_cpu = view.as_ref().ok().map(|view| self.by_cpu(view, has));
        let room = by_cpu.as_ref().map(|bound| bound.share);
        let use_now = view.ok().and_then(|view| view.sideload).unwrap_or(has);
        let blind_periods = match missing {
            Some(_) => state.blind_periods.saturating_add(1),
            None => 0,
        };
        let after = self.parameters.blind_periods;
        let by_blindness = missing.map(|missing| Bound {
            share: if blind_periods >= after { 0.0 } else { has },
            reason: Reason::Blind {
                missing,
                periods: blind_periods,
                freezes_after: Some(after),
            },
        });
        let bound = by_cpu
            .into_iter()
            .chain(self.by_guards(sample, has, use_now))
            .chain(by_blindness)
            .min_by(|a, b| a.share.total_cmp(&b.share));
        // Unreachable: a sample without a view has a missing input. Freeze if
        // it happens.
        let bound = bound.unwrap_or(Bound {
            share: 0.0,
            reason: Reason::Steady { room: Share::ZERO },
        });
        Evaluation {
            room,
            bound,
            blind_periods,
        }
    }

    fn by_cpu(&self, view: &View, has: f64) -> Bound {
        let headroom = self.headroom.share().get();
        // If unknown, its use counts as its whole share; an overestimate is
        // offset by the idle time that is then missing.
        let sideload = view.sideload.unwrap_or(has);
        let left = view.free / (self.parameters.full_below.get() * headroom);
        let room = (sideload + view.free - headroom).clamp(0.0, 1.0) * left.min(1.0);
        let reason = match view.free < headroom {
            true => Reason::ServiceNeedsCpu {
                left: share(view.free),
                headroom: self.headroom.share(),
            },
            false => Reason::LessRoom {
                room: share(room),
                others: share(view.others),
            },
        };
        Bound {
            share: room,
            reason,
        }
    }

    /// A guard over its limit scales the actual use: half of a share that is
    /// not fully used may still exceed the use.
    fn by_guards(&self, sample: &Sample, has: f64, use_now: f64) -> Option<Bound> {
        let p = &self.parameters;
        let basis = has.min(use_now.max(p.floor.get()));
        let share = basis * p.guard_keeps.get();
        Reason::guard_over(sample).map(|reason| Bound { share, reason })
    }
}
