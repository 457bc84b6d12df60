//! Arms over headrooms: what each headroom gains and costs, the knee, and the
//! headroom to take.

use super::knee::{self, AtHeadroom};
use super::{Context, Tried, arm, recommended};
use plimsoll_model::{Arm, CurvePoint, HeadroomCurve, YieldSetting};

/// A curve for each arm that leaves a headroom, in a run that is about that.
pub(super) fn curves(context: &Context<'_>, tried: &[Tried<'_>]) -> Vec<HeadroomCurve> {
    if context.side.headrooms.is_empty() {
        return Vec::new();
    }
    let arms = context.side.arms.iter().filter(|arm| arm.keeps_headroom());
    arms.map(|arm| curve(context, *arm, tried)).collect()
}

fn curve(context: &Context<'_>, arm: Arm, tried: &[Tried<'_>]) -> HeadroomCurve {
    let tried: Vec<&Tried<'_>> = tried.iter().filter(|t| t.found.arm == arm).collect();
    let quantile = context.side.budget.quantile.fraction();
    let changes: Vec<AtHeadroom> = tried
        .iter()
        .filter_map(|t| {
            Some(AtHeadroom {
                headroom_pct: t.headroom?.pct(),
                change: arm::ratios(&t.seen, arm, quantile).into_iter().collect(),
            })
        })
        .collect();
    let best = recommended::within(tried.iter().copied());
    HeadroomCurve {
        arm,
        knee: knee::knee(&changes, context.noise, context.seed),
        recommended_headroom_pct: best.and_then(|t| t.is_at().headroom_pct),
        points: tried.iter().filter_map(|t| point(t)).collect(),
    }
}

fn point(tried: &Tried<'_>) -> Option<CurvePoint> {
    let trials = tried.seen.all(tried.found.arm);
    let allowed = trials.iter().find_map(|trial| match trial.spec.setting {
        YieldSetting::Beside { allowed, .. } => allowed,
        _ => None,
    });
    Some(CurvePoint {
        headroom_pct: tried.headroom?.pct(),
        allowed_share: allowed.map(|share| share.get()),
        found: tried.found.clone(),
    })
}
