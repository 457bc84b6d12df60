//! What grows faster than the load, and whether the way to a load and restarts
//! of the service matter, in a sentence each.

use crate::escape::safe;
use crate::number::{self, Written, for_count};
use crate::sentence::Sentence;
use crate::table::Ink;
use plimsoll_model::{DirectionFinding, DirectionVerdict, Estimate, HintFinding, RestartsFinding};

/// More of them would only hide the first.
const MOST: usize = 3;

/// The fastest growing counters.
pub(crate) fn sentences(hints: &[HintFinding]) -> Vec<Sentence> {
    let hints = hints.iter().take(MOST);
    hints
        .map(|h| Sentence::new(Ink::Plain, sentence(h)))
        .collect()
}

fn sentence(hint: &HintFinding) -> String {
    let counter = safe(&hint.counter);
    // "Context switches rose to 3.4 switches" says it twice.
    let unit = match counter.ends_with(hint.unit) {
        true => String::new(),
        false => format!(" {}", hint.unit),
    };
    let slope = Written::of(hint.slope, 2);
    let ends = slope
        .ends()
        .map_or_else(String::new, |ends| format!(", {ends}"));
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

/// Whether latency depends on the load before: loud only if it does.
pub(crate) fn direction(finding: &DirectionFinding) -> Sentence {
    let levels = finding.levels;
    let over = format!("{levels} {}", for_count(levels, "level", "levels"));
    let ratio = |ratio: Estimate| Written::of(ratio, 2);
    match (finding.verdict, finding.down_over_up_ratio) {
        (DirectionVerdict::Different, Some(found)) => {
            let text = format!(
                "Latency depends on the load before: p99 after a higher load is {} times that \
                 after a lower one, over {over}.",
                ratio(found).with_ends("")
            );
            Sentence::new(Ink::Yellow, text)
        }
        (DirectionVerdict::NoDifferenceSeen, Some(found)) => {
            let found = ratio(found);
            let ends = found
                .ends()
                .map_or_else(String::new, |ends| format!(", {ends}"));
            let text = format!(
                "The load before makes no difference to p99 (ratio {}{ends}).",
                found.value
            );
            Sentence::new(Ink::Dim, text)
        }
        _ => Sentence::new(
            Ink::Dim,
            "Whether latency depends on the load before cannot be told.",
        ),
    }
}

/// How much of the scatter comes from restarts of the service.
pub(crate) fn restarts(finding: &RestartsFinding) -> Sentence {
    let share = finding.between_share.map_rising(|share| 100.0 * share);
    let text = format!(
        "Between {} starts of the service p99 scatters by {} %, between trials of one start by {} \
         %: {} of the variance comes from restarts.",
        finding.restarts,
        number::short(finding.between_pct),
        number::short(finding.within_pct),
        Written::of(share, 0).with_ends(" %"),
    );
    Sentence::new(Ink::Plain, text)
}
