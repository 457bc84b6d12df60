//! Breaking points from the trials of the searches.

use super::super::findings::{BreakFinding, BreakStatus, GapFinding};
use super::super::graphs::Planned;
use super::super::outcome::{Direction, Part, RigTrial};
use super::super::plan::RigPlan;
use super::super::search::{Approach, WIDTH};
use plimsoll_study::rig::breaking::{self, Breaking};

pub(super) fn findings(
    plan: &RigPlan,
    trials: &[RigTrial],
) -> (Vec<BreakFinding>, Vec<GapFinding>) {
    let planned = plan
        .has(Part::Break)
        .then(|| Planned::of(&plan.graph, plan).ok());
    let Some(planned) = planned.flatten() else {
        return (Vec::new(), Vec::new());
    };
    let all = Approach::all(plan, &planned);
    let rows: Vec<BreakFinding> = all.iter().map(|a| row(plan, &planned, a, trials)).collect();
    let gaps = plan.schedulers.iter().filter_map(|name| gap(name, &rows));
    let gaps = gaps.collect();
    (rows, gaps)
}

fn row(
    plan: &RigPlan,
    planned: &Planned,
    approach: &Approach<'_>,
    trials: &[RigTrial],
) -> BreakFinding {
    let tried = approach.tried(trials);
    let found = approach.found(trials);
    let stress = found.at();
    let is_wide = || stress.and_then(|s| s.relative_half_width()) > Some(WIDTH / 2.0);
    let status = match found {
        Breaking::At(_) if is_wide() => BreakStatus::Wide,
        Breaking::At(_) => BreakStatus::Found,
        Breaking::HoldsAtHighest => BreakStatus::HoldsAtHighest,
        Breaking::BreaksAtLowest => BreakStatus::BreaksAtLowest,
        Breaking::NothingTried => BreakStatus::Inconclusive,
    };
    BreakFinding {
        scheduler: approach.scheduler.to_owned(),
        graph: plan.graph.name.clone(),
        direction: approach.direction,
        stress,
        status,
        share_of_feasible_bound: stress
            .map(|s| s.map_rising(|stress| planned.list.share_of_bound(stress))),
        trials: tried.len(),
        runs: tried.iter().map(|trial| trial.runs).sum(),
        took_s: approach.spent(trials).0.as_secs_f64(),
    }
}

fn gap(scheduler: &str, rows: &[BreakFinding]) -> Option<GapFinding> {
    let from = |direction| {
        let of = |row: &&BreakFinding| row.scheduler == scheduler && row.direction == direction;
        let row = rows.iter().find(of)?;
        Some((row.stress?, row.status == BreakStatus::Found))
    };
    let ((below, is_narrow), (above, is_narrow_too)) =
        (from(Direction::Below)?, from(Direction::Above)?);
    let found = breaking::gap(&below, &above);
    Some(GapFinding {
        scheduler: scheduler.to_owned(),
        is_significant: is_narrow
            && is_narrow_too
            && found.interval().is_some()
            && !found.holds(0.0),
        stress_difference: found,
    })
}
