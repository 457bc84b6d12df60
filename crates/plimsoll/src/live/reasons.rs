//! Why a trial is invalid, in the words that there is room for.

use plimsoll_model::{Invalid, human_duration};

/// The reasons with their bounds, without, or in the fewest words, whichever is
/// the most that `room` columns hold; else the first of them and how many
/// others there are.
pub(super) fn in_short(reasons: &[Invalid], room: usize) -> String {
    let all = |of: fn(&Invalid) -> String| {
        let each: Vec<String> = reasons.iter().map(of).collect();
        each.join(", ")
    };
    let first = reasons.first().map(fact).unwrap_or_default();
    let shortest = match reasons.len().saturating_sub(1) {
        0 => first,
        1 => format!("{first} and 1 other reason"),
        others => format!("{first} and {others} other reasons"),
    };
    let longer = [all(with_bound), all(fact), all(brief)];
    let fits = |text: &String| text.chars().count() <= room;
    longer.into_iter().find(fits).unwrap_or(shortest)
}

fn fact(reason: &Invalid) -> String {
    match reason {
        Invalid::Slip { p99, .. } => format!("generator late by {}", human_duration(*p99)),
        Invalid::Steal { stolen, .. } => format!("hypervisor took {stolen} CPU"),
        Invalid::OtherLoad { used, .. } => format!("other processes took {used} CPU"),
    }
}

fn brief(reason: &Invalid) -> String {
    match reason {
        Invalid::Slip { p99, .. } => format!("late by {}", human_duration(*p99)),
        Invalid::Steal { stolen, .. } => format!("hypervisor {stolen} CPU"),
        Invalid::OtherLoad { used, .. } => format!("others {used} CPU"),
    }
}

fn with_bound(reason: &Invalid) -> String {
    let bound = match reason {
        Invalid::Slip { bound, .. } => human_duration(*bound),
        Invalid::Steal { bound, .. } | Invalid::OtherLoad { bound, .. } => bound.to_string(),
    };
    format!("{} (bound {bound})", fact(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{CpusOf, Share};
    use std::time::Duration;

    #[test]
    fn long_reasons_lose_bounds_first_and_then_other_reasons() {
        let share = |share| Share::new(share).unwrap();
        let reasons = [
            Invalid::Slip {
                p99: Duration::from_millis(12),
                bound: Duration::from_millis(1),
            },
            Invalid::OtherLoad {
                used: share(0.669),
                bound: share(0.05),
                on: CpusOf::Machine,
            },
        ];
        let with_bounds = "generator late by 12ms (bound 1ms), \
                           other processes took 66.9 % CPU (bound 5.0 %)";
        let without = "generator late by 12ms, other processes took 66.9 % CPU";
        let brief = "late by 12ms, others 66.9 % CPU";
        let alone = "generator late by 12ms and 1 other reason";
        for (room, expected) in [
            (200, with_bounds),
            (with_bounds.len(), with_bounds),
            (with_bounds.len() - 1, without),
            (without.len() - 1, brief),
            (brief.len() - 1, alone),
            (1, alone),
        ] {
            assert_eq!(in_short(&reasons, room), expected);
        }
        let one = in_short(&reasons[1..], 50);
        assert_eq!(one, "other processes took 66.9 % CPU (bound 5.0 %)");
    }
}
