//! Whether a condition holds: pure.

use super::document::doubt_sentence;
use super::experiment::Versus;
use super::findings::{VersusDoubt, VersusFindings};
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
    let is_meant = |doubt: &&VersusDoubt| match (doubt, &limit.of) {
        (VersusDoubt::Trend { figure, .. }, Some(of)) => figure.name() == of,
        // More that is taken elsewhere makes what is broken no better.
        (VersusDoubt::Elsewhere { us }, _) => match limit.side {
            LimitSide::Below => (us.value > 0.0) == (judged.holds == Holds::Yes),
            LimitSide::Above => (us.value > 0.0) == (judged.holds == Holds::No),
        },
        _ => true,
    };
    Some(match found.doubts.iter().find(is_meant) {
        Some(doubt) => judge::doubted(judged, &doubt_sentence(doubt)),
        None => judged,
    })
}
