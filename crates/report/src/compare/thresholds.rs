//! The table of CPU use by headroom, and what it comes to.

use crate::number;
use crate::sentence::{Sentence, words_if};
use crate::table::Ink;
use plimsoll_model::{ComparedMachine, Comparison, DifferenceVerdict, ThresholdDifference};

/// What the threshold table is of: with several goals, of the one that allows
/// the least, which need not be the same on all machines.
pub(super) fn title(comparison: &Comparison) -> String {
    let with_table = comparison.machines.iter();
    let with_table = with_table.filter(|m| !m.thresholds.is_empty());
    let of = |machine: &ComparedMachine| match machine.thresholds_goal {
        Some(goal) => format!("the capacity within {goal}"),
        None => "the highest rate measured".to_owned(),
    };
    let all: Vec<String> = with_table.clone().map(of).collect();
    let Some(first) = all.first() else {
        return "Scale-out threshold (CPU %) by headroom".to_owned();
    };
    let several = comparison.machines.first().map_or(0, |m| m.capacity.len()) > 1;
    let is_of_a_goal = with_table.clone().any(|m| m.thresholds_goal.is_some());
    let least = words_if(several && is_of_a_goal, " (the lowest of the goals)");
    if all.iter().all(|one| one == first) {
        return format!(
            "Scale-out threshold (CPU %) by headroom, the part of {first}{least} left free"
        );
    }
    let each = with_table.zip(&all);
    let each: Vec<String> = each.map(|(m, of)| format!("{} of {of}", m.name)).collect();
    format!(
        "Scale-out threshold (CPU %) by headroom; the headroom is not a part of the same{least}: {}",
        each.join(", ")
    )
}

/// One per machine but the first; one in all where the first has no thresholds.
pub(super) fn sentences(comparison: &Comparison) -> Vec<Sentence> {
    match comparison.machines.split_first() {
        Some((first, _)) if first.thresholds.is_empty() => {
            vec![Ink::Yellow.says(format!(
                "No threshold of {} is known, so there is nothing to compare with.",
                first.name
            ))]
        }
        Some((_, others)) => others
            .iter()
            .map(|machine| sentence(comparison, machine))
            .collect(),
        None => Vec::new(),
    }
}

fn sentence(comparison: &Comparison, machine: &ComparedMachine) -> Sentence {
    let own = comparison.threshold_differences.iter();
    let own: Vec<_> = own.filter(|d| d.name == machine.name).collect();
    let name = &machine.name;
    let Some(first) = own.first() else {
        return Ink::Yellow.says(format!(
            "No threshold of {name} is known that could be compared."
        ));
    };
    let part = |words: &str, why: &str, is: &dyn Fn(&ThresholdDifference) -> bool| {
        let at = own.iter().filter(|d| is(d));
        let at: Vec<String> = at.map(|d| number::trimmed_pct(d.headroom_pct)).collect();
        // At all of them: the table shows which these are.
        let at = match at.len() {
            0 => return None,
            n if n > 1 && n == own.len() => "every headroom".to_owned(),
            _ => format!("{} % headroom", at.join(", ")),
        };
        Some(format!("{words} at {at}{why}"))
    };
    use DifferenceVerdict::{Better, Inconclusive, Worse};
    let has_interval = |d: &ThresholdDifference| d.cpu_points.low.or(d.cpu_points.high).is_some();
    let (same, why) = (
        "is not significantly different",
        ": too little was measured for an interval",
    );
    let parts = [
        part("may be higher (better)", "", &|d| d.verdict == Better),
        part("must be lower (worse)", "", &|d| d.verdict == Worse),
        part(same, "", &|d| d.verdict == Inconclusive && has_interval(d)),
        part("is inconclusive", why, &|d| {
            d.verdict == Inconclusive && !has_interval(d)
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let against = &first.against;
    Ink::Plain.says(format!(
        "Against {against}, the threshold of {name} {}.",
        parts.join("; ")
    ))
}
