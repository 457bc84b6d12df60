//! Latency after a step, slot by slot, for pictures: what the decision is made
//! from, and the slots that it calls late.

use super::decide::{Above, is_late};
use super::{Look, Pair, Pass, is_above, mean_latency, pairs, shown};
use crate::yields::Seen;
use plimsoll_model::{StepCourse, StepSlot, YieldPlan};

/// An entry for each arm with a job; nothing for a plan without steps.
pub(in crate::yields) fn courses(plan: &YieldPlan, seen: &Seen<'_>) -> Vec<StepCourse> {
    let Some(step) = &plan.step else {
        return Vec::new();
    };
    let look = Look::over(plan, step, seen);
    let beside = shown(&plan.sideload).filter(|arm| arm.is_beside());
    let courses = beside.map(|arm| StepCourse {
        arm,
        slots: slots(&look, &pairs(seen, arm, look.join)),
    });
    courses.filter(|course| !course.slots.is_empty()).collect()
}

/// The slots in which requests came in some step.
fn slots(look: &Look, passes: &[Pass]) -> Vec<StepSlot> {
    let above = look.band.map(|band| {
        let each = passes.iter().map(|pass| is_above(pass, band));
        each.collect::<Vec<Above>>()
    });
    let pairs: Vec<&Pair> = passes.iter().flatten().collect();
    let above: Option<Vec<&Above>> = above.as_ref().map(|all| all.iter().collect());
    let count = pairs.iter().map(|pair| pair.with.len()).max().unwrap_or(0);
    let slot = |at: usize| {
        let (with_us, alone_us) = means_us(&pairs, at)?;
        Some(StepSlot {
            at_ms: (at as f64 + 0.5) * look.slot_ms,
            with_us,
            alone_us,
            is_late: above.as_ref().and_then(|above| is_late(above, at)),
        })
    };
    (0..count).filter_map(slot).collect()
}

/// Geometric means over the steps in which both had a request here.
fn means_us(pairs: &[&Pair], at: usize) -> Option<(f64, f64)> {
    let (mut with, mut alone, mut steps) = (0.0, 0.0, 0.0);
    for pair in pairs {
        let both = mean_latency(pair.with.get(at)).zip(mean_latency(pair.alone.get(at)));
        if let Some((beside, without)) = both {
            with += beside.ln();
            alone += without.ln();
            steps += 1.0;
        }
    }
    let mean_us = |sum: f64| (sum / steps).exp() * 1e6;
    (steps > 0.0).then(|| (mean_us(with), mean_us(alone)))
}
