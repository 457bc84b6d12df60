//! What grows faster than the load, and whether the way to a load and restarts
//! of the service matter, in a sentence each.

use crate::number::{self, Written, for_count};
use crate::sentence::{Sentence, words_if, words_of};
use crate::table::Ink;
use plimsoll_model::{DirectionFinding, DirectionVerdict, Estimate, HintFinding, RestartsFinding};

/// More of them would only hide the first.
const MOST: usize = 3;

pub(super) fn sentences(hints: &[HintFinding]) -> Vec<Sentence> {
    let hints = hints.iter().take(MOST);
    hints.map(|h| Ink::Plain.says(sentence(h))).collect()
}

fn sentence(hint: &HintFinding) -> String {
    let counter = &hint.counter;
    // "Context switches rose to 3.4 switches" says it twice.
    let unit = format!(" {}", hint.unit);
    let unit = words_if(!counter.ends_with(hint.unit), &unit);
    let slope = Written::of(hint.slope, 2);
    let ends = words_of(slope.ends(), |ends| format!(", {ends}"));
    // "Rose" goes with one and with many.
    format!(
        "Per request, {counter} rose from {} to {}{unit} between {} and {} (slope {}{ends}).",
        number::short(hint.at_lowest),
        number::short(hint.at_highest),
        number::per_second(hint.from_rps),
        number::per_second(hint.to_rps),
        slope.value,
    )
}

pub(super) fn direction(finding: &DirectionFinding) -> Sentence {
    let levels = finding.levels;
    let over = format!("{levels} {}", for_count(levels, "level", "levels"));
    let ratio = |ratio: Estimate| Written::of(ratio, 2);
    let (ink, text) = match (finding.verdict, finding.down_over_up_ratio) {
        (DirectionVerdict::Different, Some(found)) => (
            Ink::Yellow,
            format!(
                "Hysteresis: p99 after a higher load is {} times that after a lower one, over \
                 {over}.",
                ratio(found).with_ends("")
            ),
        ),
        (DirectionVerdict::NoDifferenceSeen, Some(found)) => (
            Ink::Dim,
            format!(
                "Hysteresis: none seen (p99 after a higher load over p99 after a lower one: {}).",
                ratio(found).with_ends("")
            ),
        ),
        _ => (Ink::Dim, "Hysteresis: inconclusive.".to_owned()),
    };
    ink.says(text)
}

pub(super) fn restarts(finding: &RestartsFinding) -> Sentence {
    let share = finding.between_share.map_rising(|share| 100.0 * share);
    Ink::Plain.says(format!(
        "Variance of p99 from restarts: {} (scatter between {} starts {} %, between trials of one \
         start {} %).",
        Written::of(share, 0).with_ends(" %"),
        finding.restarts,
        number::short(finding.between_pct),
        number::short(finding.within_pct),
    ))
}
