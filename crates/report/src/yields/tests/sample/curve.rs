//! Runs about headrooms.

use super::{Sample, arm, recommended, sample};
use plimsoll_model::{
    Arm, BudgetVerdict, CurvePoint, Estimate, HeadroomCurve, Knee, KneeStatus, Recommended, Share,
};

/// A quota over four headrooms, which costs latency below 15 %.
pub(crate) fn curve() -> Sample {
    let mut sample = sample();
    let side = &mut sample.plan.sideload;
    side.headrooms = [0.0, 0.1, 0.2, 0.4, 0.5]
        .map(|h| Share::new(h).unwrap())
        .to_vec();
    side.arms.retain(|arm| !arm.is_beside());
    side.arms.push(Arm::Quota10ms);
    let quota = |gained, change, verdict| arm(Arm::Quota10ms, gained, change, 1.5, verdict);
    let point = |headroom_pct, allowed, found| CurvePoint {
        headroom_pct,
        allowed_share: Some(allowed),
        found,
    };
    let found = &mut sample.findings;
    found.arms.truncate(2);
    found.curve = vec![HeadroomCurve {
        arm: Arm::Quota10ms,
        points: vec![
            point(0.0, 0.39, quota(0.38, 62.0, BudgetVerdict::Beyond)),
            point(10.0, 0.29, quota(0.29, 18.0, BudgetVerdict::Beyond)),
            point(20.0, 0.19, quota(0.19, 0.8, BudgetVerdict::Within)),
            point(40.0, 0.05, quota(0.05, 0.3, BudgetVerdict::Within)),
            point(50.0, 0.05, quota(0.05, 0.2, BudgetVerdict::Within)),
        ],
        knee: Knee {
            status: KneeStatus::Found,
            headroom_pct: Some(Estimate::within(14.6, 12.0, 17.0)),
            rise_pct: Some(Estimate::within(61.0, 55.0, 68.0)),
        },
        recommended_headroom_pct: Some(20.0),
    }];
    found.recommended = Recommended {
        headroom_pct: Some(20.0),
        ..recommended(Arm::Quota10ms, BudgetVerdict::Within, 2.3)
    };
    sample
}

/// Beside it one that costs latency earlier, and gains as much.
pub(crate) fn two() -> Sample {
    let mut sample = curve();
    let curves = &mut sample.findings.curve;
    let mut other = curves[0].clone();
    other.arm = Arm::Quota100ms;
    let costs = [
        (0.37, 220.0),
        (0.285, 74.0),
        (0.19, 11.0),
        (0.05, 1.1),
        (0.05, 0.9),
    ];
    for (point, (gained, change)) in other.points.iter_mut().zip(costs) {
        let verdict = match change > 5.0 {
            true => BudgetVerdict::Beyond,
            false => BudgetVerdict::Within,
        };
        point.found = arm(Arm::Quota100ms, gained, change, 4.0, verdict);
    }
    other.knee.headroom_pct = Some(Estimate::within(25.0, 21.0, 29.0));
    other.recommended_headroom_pct = Some(40.0);
    curves.push(other);
    sample.plan.sideload.arms.push(Arm::Quota100ms);
    sample
}
