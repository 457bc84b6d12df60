//! A run whose load steps.

use super::{Sample, arm, nobody, sample};
use crate::tests::sample::within;
use plimsoll_model::{
    Arm, BudgetVerdict, Estimate, LoadLevel, StepCourse, StepFinding, StepPlan, StepSlot,
    StepStatus,
};
use std::time::Duration;

/// Slots in which latency is so many times that of the service alone, which
/// rises to where it stays.
fn course(arm: Arm, times: fn(f64) -> f64) -> StepCourse {
    let slot = |nth: u32| {
        let at_ms = f64::from(nth) * 50.0 + 25.0;
        let alone_us = 1_200.0 + 1_400.0 * (1.0 - (-at_ms / 300.0).exp());
        StepSlot {
            at_ms,
            alone_us,
            with_us: alone_us * times(at_ms),
            is_late: (arm != Arm::Nice).then(|| times(at_ms) > 1.062),
        }
    };
    StepCourse {
        arm,
        slots: (0..60).map(slot).collect(),
    }
}

fn found(arm: Arm, status: StepStatus, time_ms: Option<Estimate>, cost: f64) -> StepFinding {
    let around = |value: f64, by: f64| within(value, by, by);
    StepFinding {
        arm,
        steps: 16,
        status: Some(status),
        yield_time_ms: time_ms,
        cost_request_seconds: Some(around(cost, 0.2)),
        settled_change_pct: Some(around(cost * 10.0, 1.5)),
        worst_slot_p99_us: Some(around(4_000.0 + cost * 1_000.0, 300.0)),
    }
}

/// Work gained is not known where the job is not run alone, and no budget says
/// anything of a mixture of two loads.
fn as_with_steps(sample: &mut Sample) {
    let side = &mut sample.plan.sideload;
    side.arms.retain(|arm| arm.has_service());
    sample.findings.arms.retain(|found| found.arm.has_service());
    let weight = arm(Arm::Weight, 0.4, 12.0, 3.0, BudgetVerdict::Beyond);
    sample.findings.arms.push(weight);
    for found in &mut sample.findings.arms {
        found.verdict = None;
        found.passes_to_tell = None;
        if found.arm.has_job() {
            found.work_gained_share = None;
            found.total_work_share = None;
            found.price_us_per_pct = None;
        }
    }
}

/// The same service with a step: one arm of each kind.
pub(crate) fn stepped() -> Sample {
    let mut sample = sample();
    as_with_steps(&mut sample);
    sample.plan.step = Some(StepPlan {
        low: LoadLevel::percent(20.0).unwrap(),
        high: LoadLevel::percent(90.0).unwrap(),
        before: Duration::from_secs(2),
        after: Duration::from_secs(3),
        steps: 2,
        slot: Duration::from_millis(50),
    });
    let findings = &mut sample.findings;
    findings.recommended = nobody();
    let after = Estimate {
        high: None,
        ..Estimate::within(350.0, 250.0, 450.0)
    };
    findings.step = vec![
        StepFinding {
            status: None,
            cost_request_seconds: None,
            settled_change_pct: None,
            ..found(Arm::ServiceAlone, StepStatus::AtOnce, None, 0.0)
        },
        found(Arm::None, StepStatus::NotWithinWindow, None, 31.0),
        found(Arm::Weight, StepStatus::After, Some(after), 2.4),
        found(
            Arm::SchedIdle,
            StepStatus::AtOnce,
            Some(Estimate::within(0.0, 0.0, 50.0)),
            0.1,
        ),
        found(Arm::Nice, StepStatus::Inconclusive, None, 1.0),
    ];
    findings.step_band_pct = Some(6.2);
    findings.step_slot_ms = Some(50.0);
    sample.drawn.steps = vec![
        course(Arm::None, |_| 4.0),
        course(Arm::Weight, |ms| 1.0 + (350.0 - ms).max(0.0) / 60.0),
        course(Arm::SchedIdle, |_| 1.02),
        course(Arm::Nice, |_| 1.1),
    ];
    sample
}
