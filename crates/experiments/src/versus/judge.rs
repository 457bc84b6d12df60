//! Whether a condition holds: pure.

use super::experiment::Versus;
use super::findings::{ComparedFigure, VersusDoubt, VersusFindings};
use super::plan::Side;
use super::sentences;
use crate::experiment::Experiment;
use plimsoll_model::{Condition, FigureName, Holds, Judgement, LimitSide};
use plimsoll_study::judge;

/// A doubt leaves it undecided; one about a figure, where the condition is about it.
pub(super) fn judge(found: &VersusFindings, condition: &Condition) -> Option<Judgement> {
    let Condition::Figure(limit) = condition else {
        return None;
    };
    if limit.name != FigureName::Change {
        return None;
    }
    let judged = judge::figures(&Versus::figures(found), limit);
    let is_judged = |of: &ComparedFigure| limit.of.as_ref().is_none_or(|name| name == of.name());
    let figures: Vec<ComparedFigure> = ComparedFigure::ALL.into_iter().filter(is_judged).collect();
    let more_turns = |is_more: bool| match limit.side {
        LimitSide::Below => is_more == (judged.holds == Holds::Yes),
        LimitSide::Above => is_more == (judged.holds == Holds::No),
    };
    let unsettles = |doubt: &&VersusDoubt| {
        // More work that is not in the figure makes what is broken no better.
        let may_turn = match doubt {
            VersusDoubt::WorkMoved { us, .. } => more_turns(us.value > 0.0),
            VersusDoubt::InvalidTrials { side, .. } => more_turns(*side == Side::New),
            _ => true,
        };
        may_turn && figures.iter().any(|figure| doubt.is_about(*figure))
    };
    Some(match found.doubts.iter().find(unsettles) {
        Some(doubt) => judge::doubted(judged, &sentences::sentence(doubt)),
        None => judged,
    })
}
